//! Every rule by its own examples, what stands around secrets, and the rules that a project adds.

use super::check::Example;
use super::*;
use crate::redact::{Key, Redactor};

fn built_in() -> Vec<Rule> {
    toml::from_str::<File>(BUILT_IN).unwrap().rules
}

fn own(text: &str) -> Rule {
    toml::from_str(text).unwrap()
}

/// Returns the kinds and texts that are found.
fn found(text: &str) -> Vec<(&'static str, &str)> {
    let hits = TABLE.find(text).into_iter();
    hits.map(|hit| (hit.kind, &text[hit.range])).collect()
}

/// Returns the secrets of all examples that stand alone, with their kinds.
fn secrets() -> Vec<(String, String)> {
    let mut secrets = Vec::new();
    for rule in built_in() {
        for hit in &rule.hits {
            let Example { text, secret } = Example::parse(hit);
            let secret = &text[secret.unwrap()];
            let alone = found(secret);
            if alone.iter().any(|(_, found)| *found == secret) {
                secrets.push((alone[0].0.to_owned(), secret.to_owned()));
            }
        }
    }
    secrets
}

/// Returns an example that stands alone.
fn secret(kind: &str) -> String {
    let mut all = secrets().into_iter();
    all.find(|(found, _)| found == kind).unwrap().1
}

#[test]
fn every_rule_finds_its_hits_and_leaves_its_misses() {
    let rules = built_in();
    for (index, rule) in rules.iter().enumerate() {
        rule.check().unwrap();
        assert!(
            !rule.hits.is_empty() && !rule.misses.is_empty(),
            "{}",
            rule.id
        );
        let other = rules[..index].iter().any(|other| other.id == rule.id);
        assert!(!other, "there are two rules named {}", rule.id);
        for hit in &rule.hits {
            let Example { text, secret } = Example::parse(hit);
            let wanted = (rule.id.as_str(), &text[secret.unwrap()]);
            assert!(
                found(&text).contains(&wanted),
                "{}: {text}\n{:?}",
                rule.id,
                found(&text)
            );
        }
        for miss in &rule.misses {
            let text = miss.replace('·', "");
            let any = found(&text).into_iter().any(|(kind, _)| kind == rule.id);
            assert!(!any, "{}: {text}", rule.id);
        }
    }
}

#[test]
fn the_file_of_rules_holds_no_secret() {
    let hits = TABLE.find(BUILT_IN).into_iter();
    let found: Vec<_> = hits.map(|hit| (hit.kind, &BUILT_IN[hit.range])).collect();
    assert_eq!(found, []);
}

#[test]
fn the_page_names_every_rule() {
    let page = include_str!("../../../../../docs/redaction.md");
    for id in TABLE.ids() {
        assert!(page.contains(&format!("`{id}`")), "{id}");
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
            ("?q=%22", "%22"),
            ("?q%3D", "%26x"),
            ("?q%253D", "%2526x"),
            ("{\\u0022k\\u0022\\u003a\\u0022", "\\u0022}"),
            ("k\\u003d", "\\u0026"),
            ("{\"json\":\"{\\\"k\\\":\\\"", "\\\"}\"}"),
            ("{\\\\\\\"k\\\\\\\":\\\\\\\"", "\\\\\\\"}"),
            ("\\x3d", "\\x00"),
            ("\\075", ""),
            ("key=3D", "\n"),
            ("\u{1b}[1;31m", "\u{1b}[0m"),
            ("<td>", "</td>"),
            ("&quot;", "&quot;"),
            ("`", "`"),
            ("+", ""),
            ("| ", " |"),
        ] {
            let text = format!("{before}{secret}{after}");
            let found = found(&text);
            assert!(
                found.contains(&(kind.as_str(), secret.as_str())),
                "{text}\n{found:?}"
            );
        }
    }
}

#[test]
fn what_touches_a_letter_or_lacks_most_of_itself_is_left_alone() {
    for (kind, secret) in secrets() {
        let block = built_in()
            .into_iter()
            .any(|rule| rule.id == kind && rule.block);
        if block || !secret.starts_with(|c: char| c.is_ascii_alphanumeric()) {
            continue;
        }
        let touched = format!("x{secret}");
        let any = found(&touched)
            .into_iter()
            .any(|(_, found)| found == secret);
        assert!(!any, "{kind}");
        let few = secret.len().min(60) / 5;
        assert_eq!(found(&secret[..few]), [], "{kind}");
    }
}

#[test]
fn placeholders_stand_for_passwords_and_are_none() {
    for placeholder in [
        "%s",
        "%d",
        "%v",
        "%PW%",
        "%DB_PASSWORD%",
        "%(pw)s",
        "#{pw}",
        "#{ENV.fetch(:pw)}",
        "${PW}",
        "${pw:-x}",
        "${{secrets.PW}}",
        "{{pw}}",
        "{pw}",
        "{}",
        "{0}",
        "$PW",
        "$PW_2",
        "$password",
        "$db_pass",
        "$(cat/pw)",
        "<password>",
        "<your-pw>",
        "[password]",
        "***",
        "xxxx",
        "xXx",
        "…",
        "•••",
        "${A}${B}",
        "${A}-${B}",
        "%s:%s",
    ] {
        // A slash would end the address.
        let text = format!("postgres://app:{}@db/shop", placeholder.replace('/', "_"));
        assert_eq!(found(&text), [], "{text}");
    }
    for password in [
        "hunter2", "pa%ss", "50%off", "%41%42", "$ecret", "$1234567", "{abc", "<abc", "a${b",
        "a${b}", "xxy", "#{a", "%", "%s1", "p@ss", "@", "a@b@c", "a:b", "a#b", "a?b", "a&b=c",
        "1234",
    ] {
        let text = format!("postgres://app:{password}@db/shop");
        assert_eq!(found(&text), [("url-password", password)], "{text}");
    }
}

#[test]
fn hostile_texts_are_searched_in_one_go() {
    let many = 100_000;
    let begin = ["-----BEGIN ", "PRIVATE KEY-----"].concat();
    let end = ["-----END ", "PRIVATE KEY-----"].concat();
    for text in [
        format!(
            "x{}.ey{}.{}",
            "eyJ".repeat(many),
            "Ja".repeat(20),
            "k7Qz2Lm9Xw4Rt6Yb"
        ),
        format!(
            "{}.eyJaaaaaaaaaa.aaaaaaaaaa",
            "xeyJaaaaaaaaaa-".repeat(many)
        ),
        format!("{}://me:***@host", "a".repeat(many)),
        format!("x{}", ["AK", "IA"].concat().repeat(many)),
        "sk-".repeat(many),
        "xsk-proj-".repeat(many),
        format!("{begin}\n").repeat(many / 10),
        begin.repeat(many / 10),
        format!("{end}\n").repeat(many / 10),
        format!("{begin}\nabc\n").repeat(many / 10),
        format!("{begin}{}", " word".repeat(many)),
        format!("{begin}{}", "\\".repeat(many)),
        "secret_key=".repeat(many),
        "authorization: basic ".repeat(many),
        "a://b:".repeat(many),
        "curl -u ".repeat(many),
        "‹secret:".repeat(many),
        "‹secret:jwt:12ab›".repeat(many / 10),
    ] {
        assert_eq!(found(&text), [], "{}", &text[..20]);
    }
}

#[test]
fn secrets_that_overlap_go_together() {
    let token = secret("github-token");
    let text = format!("https://me:{token}@example.com");
    assert_eq!(found(&text), [("github-token", token.as_str())]);
}

#[test]
fn a_cut_goes_before_a_secret_and_not_through_it() {
    for (kind, secret) in secrets() {
        let text = format!("abc {secret} def");
        let range = 4..4 + secret.len();
        for end in (0..=text.len()).filter(|&end| text.is_char_boundary(end)) {
            let inside = range.start < end && end < range.end;
            let expected = if inside { range.start } else { end };
            assert_eq!(Rules::default().cut_at(&text, end), expected, "{kind}");
        }
    }
}

#[test]
fn a_long_secret_is_found_to_its_end() {
    let part = "k7Qz2Lm9Xw4Rt6Yb".repeat(2000);
    let token = ["ey", "J", &part, ".ey", "J", &part, ".", &part].concat();
    assert_eq!(found(&format!("a {token} b")), [("jwt", token.as_str())]);
}

#[test]
fn a_project_adds_replaces_and_drops_rules() {
    let rules = Rules::with(vec![
        own("id = 'acme-token'\nregex = 'acme_[a-z0-9]{8}'\nkeywords = ['acme_']\nhits = ['‹acme_k7q2z9m4›']\nmisses = ['acme_corp']"),
        own("id = 'npm-token'\nregex = 'npm-[a-z]{4}'"),
        own("id = 'jwt'\nenabled = false"),
    ])
    .unwrap();
    let redactor = Redactor::new(Key::default()).with_rules(rules.clone());
    let [jwt, npm] = ["jwt", "npm-token"].map(secret);
    let text = format!("acme_k7q2z9m4 npm-abcd {npm} {jwt}");
    let clean = redactor.text(&text).into_owned();
    let kept = format!(" {npm} {jwt}");
    assert!(
        clean.starts_with("‹secret:acme-token:") && clean.ends_with(&kept),
        "{clean}"
    );
    assert!(clean.contains("› ‹secret:npm-token:"), "{clean}");
    assert_eq!(redactor.text(&clean), clean);
    assert_eq!(rules.own().len(), 3);
    assert_eq!(rules.ids().count(), TABLE.ids().count());
    let end = text.find("k7q2").unwrap();
    assert_eq!(rules.cut_at(&text, end), 0);
    assert_eq!(Rules::default().cut_at(&text, end), end);
}

#[test]
fn a_rule_that_finds_everything_leaves_pseudonyms_alone() {
    for regex in [".+", "[a-z]+", "secret", "‹.*›", "[^:]+", "(?s).{3}"] {
        let rule = own(&format!("id = 'all'\nregex = '{regex}'"));
        let rules = Rules::with(vec![rule]).unwrap();
        let redactor = Redactor::new(Key::default()).with_rules(rules);
        let clean = redactor
            .text("a secret é ‹secret:jwt:12ab› of mine\nand more")
            .into_owned();
        assert!(clean.contains("‹secret:jwt:12ab›"), "{regex}: {clean}");
        assert_eq!(redactor.text(&clean), clean, "{regex}");
    }
}

#[test]
fn a_rule_with_more_to_say_is_asked() {
    let random = own(
        "id = 'random'\nregex = 'v_([a-z]{8})'\nentropy = 2.5\nhits = ['v_‹kqzwxmtr›']\nmisses = ['v_aaaaaaab']",
    );
    random.check().unwrap();
    let mixed = own(
        "id = 'mixed'\nregex = 'v_[a-z0-9]{8}'\nmixed = true\nhits = ['v_abcdefg1']\nmisses = ['v_abcdefgh']",
    );
    mixed.check().unwrap();
    let named = own(
        "id = 'named'\nregex = 'acme_key{is}([a-z]{4})'\nhits = ['{\"acme_key\": \"‹abcd›\"}', 'acme_key%3D‹abcd›']",
    );
    named.check().unwrap();
    let block = own(
        "id = 'licence'\nregex = '=+ (?:BEGIN|END) LICENCE =+'\nblock = true\nhits = [\"‹== BEGIN LICENCE ==\\n# k7Qz2Lm9Xw4Rt6Yb1Nc8Vd3Fs5Gh0Jp2Ae7\\n# == END LICENCE ==›\"]",
    );
    block.check().unwrap();
}

#[test]
fn a_rule_that_cannot_work_is_refused_with_the_reason() {
    let told = |text: &str| Rules::with(vec![own(text)]).unwrap_err().to_string();
    let told: Vec<String> = [
        "id = ''\nregex = 'a'",
        "id = 'My Token'\nregex = 'a'",
        "id = 'mine'",
        "id = 'mine'\nregex = 'a('",
        "id = 'mine'\nregex = 'a*'",
        "id = 'mine'\nregex = '(?:[a-z]{1000}){1000}'",
        "id = 'mine'\nregex = 'abc'\nkeywords = ['a']",
        "id = 'mine'\nregex = 'abc'\nentropy = 9.5",
        "id = 'mine'\nregex = 'abc'\nhits = ['abd']",
        "id = 'mine'\nregex = 'abc'\nkeywords = ['xyz']\nhits = ['abc']",
        "id = 'mine'\nregex = 'abc'\nhits = ['a ‹ab›c']",
        "id = 'mine'\nregex = 'abc'\nmisses = ['an abc']",
        "id = 'jtw'\nenabled = false",
    ]
    .map(told)
    .into();
    insta::assert_snapshot!(told.join("\n"), @"
    `` is not a valid name for a rule; use lower-case letters, digits and `-`, 40 at most
    `My Token` is not a valid name for a rule; use lower-case letters, digits and `-`, 40 at most
    rule `mine`: `regex` is missing
    rule `mine`: `regex` is not valid: unclosed group
    rule `mine`: `regex` matches an empty text, so it would match everywhere
    rule `mine`: `regex` is too large
    rule `mine`: `a` is not a valid keyword; use printable ASCII, two characters or more
    rule `mine`: `entropy` is not between 0 and 8 bits
    rule `mine`: it finds nothing in `abd`, which is one of its `hits`
    rule `mine`: `abc`, one of its `hits`, has none of its `keywords`
    rule `mine`: it finds `abc` in `a abc`, which is not what `hits` says
    rule `mine`: it finds `abc` in `an abc`, which is one of its `misses`
    no rule named `jtw`
    ");
    let twice = vec![
        own("id = 'mine'\nregex = 'abc'"),
        own("id = 'mine'\nregex = 'abd'"),
    ];
    insta::assert_snapshot!(Rules::with(twice).unwrap_err(), @"there is another rule named `mine`; each needs its own name");
}
