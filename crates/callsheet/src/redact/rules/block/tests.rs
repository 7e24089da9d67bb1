//! Keys in all surroundings: every line of them goes, and what stands around them stays.
//!
//! Keys are put together here, so that no text of this repository looks like one.

use crate::redact::{Key, Redactor};

const LINES: [&str; 4] = [
    "MIIEk7Qz2Lm9Xw4Rt6Yb1Nc8Vd3Fs5Gh0Jp2Ae7Ui4Ox9Bq6Zr3Ws8Te1Dy5Cu0K",
    "v4Mw/7Hn2+Pl9Sx5Gd1Ka8Zj3Tq6Rb0Wm4Yc7Vf2Xe5Nu9Lo1Ih3Db6Es8Jt0Ag",
    "q5Kz8Ty2Um1+Vb7Rn4Wc0Xs3Ze6Jd9Lf/Hg5Pa2Qi8Ok1Mw4Nx7Bv3Cy6Tu0Sr",
    "e9Fh3Gj7+2Kl5A==",
];

fn begin(kind: &str) -> String {
    ["-----BEGIN ", kind, "PRIVATE KEY-----"].concat()
}

fn end(kind: &str) -> String {
    ["-----END ", kind, "PRIVATE KEY-----"].concat()
}

/// Returns the lines of a key with its markers.
fn key(kind: &str) -> Vec<String> {
    let lines = LINES.map(str::to_owned);
    [vec![begin(kind)], lines.to_vec(), vec![end(kind)]].concat()
}

fn clean(text: &str) -> String {
    let redactor = Redactor::new(Key::default());
    let clean = redactor.text(text).into_owned();
    assert_eq!(redactor.text(&clean), clean, "once is enough");
    clean
}

/// Fails if any part of the key is left.
fn assert_gone(text: &str) -> String {
    let clean = clean(text);
    for line in LINES {
        let plain = line.trim_end_matches('=');
        for part in plain.as_bytes().windows(8) {
            let part = str::from_utf8(part).unwrap();
            assert!(
                !clean.contains(part),
                "`{part}` is left of\n{text}\n\n{clean}"
            );
        }
    }
    clean
}

const PREFIXES: &[&str] = &[
    "",
    "-",
    "+",
    " ",
    "    ",
    "\t",
    "# ",
    "#",
    "> ",
    ">",
    "> > ",
    "| ",
    "|",
    "* ",
    " * ",
    "// ",
    "//",
    "/// ",
    "-- ",
    ";; ",
    "% ",
    "+    # ",
    "-  // ",
    "+ * ",
    "! ",
    "12: ",
    "  12\t",
    "  12 | ",
    "file.pem:12:",
    "src/a/b.key-12-",
    "REM ",
    "echo \"",
    "2026-05-01T10:00:12Z app[12]: ",
    "web_1  | ",
    "+\t\t\"",
    "'",
    "<!-- ",
    "<td>",
    "&gt; ",
    "│ ",
    "• ",
    "\u{1b}[31m-",
];

const SUFFIXES: &[&str] = &[
    "",
    " |",
    "\",",
    "\\n\" +",
    "\\n\"",
    "'",
    "\" >> key.pem",
    "<br>",
    "</td>",
    " \\",
    " -->",
    "\u{1b}[m",
];

#[test]
fn every_line_goes_whatever_stands_around_it() {
    for prefix in PREFIXES {
        for suffix in SUFFIXES {
            for newline in ["\n", "\r\n"] {
                let lines = key("RSA ").into_iter().enumerate();
                let lines = lines.map(|(number, line)| {
                    format!(
                        "{}{line}{suffix}",
                        prefix.replace("12", &(10 + number).to_string())
                    )
                });
                let lines: Vec<String> = lines.collect();
                for part in [&lines[..], &lines[1..], &lines[..5], &lines[..4]] {
                    let text =
                        ["first here", &part.join(newline), "and here is prose", ""].join(newline);
                    let left = assert_gone(&text);
                    assert!(
                        left.starts_with("first here") && left.contains("and here is prose"),
                        "{left}"
                    );
                }
            }
        }
    }
}

#[test]
fn keys_in_escaped_texts_go() {
    let pem = key("").join("\n") + "\n";
    let json = |text: &str| serde_json::json!({"key": text, "other": "stays"}).to_string();
    let percent = |text: &str| {
        let encoded = text.bytes().map(|byte| match byte {
            b' ' | b'\n' | b'+' | b'/' | b'=' | b'%' => format!("%{byte:02X}"),
            _ => char::from(byte).to_string(),
        });
        encoded.collect::<String>()
    };
    for text in [
        json(&pem),
        json(&json(&pem)),
        json(&json(&json(&pem))),
        json(&pem.replace('\n', "\r\n")),
        json(&pem).replace('/', "\\/"),
        json(&pem).replace('+', "\\u002B"),
        json(&pem[..pem.len() - 60]),
        format!("+{}", json(&pem)),
        format!("key={}&other=stays", percent(&pem)),
        format!("key={}&other=stays", percent(&percent(&pem))),
        format!(
            "<a key=\"{}\" other=\"stays\"/>",
            pem.replace('\n', "&#10;")
        ),
        format!("{} other stays", pem.replace('\n', " ")),
        format!("{} other stays", pem.replace('\n', "")),
        format!("KEY=\"{}\"\nOTHER=stays", pem.replace('\n', "\\n")),
    ] {
        let left = assert_gone(&text);
        assert!(left.contains("stays"), "{left}");
    }
}

#[test]
fn a_diff_of_keys_shows_none_of_them() {
    let key = key("EC ");
    let diff = |sign: &str| sign.to_owned() + &key.join(&format!("\n{sign}")) + "\n";
    let text = format!(
        "--- a/k\n+++ b/k\n@@ -1,6 +1,6 @@\n{}{}\\ No newline at end of file\n",
        diff("-"),
        diff("+")
    );
    insta::assert_snapshot!(assert_gone(&text), @r"
    --- a/k
    +++ b/k
    @@ -1,6 +1,6 @@
    -‹secret:private-key:6a19›
    +‹secret:private-key:6a19›
    \ No newline at end of file
    ");

    let changed = format!(
        " {}\n-{}\n+{}\n {}\n {}\n let x = 1;\n",
        key[0], key[1], key[2], key[3], key[5]
    );
    insta::assert_snapshot!(assert_gone(&changed), @"
    ‹secret:private-key:b97e›
    let x = 1;
    ");

    let hunk = format!(
        "@@ -9,3 +9,3 @@ {}\n {}\n-{}\n+{}\n fn main() {{}}\n",
        key[0], key[1], key[2], key[3]
    );
    insta::assert_snapshot!(assert_gone(&hunk), @"
    @@ -9,3 +9,3 @@ ‹secret:private-key:dd51›
     fn main() {}
    ");

    let side = key.iter().map(|line| format!("{line:70} | {line}"));
    assert_gone(&side.collect::<Vec<_>>().join("\n"));
}

#[test]
fn headers_and_what_was_left_out_are_no_way_out() {
    let [first, second, third, last] = LINES;
    let (begin, end) = (begin("RSA "), end("RSA "));
    for text in [
        format!(
            "{begin}\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,0123456789ABCDEF\n\n{first}\n{second}\n{third}\n{last}\n{end}\n"
        ),
        format!("{begin}\n{first}\n...\n{third}\n{last}\n{end}\n"),
        format!(
            "{begin}\n{first}\n[... 20 lines truncated ...]\n{second}\n{third}\n{last}\n{end}\n"
        ),
        format!(
            "{begin}\n{first}\n{second}\n{}... (truncated)\n",
            &third[..20]
        ),
        format!("{begin} # of production\n{first}\n{second}\n{end}\n"),
        format!("\"{begin}\",\n  \"{first}\", \"{second}\",\n  \"{last}\",\n\"{end}\""),
    ] {
        assert_gone(&text);
    }
}

#[test]
fn what_only_speaks_of_keys_stays() {
    let (begin, end) = (begin("RSA "), end("RSA "));
    for text in [
        format!("{begin} and {end}"),
        format!("a file that begins with {begin}"),
        format!("{begin}\n<your key here>\n{end}\n"),
        format!("{begin}\nMIIE…\n{end}\n"),
        format!("const BEGIN: &str = \"{begin}\";\nconst END: &str = \"{end}\";\n"),
        format!(
            "if line == \"{begin}\" {{\n    inside = true;\n    continue_with_the_next_line_of_it();\n}}\nif line == \"{end}\" {{\n"
        ),
        format!("{begin}\n{}\n", "word\n".repeat(40)),
        format!("{}\n{end}\n", LINES[3]),
    ] {
        assert_eq!(clean(&text), text);
    }
}

#[test]
fn a_key_that_was_cut_goes_as_far_as_it_looks_like_one() {
    let lines = key("RSA ");
    let cut = lines[..4].join("\n");
    for rest in [
        "\n\nAnd then there is prose, which stays.",
        "\nend\n",
        "\n}\nlet x = 1;\n",
        "\nsrc/main.rs\n",
        "\n\nk7Qz2\n",
        "",
    ] {
        let clean = clean(&format!("{cut}{rest}"));
        assert!(
            clean.starts_with("‹secret:private-key:") && clean.ends_with(&format!("›{rest}")),
            "{clean}"
        );
    }
}

#[test]
fn a_key_is_the_same_one_however_its_lines_are_broken() {
    let forms = [
        "\n",
        "\r\n",
        "\\n",
        " ",
        "\n  ",
        "\n> ",
        "\n| ",
        "\\n\" +\n\"",
        "%0A",
    ]
    .map(|newline| key("").join(newline));
    for form in &forms {
        assert_eq!(clean(form), clean(&forms[0]), "{form:?}");
    }
    let diff = format!("+{}\n", key("").join("\n+"));
    assert_eq!(clean(&diff), format!("+{}\n", clean(&forms[0])));
    let other = forms[0].replace('Q', "R");
    assert_ne!(clean(&other), clean(&forms[0]));
}

#[test]
fn a_key_may_touch_a_letter() {
    let text = format!("KEY{}end", key("EC ").join("\n"));
    let clean = clean(&text);
    assert!(
        clean.starts_with("KEY‹secret:private-key:") && clean.ends_with("›end"),
        "{clean}"
    );
}
