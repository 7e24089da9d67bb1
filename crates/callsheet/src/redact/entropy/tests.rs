//! What looks random by table, and what only nearly does.
//!
//! Secrets are put together here, so that no text of this repository looks like one.

use super::*;

/// The halves of what would look like a secret if they stood together.
const HALVES: [(&str, &str); 10] = [
    // Letters and digits, of the shortest length that counts.
    ("k7Qz2Lm9Xw", "4Rt6Yb1Nc8"),
    ("v9Tq3ZrB7mKx", "W2pLh8Nf4CdY"),
    // Base64 with all its signs, and with padding.
    ("9fQ+x2Lm/Zw7", "Rt4Yb+1Nc8Vd3Fs/5Gh0"),
    ("dGhpcyBpcyBu", "b3QgYSBzZWNyZXQhIQ=="),
    // Base64 for addresses.
    ("k7Qz2-Lm9Xw4_Rt6", "Yb1Nc8Vd3-Fs5Gh0"),
    // One case only.
    ("q8z1m7x4k2v9b3", "n6c5w0j8h2g4f7d1"),
    ("JB7XQ4KZ2MWT", "5GV3NRP6HYLD2FCS"),
    // Hexadecimal digits.
    ("5f2b9c04d7e1a836", "f04e7b9d2c6a1853"),
    ("9C04D7E1A8365F2B", "2C6A1853F04E7B9D"),
    (
        "5f2b9c04d7e1a836f04e7b9d2c6a1853",
        "a90d4c7be2f1586390cd7e4b1a2f8635",
    ),
];

fn secrets() -> impl Iterator<Item = String> {
    HALVES.iter().map(|(a, b)| [*a, *b].concat())
}

fn found(text: &str) -> Vec<&str> {
    let hits = find(text).into_iter();
    hits.map(|hit| &text[hit.range]).collect()
}

fn hex(digits: usize) -> String {
    "5f2b9c04d7e1a836f04e7b9d2c6a1853".repeat(4)[..digits].to_owned()
}

#[test]
fn random_text_is_found_whatever_stands_around_it() {
    for secret in secrets() {
        for (before, after) in [
            ("", ""),
            ("a ", " b"),
            ("PASSWORD=", "\n"),
            ("password: \"", "\","),
            ("(", ")."),
            ("line\\n", "\\n"),
            ("é", "é"),
            ("+", "\n"),
            ("https://example.com/files/", "?x=1"),
            ("https://example.com/?sig=", "&x=1"),
            ("internal_token-", "-staging"),
            ("password_hash = ", ""),
        ] {
            let text = format!("{before}{secret}{after}");
            // Padding is only that at the end of a text.
            let bare = secret.trim_end_matches('=');
            let whole = if after.starts_with('-') {
                bare
            } else {
                &secret
            };
            assert_eq!(found(&text), [whole], "{text}");
        }
    }
}

#[test]
fn what_is_too_short_is_left_alone() {
    for (secret, shortest) in [(HALVES[0], SHORTEST), (HALVES[7], SHORTEST_HEX)] {
        let secret = [secret.0, secret.1].concat();
        assert_eq!(secret.len(), shortest);
        assert_eq!(found(&secret[1..]), Vec::<&str>::new());
    }
}

#[test]
fn words_paths_and_identifiers_are_left_alone() {
    for text in [
        "a sentence of words, with 20 of them or a few more",
        "crates/callsheet/src/redact/entropy/tests.rs:20",
        "/usr/lib/x86_64-linux-gnu/libstdc++/v3/include4",
        "../target/debug/deps/callsheet-c6111e0c493e34be",
        "https://docs.rs/serde_json/1.0.150/serde_json/value/enum.Value.html",
        "C:\\new\\temp\\Reports2024\\Summary2024Final3",
        "getUserById2AndRefreshToken3",
        "parseHTTP2HeadersFromBase64UrlString",
        "Win32_UI_WindowsAndMessaging",
        "test_that_compose_2_layers_fit_into_10_bytes",
        "AWS_SDK_VERSION_2_REQUEST_TIMEOUT_30_SECONDS",
        "component-library-button-v2-rounded-8px-blue",
        "PyUnicode_AsUTF8AndSize",
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/",
        "0123456789abcdef0123456789abcdef",
        "deadbeef00deadbeef00deadbeef00deadbeef00",
        "1234567890123456789012345678901234567890",
        "2024-11-15T10-22-33Z_2024-11-16T10-22-33Z",
        "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx1",
        "----------------------------------------1a",
        "0x9e37_79b9_7f4a_7c15_u64 0xEFCDAB8967452301u64",
        "‹secret:aws-secret-access-key:12ab›",
        "‹secret:entropy:12ab›",
    ] {
        assert_eq!(found(text), Vec::<&str>::new(), "{text}");
    }
}

#[test]
fn uuids_are_names() {
    for text in [
        "f81d4fae-7dec-11d0-a765-00a0c91e6bf6",
        "urn:uuid:F81D4FAE-7DEC-11D0-A765-00A0C91E6BF6",
        "0xf81d4fae_7dec_11d0_a765_00a0c91e6bf6",
        "users/f81d4fae-7dec-11d0-a765-00a0c91e6bf6/photos",
    ] {
        assert_eq!(found(text), Vec::<&str>::new(), "{text}");
    }
    let joined = "f81d4fae-7dec-11d0-a765-00a0c91e6bf6".replace('-', "");
    assert_eq!(found(&joined), [joined.as_str()]);
}

#[test]
fn fingerprints_with_a_label_are_none() {
    let (commit, digest) = (hex(40), hex(64));
    let base64 = [HALVES[2].0, HALVES[2].1, HALVES[0].0, "="].concat();
    for text in [
        format!("commit {commit}\ntree {commit}\nparent {commit}\n"),
        format!("rev = \"{commit}\""),
        format!("\"gitCommit\": \"{commit}\""),
        format!("GITHUB_SHA={commit}"),
        format!("https://github.com/a/b/commit/{commit}"),
        format!("https://github.com/a/b/blob/{commit}/src/lib.rs"),
        format!("https://github.com/a/b/blob/{commit}/x86/a1.c"),
        format!("uses: actions/checkout@{commit} # v4"),
        format!("git+https://example.com/a?rev=1#{commit}"),
        format!("b3:{digest}"),
        format!("image@sha256:{digest}"),
        format!("--hash=sha256:{digest}"),
        format!("checksum = \"{digest}\""),
        format!("{{\\\"checksum\\\": \\\"{digest}\\\"}}"),
        format!("\"content-hash\": \"{}\"", hex(32)),
        format!("integrity=\"sha512-{base64}\""),
        format!("narHash = \"sha256-{base64}\""),
        format!("example.com/a v1.0.0 h1:{base64}"),
    ] {
        assert_eq!(found(&text), Vec::<&str>::new(), "{text}");
    }
}

#[test]
fn what_has_no_label_or_the_wrong_one_is_found() {
    let (commit, token) = (hex(40), [HALVES[1].0, HALVES[1].1].concat());
    for (before, secret) in [
        ("see ", &commit),
        ("href=\"", &commit),
        ("password_sha1: ", &commit),
        ("commit of the day: see ", &commit),
        ("rev = ", &token),
        ("@", &token),
        ("hash: ", &token),
    ] {
        let text = format!("{before}{secret}");
        assert_eq!(found(&text), [secret.as_str()], "{text}");
    }
    assert_eq!(found(&format!("@{}", hex(64))).len(), 1, "no commit");
}

#[test]
fn logarithms_and_entropies_are_those_of_the_books() {
    for (number, log) in [(1, 0), (2, BIT), (1 << 40, 40 * BIT)] {
        assert_eq!(log2(number), log);
    }
    // log2(10) is 3.321928…
    assert_eq!(log2(10), 3_321_928 * BIT / 1_000_000);
    for (text, bits) in [("", 0), ("aaaa", 0), ("abab", 1), ("abcdabcd", 2)] {
        assert_eq!(entropy(text), bits * BIT, "{text}");
    }
    assert_eq!(entropy("0123456789abcdef"), 4 * BIT);
}

#[test]
fn hostile_texts_are_searched_in_one_go() {
    let many = 300_000;
    for text in [
        "a1-".repeat(many),
        "A".repeat(many) + "a1",
        "Aa1".repeat(many),
        "/".repeat(many),
        "=".repeat(many),
        format!("{} ", "a1".repeat(SHORTEST)).repeat(many / 10),
        "sha256-".repeat(many),
        "\\n".repeat(many),
    ] {
        assert_eq!(found(&text), Vec::<&str>::new(), "{}", &text[..20]);
    }
    let secret = secrets().next().unwrap() + " ";
    assert_eq!(found(&secret.repeat(many / 10)).len(), many / 10);
}
