//! Headers: what is one, what is in it, and where the body's bytes come from.

use std::sync::Arc;

use crate::Fingerprint;
use crate::template::*;

fn parse(text: &str) -> (Template, Vec<String>) {
    let (template, diagnostics) = Template::parse("f.md", text.to_owned());
    (template, super::lines(&diagnostics))
}

#[test]
fn headers_are_found_by_line() {
    for (text, name, body) in [
        ("---\nname: n\n---\nB\n", "n", "B"),
        ("---\n---\nB", "f", "B"),
        ("---\n# c\n---\nB", "f", "B"),
        ("---\n\n---\nB", "f", "B"),
        ("---\nname: t\n---\n", "t", ""),
        ("---\nname: t\n---", "t", ""),
        ("---\nname: t\n--- \t\nB", "t", "B"),
        ("--- \t\nname: t\n---\nB", "t", "B"),
        ("", "f", ""),
        ("---", "f", "---"),
        ("---\nname: t\n---\nA\n\n---\n\nB", "t", "A\n\n---\n\nB"),
        ("---\nname: t\ndescription: a --- b\n---\nB", "t", "B"),
        ("---name: t---B", "f", "---name: t---B"),
        ("----\nname: t\n----\nB", "f", "----\nname: t\n----\nB"),
        (" ---\nname: t\n---\nB", "f", "---\nname: t\n---\nB"),
        ("\n---\nname: t\n---\nB", "f", "---\nname: t\n---\nB"),
        ("---\r\nname: t\r\n---\r\nA\r\nB", "t", "A\nB"),
        ("---\rname: t\r---\rA\rB", "t", "A\nB"),
        ("\u{feff}---\nname: t\n---\nB", "t", "B"),
        ("\u{feff}B", "f", "B"),
        (
            "---\nname: t\n---\n\u{a0}\u{2003}\u{c}\u{b}\u{1c} B\u{1f}\n",
            "t",
            "B",
        ),
    ] {
        let (template, problems) = parse(text);
        assert_eq!(
            (template.name.as_str(), template.body.text()),
            (name, body),
            "{text:?}"
        );
        assert_eq!(problems, Vec::<String>::new(), "{text:?}");
    }
}

#[test]
fn a_header_that_is_no_mapping_is_text() {
    for (header, problem) in [
        (
            "name: [unclosed",
            "f.md:2: the frontmatter is not valid YAML: `[` has no `]`",
        ),
        (
            "description: Foo: bar",
            "f.md:2: the frontmatter is not valid YAML: `:` cannot stand here; put a text with `: ` in quotes",
        ),
        (
            "name: {{x}}",
            "f.md:2: the frontmatter is not valid YAML: a key is not plain text",
        ),
        (
            "a: b\nname: !!python/object:os.x 1",
            "f.md:3: the frontmatter is not valid YAML: the tag `!!python/object:os.x` is not known",
        ),
        (
            "name: t\n--- extra",
            "f.md:3: the frontmatter is not valid YAML: a second document begins here (`---`); only one is read",
        ),
        (
            "name: t\n...\nx",
            "f.md:4: the frontmatter is not valid YAML: a second document begins here (`---`); only one is read",
        ),
        ("Hello", "f.md:2: the frontmatter is not a mapping"),
        ("\n- a", "f.md:3: the frontmatter is not a mapping"),
    ] {
        let text = format!("---\n{header}\n---\nB");
        let (template, problems) = parse(&text);
        assert_eq!(
            (template.name.as_str(), template.body.text()),
            ("f", text.as_str())
        );
        assert_eq!(problems, [problem], "{header}");
    }
}

#[test]
fn a_header_that_is_not_closed_is_text_and_told() {
    for text in [
        "---\nname: t\nvariables: [a]\n\nHello {{a}}\n",
        "\u{feff}---\r\n\r\nname:\r\n",
        "--- \n# a comment\nengine: jinja\n---- \nB",
    ] {
        let (template, problems) = parse(text);
        assert_eq!(template.name, "f");
        assert!(template.body.text().starts_with("---"), "{text:?}");
        assert_eq!(
            problems,
            ["f.md:1: the frontmatter has no closing `---`, so the whole text is the body"],
            "{text:?}"
        );
    }
    for text in [
        "---\n",
        "---\nA line, and then.\n",
        "---\n\n# Title\n",
        "----\nname: t\n",
        "---",
    ] {
        assert_eq!(parse(text).1, Vec::<String>::new(), "{text:?}");
    }
}

#[test]
fn names_are_taken_as_written() {
    for (written, name) in [
        ("123", "123"),
        ("yes", "yes"),
        ("True", "True"),
        ("1.10", "1.10"),
        ("012", "012"),
        ("1_000", "1_000"),
        (".inf", ".inf"),
        ("1e999", "1e999"),
        ("2026-01-01", "2026-01-01"),
        ("\"a b\" # c", "a b"),
        ("'5'", "5"),
        ("", "f"),
        ("~", "f"),
        ("null", "f"),
        ("\"\"", "f"),
        ("\tt", "t"),
    ] {
        let (template, problems) = parse(&format!("---\nname: {written}\n---\nB"));
        assert_eq!(template.name, name, "{written}");
        assert_eq!(problems, Vec::<String>::new());
    }
    let (template, problems) = parse("---\nname: a\ncategory: c\nname: b\n---\nB");
    assert_eq!(template.name, "b");
    assert_eq!(
        problems,
        ["f.md:4: `name` is there twice; the last one counts"]
    );
    let (template, problems) = parse("---\ncategory: c\nname: [a]\n---\nB");
    assert_eq!(
        (template.name.as_str(), template.category.as_str()),
        ("f", "c")
    );
    assert_eq!(problems, ["f.md:3: `name` is not plain text"]);
}

#[test]
fn all_fields_are_read() {
    let (template, problems) = parse(
        "---\nname: n\ndescription: d\ncategory: task\nversion: 1.0\nauthor: x\nengine: jinja\ntags: [a, 2]\nvariables:\n\
         \x20 - name: one\n    description: first\n    required: Yes\n\
         \x20 - two\n  - {name: three, default: 5}\n  - {name: four, default: ~, required: off}\n\
         \x20 - {name: five, required: maybe}\n  - {required: true}\n  - two\n  - [x]\n---\nB",
    );
    let variable =
        |name: &str, description: Option<&str>, required, default: Option<&str>| Variable {
            name: name.to_owned(),
            description: description.map(str::to_owned),
            required,
            default: default.map(str::to_owned),
        };
    assert_eq!(
        template.variables,
        [
            variable("one", Some("first"), true, None),
            variable("two", None, false, None),
            variable("three", None, false, Some("5")),
            variable("four", None, false, None),
            variable("five", None, true, None),
        ]
    );
    assert_eq!(template.language, Language::Jinja);
    assert_eq!(template.description.as_deref(), Some("d"));
    assert_eq!(template.category, "task");
    assert_eq!(template.version.as_deref(), Some("1.0"));
    assert_eq!(template.tags, ["a", "2"]);
    assert_eq!(
        problems,
        [
            "f.md:16: `required` is true or false, not `maybe`",
            "f.md:17: a variable has no name",
            "f.md:18: variable `two` is declared twice",
            "f.md:19: a variable has no name",
        ]
    );
}

#[test]
fn fields_of_another_shape_are_left_out() {
    let (template, problems) =
        parse("---\nvariables: {a: 1}\ntags: solo\nengine: perl\nversion: [1]\n---\nB");
    assert_eq!(template.variables, []);
    assert_eq!(template.tags, ["solo"]);
    assert_eq!(template.language, Language::Plain);
    assert_eq!(
        problems,
        [
            "f.md:5: `version` is not plain text",
            "f.md:4: `engine` is `plain` or `jinja`, not `perl`",
            "f.md:2: `variables` is not a list",
        ]
    );
}

#[test]
fn every_byte_of_the_body_is_found_in_the_file() {
    let raw = "\u{feff}---\r\nname: n\r\n---\r\n\r\n  Ä\r\nB\rC\n ";
    let (template, _) = parse(raw);
    assert_eq!(template.body.text(), "Ä\nB\nC");
    assert_eq!(template.source.fingerprint, Fingerprint::of(raw));
    let mut whole = String::new();
    for span in template.body.spans() {
        let link = span.link.as_ref().unwrap();
        assert!(Arc::ptr_eq(&link.origin, &template.source));
        let written = &raw[link.range.clone()];
        whole += &written.replace('\r', "\n");
    }
    assert_eq!(whole, "Ä\nB\nC");
    assert_eq!(template.body.spans()[0].link.as_ref().unwrap().line, 5);
    assert_eq!([0, 3, 5].map(|offset| template.line_at(offset)), [5, 6, 7]);
}

#[test]
fn hostile_headers_are_refused_quickly() {
    let level = |(name, last): (char, char)| {
        let items = format!("*{last},").repeat(9);
        format!("{name}: &{name} [{items}]\n")
    };
    let levels: Vec<String> = ('b'..='j').zip('a'..='i').map(level).collect();
    let bomb = format!("a: &a [x,x,x,x,x,x,x,x,x]\n{}", levels.concat());
    for header in [
        bomb,
        format!("a: {}", "[".repeat(100_000)),
        format!("a: {}{}", "[".repeat(200), "]".repeat(200)),
        (0..2_000).map(|depth| " ".repeat(depth) + "a:\n").collect(),
        "- ".repeat(50_000),
    ] {
        let (template, problems) = parse(&format!("---\n{header}\n---\nB"));
        assert_eq!(template.name, "f");
        assert_eq!(problems.len(), 1);
        assert!(
            problems[0].ends_with("not valid YAML: too large or too deeply nested")
                || problems[0].ends_with("not valid YAML: nested more than 32 levels deep"),
            "{problems:?}"
        );
    }
    let link = |n: usize| format!("a{n}: &a{n} [*a{}]\n", n - 1);
    let chain: Vec<String> = (1..1_000).map(link).collect();
    let (_, problems) = parse(&format!("---\na0: &a0 [x]\n{}---\nB", chain.concat()));
    assert_eq!(problems.len(), 1, "{problems:?}");
    let (_, problems) = parse("---\na: &a [*a]\n---\nB");
    assert!(
        problems[0].starts_with("f.md:2: the frontmatter is not valid YAML: "),
        "{problems:?}"
    );
}
