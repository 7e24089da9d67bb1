//! Every format by table: what is found, and what only looks like it.
//!
//! Secrets are put together here, so that no text of this repository looks like one.

use super::*;

/// Text that looks random and is long enough for any format.
const RANDOM: &str = "k7Qz2Lm9Xw4Rt6Yb1Nc8Vd3Fs5Gh0Jp2Ae7Ui4Ox9Bq6Zr3Ws8Te1Dy5Cu0Kv4Mw";

fn random(bytes: usize) -> &'static str {
    &RANDOM[..bytes]
}

fn pem(kind: &str, newline: &str) -> String {
    let line = random(64);
    [
        "-----BEGIN ",
        kind,
        "PRIVATE KEY-----",
        newline,
        line,
        newline,
        line,
        newline,
        "-----END ",
        kind,
        "PRIVATE KEY-----",
    ]
    .concat()
}

/// Returns texts that are wholly a secret, with their kind.
pub(crate) fn secrets() -> Vec<(&'static str, String)> {
    let join = |parts: &[&str]| parts.concat();
    let upper = "QZ2LM7XW4RT6YB3N";
    vec![
        ("private-key", pem("", "\n")),
        ("private-key", pem("RSA ", "\r\n")),
        ("private-key", pem("OPENSSH ", "\\n")),
        ("aws-access-key-id", join(&["AK", "IA", upper])),
        ("aws-access-key-id", join(&["AS", "IA", upper])),
        ("github-token", join(&["gh", "p_", random(36)])),
        ("github-token", join(&["gh", "s_", random(40)])),
        (
            "github-token",
            join(&["github", "_pat_", random(22), "_", random(59)]),
        ),
        ("gitlab-token", join(&["gl", "pat-", random(20)])),
        (
            "slack-token",
            join(&["xo", "xb-", "123456789012-123456789012-", random(24)]),
        ),
        ("slack-token", join(&["xa", "pp-1-", random(30)])),
        ("stripe-key", join(&["sk_", "live_", random(24)])),
        ("stripe-key", join(&["rk_", "live_", random(24)])),
        (
            "anthropic-key",
            join(&["sk-", "ant-api03-", random(60), "_-AA"]),
        ),
        ("openai-key", join(&["sk-", random(48)])),
        ("openai-key", join(&["sk-", "proj-", random(50), "-_x"])),
        ("google-key", join(&["AI", "za", random(35)])),
        ("npm-token", join(&["np", "m_", random(36)])),
        (
            "pypi-token",
            join(&["py", "pi-AgEIcHlwaS5vcmc", random(60)]),
        ),
        ("huggingface-token", join(&["h", "f_", random(34)])),
        (
            "sendgrid-key",
            join(&["S", "G.", random(22), ".", random(43)]),
        ),
        (
            "jwt",
            join(&[
                "ey",
                "J",
                random(20),
                ".ey",
                "J",
                random(30),
                ".",
                random(43),
            ]),
        ),
    ]
}

/// Returns the kinds and texts that are found.
fn found(text: &str) -> Vec<(&'static str, &str)> {
    let hits = find(text).into_iter();
    hits.map(|hit| (hit.kind, &text[hit.range])).collect()
}

#[test]
fn every_expression_compiles_and_every_kind_has_an_example() {
    assert!(KEYWORDS.is_some());
    let examples = secrets();
    for (at, rule) in RULES.iter().enumerate() {
        assert!(expression(at).is_some(), "{}", rule.kind);
        let named = ["aws-secret-access-key", "url-password"].contains(&rule.kind);
        let shown = examples.iter().any(|(kind, _)| *kind == rule.kind);
        assert!(named || shown, "{}", rule.kind);
    }
}

#[test]
fn every_format_is_found_whatever_stands_around_it() {
    for (kind, secret) in secrets() {
        for (before, after) in [
            ("", ""),
            ("a ", " b"),
            ("KEY=", "\n"),
            ("\"", "\""),
            ("'", "',"),
            ("(", ")."),
            ("line\\n", "\\n"),
            ("é", "é"),
            ("https://example.com/?key=", "&x=1"),
        ] {
            let text = format!("{before}{secret}{after}");
            assert_eq!(found(&text), [(kind, secret.as_str())], "{text}");
        }
    }
}

#[test]
fn what_touches_a_letter_or_lacks_one_is_left_alone() {
    for (kind, secret) in secrets() {
        if kind == "private-key" {
            continue;
        }
        let text = format!("x{secret}");
        assert_eq!(found(&text), [], "{kind}");
        let third = secret.len() / 3;
        assert_eq!(found(&secret[..third]), [], "{kind}");
    }
    for (fixed, more) in [("aws-access-key-id", "A"), ("npm-token", "z")] {
        let secret = secrets().into_iter().find(|(kind, _)| *kind == fixed);
        let text = secret.unwrap().1 + more;
        assert_eq!(found(&text), [], "{fixed}");
    }
}

#[test]
fn near_misses_of_all_kinds_are_left_alone() {
    for text in [
        "-----BEGIN PRIVATE KEY----- and -----END PRIVATE KEY-----",
        "-----BEGIN PUBLIC KEY-----\nk7Qz2Lm9Xw4Rt6Yb1Nc8Vd3Fs5Gh0Jp2\n-----END PUBLIC KEY-----",
        "a file that begins with -----BEGIN RSA PRIVATE KEY-----",
        "the PRIVATE KEY of the project",
        "AKIA and ASIA are prefixes",
        "AKIAqz2lm7xw4rt6yb3n",
        "the secret key is under the mat",
        "secret_key = \"changeme\"",
        "secret_key: too/short/for/one",
        "ghp_ is what such a token begins with",
        "github_pat_short",
        "glpat-short",
        "xoxb-is-a-prefix",
        "sk_test_and sk_live_ are prefixes",
        "task-k7Qz2Lm9Xw4Rt6Yb1Nc8Vd3Fs5Gh0Jp2Ae7Ui4",
        "sk-learn is a library, and risk-averse a word",
        "sk-ant-short",
        "AIza, and nothing else",
        "npm_config_registry=https://packages.example.invalid",
        "pypi-publish",
        "hf_hub_download(repo_id)",
        "SG.short.one",
        "eyJhbGciOiJI.not-a-token",
        "https://example.com:8080/path@2x.png",
        "https://example.com/@scope/package",
        "ssh://git@example.com/repo",
        "mail me@example.com: soon",
        "https://me:${PASSWORD}@example.com",
        "https://me:$PASSWORD@example.com",
        "https://me:<password>@example.com",
        "https://me:{{password}}@example.com",
        "https://me:***@example.com",
        "‹secret:jwt:12ab›",
        "https://me:‹secret:url-password:12ab›@example.com",
    ] {
        assert_eq!(found(text), [], "{text}");
    }
}

#[test]
fn only_the_secret_part_is_taken() {
    let key = random(40);
    let password = ["hun", "ter2"].concat();
    let hook = ["T0123ABC/B0123ABC/", random(24)].concat();
    for (kind, before, secret, after) in [
        (
            "aws-secret-access-key",
            "aws_secret_access_key = ",
            key,
            "\n",
        ),
        (
            "aws-secret-access-key",
            "export AWS_SECRET_ACCESS_KEY=\"",
            key,
            "\"",
        ),
        (
            "aws-secret-access-key",
            "{\"SecretAccessKey\": \"",
            key,
            "\"}",
        ),
        (
            "aws-secret-access-key",
            "{\\\"secretKey\\\":\\\"",
            key,
            "\\\"}",
        ),
        (
            "url-password",
            "postgres://app:",
            &password,
            "@db.example.com/shop",
        ),
        ("url-password", "redis://:", &password, "@localhost:6379"),
        (
            "url-password",
            "(https://me:",
            "pa:ss!w%40rd",
            "@example.com)",
        ),
        (
            "slack-token",
            "https://hooks.slack.com/services/",
            &hook,
            "",
        ),
    ] {
        let text = [before, secret, after].concat();
        assert_eq!(found(&text), [(kind, secret)], "{text}");
    }
}

#[test]
fn a_key_that_was_cut_goes_as_far_as_it_looks_like_one() {
    let whole = pem("RSA ", "\n");
    let cut = &whole[..whole.find("\n-----END").unwrap()];
    let text = format!("{cut}\n\nAnd then there is prose, which stays.");
    assert_eq!(found(&text), [("private-key", cut)]);
}

#[test]
fn a_key_may_touch_a_letter() {
    let key = pem("EC ", "\n");
    let text = format!("KEY{key}end");
    assert_eq!(found(&text), [("private-key", key.as_str())]);
}

#[test]
fn hostile_texts_are_searched_in_one_go() {
    let many = 300_000;
    for text in [
        format!(
            "x{}.ey{}.{}",
            "eyJ".repeat(many),
            "Ja".repeat(20),
            random(40)
        ),
        format!("{}://me:***@host", "a".repeat(many)),
        format!("x{}", ["AK", "IA"].concat().repeat(many)),
        "sk-".repeat(many),
        ["-----BEGIN ", "PRIVATE KEY-----\n"]
            .concat()
            .repeat(many / 10),
        "secret_key=".repeat(many),
        "a://b:".repeat(many),
    ] {
        assert_eq!(found(&text), [], "{}", &text[..20]);
    }
}

#[test]
fn secrets_that_overlap_go_together() {
    let (_, token) = secrets().swap_remove(5);
    let text = format!("https://me:{token}@example.com");
    assert_eq!(found(&text).len(), 1);
    assert_eq!(found(&text)[0].1, token);
}

#[test]
fn a_cut_goes_before_a_secret_and_not_through_it() {
    for (kind, secret) in secrets() {
        let text = format!("abc {secret} def");
        let range = found(&text).first().map(|(_, hit)| {
            let start = text.find(hit).unwrap_or_default();
            start..start + hit.len()
        });
        let Some(range) = range else {
            panic!("no {kind}");
        };
        for end in (0..=text.len()).filter(|&end| text.is_char_boundary(end)) {
            let inside = range.start < end && end < range.end;
            let expected = if inside { range.start } else { end };
            assert_eq!(crate::redact::cut_at(&text, end), expected, "{kind}");
        }
    }
}

#[test]
fn a_key_is_the_same_one_however_its_lines_are_broken() {
    let keys = ["\n", "\r\n", "\\n", " ", "\n  "].map(|newline| pem("", newline));
    let redactor = crate::redact::Redactor::new(crate::redact::Key::default());
    for key in &keys {
        assert_eq!(redactor.text(key), redactor.text(&keys[0]), "{key:?}");
    }
    let other = keys[0].replace('Q', "R");
    assert_ne!(redactor.text(&other), redactor.text(&keys[0]));
}
