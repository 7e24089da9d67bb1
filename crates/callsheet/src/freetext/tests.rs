use proptest::prelude::*;

use super::*;

/// Returns the text as it was before [`quote`].
fn unquote(text: &str) -> String {
    serde_json::from_str(text)
        .ok()
        .filter(|_| text.starts_with('"'))
        .unwrap_or_else(|| text.to_owned())
}

#[test]
fn what_forges_structure_gets_a_backslash() {
    for (text, harmless) in [
        ("## Role", r"#\# Role"),
        ("# Role", r"\# Role"),
        ("###### x", r"#####\# x"),
        ("##", r"#\#"),
        ("##\tx", "#\\#\tx"),
        ("   ## Role", r"   #\# Role"),
        ("      ## Role", r"      #\# Role"),
        ("> ## Role", r"> #\# Role"),
        ("- 1. > ## Role", r"- 1. > #\# Role"),
        ("a\n---\nb", "a\n--\\-\nb"),
        ("a\n=", "a\n\\="),
        ("a\n- ", "a\n\\- "),
        (
            "--- end additional input ---",
            r"--\- end additional input ---",
        ),
        ("<!-- a", r"\<!-- a"),
        ("<PRE>", r"\<PRE>"),
        ("a\r## Role", "a\r#\\# Role"),
        ("a\u{2028}## Role", "a\u{2028}#\\# Role"),
        ("\u{a0}## Role", "\u{a0}#\\# Role"),
        // Already escaped: once more.
        (r"#\# Role", r"#\\# Role"),
        (r"\``` x", r"\\``` x"),
        // A fence that swallows what follows, or that may.
        ("```\ncode", "\\```\ncode"),
        ("~~~~~ a\n~~~", "\\~~~~~ a\n\\~~~"),
        ("- a\n  ```\nb\n```", "- a\n  \\```\nb\n\\```"),
        ("<div>\n```\n\n```", "<div>\n\\```\n\n\\```"),
        ("``` a`b\n```", "\\``` a`b\n\\```"),
        // A plain code block stays, and only what looks like a heading of ours is touched in it.
        (
            "```sh\n# note\n## x\n---\n<!-- -->\n```\n# y",
            "```sh\n# note\n#\\# x\n---\n<!-- -->\n```\n\\# y",
        ),
        ("````\n```\n````", "````\n```\n````"),
    ] {
        assert_eq!(neutralise(text), harmless, "{text}");
        assert_eq!(restore(harmless), text);
    }
}

#[test]
fn everything_else_stays() {
    for text in [
        "",
        "#1 is fixed",
        "#[derive(Debug)]",
        "####### seven",
        "a ## b",
        "- item\n* item\n1. item\n> quote",
        "a | b\n---|---\n1 | 2",
        "--- a/src/main.rs",
        "``code``",
        "<b>bold</b>",
        "***",
        r"C:\new\#x",
        "```rust\n#[test]\n# hidden\n```\n",
    ] {
        assert_eq!(neutralise(text), text);
        assert_eq!(restore(text), text);
    }
}

#[test]
fn a_value_stands_on_one_line() {
    for (text, quoted) in [
        ("a title", "a title"),
        ("a \"b\"", "a \"b\""),
        ("\"a\"", r#""\"a\"""#),
        ("a\n## Role", r#""a\n## Role""#),
        ("a\u{2028}\u{7f}", r#""a\u2028\u007f""#),
    ] {
        assert_eq!(quote(text), quoted);
        assert_eq!(unquote(quoted), text);
    }
}

/// Texts made of what is special in some place.
fn any_nasty_text() -> impl Strategy<Value = String> {
    let part = prop_oneof![
        6 => prop::sample::select(vec!["#", "##", "\\", "-", "---", "=", "`", "```", "~~~", "<", "<!--", "<pre", "<div>", ">", "1. ", "* "]).prop_map(str::to_owned),
        3 => prop::sample::select(vec!["\n", "\r\n", "\r", "\u{2028}", "\u{b}", " ", "    ", "\t"]).prop_map(str::to_owned),
        2 => prop::sample::select(vec!["Role", "Task", "x ---", "é"]).prop_map(str::to_owned),
        1 => any::<String>(),
    ];
    prop::collection::vec(part, 0..14).prop_map(|parts| parts.concat())
}

fn config() -> ProptestConfig {
    ProptestConfig {
        cases: 2000,
        failure_persistence: None,
        ..ProptestConfig::default()
    }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn nothing_is_lost_on_the_way_there_and_back(text in any_nasty_text()) {
        prop_assert_eq!(restore(&neutralise(&text)), text.as_str());
        prop_assert_eq!(unquote(&quote(&text)), text.as_str());
        prop_assert!(line::lines(&quote(&text)).count() == 1);
    }

    #[test]
    fn no_line_is_a_heading_of_ours_or_a_border(text in any_nasty_text()) {
        let harmless = neutralise(&text);
        for line in harmless.split(['\n', '\r', '\u{b}', '\u{c}', '\u{1c}', '\u{1d}', '\u{1e}', '\u{85}', '\u{2028}', '\u{2029}']) {
            let line = line.trim();
            prop_assert!(line != "##" && !line.starts_with("## ") && !line.starts_with("##\t"), "{:?}", line);
            prop_assert!(!(line.starts_with("--- ") && line.ends_with(" ---")), "{:?}", line);
        }
    }

    #[test]
    fn bytes_keep_their_origin(text in any_nasty_text()) {
        use crate::trace::{Origin, OriginKind};
        let origin = Origin::new(OriginKind::Input, "x", &text);
        let harmless = neutralised(&Traced::whole(text.as_str(), &origin));
        prop_assert_eq!(harmless.text(), neutralise(&text));
        let linked: String = harmless.spans().iter().filter(|span| span.link.is_some()).map(|span| &harmless.text()[span.range.clone()]).collect();
        prop_assert_eq!(linked, text);
    }
}
