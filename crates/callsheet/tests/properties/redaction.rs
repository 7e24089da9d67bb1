//! What holds for redaction: clean texts stay, once is enough, every byte stays mapped, and no secret is anywhere.

use callsheet::inputs::Disk;
use callsheet::recipe::Folder;
use callsheet::redact::{Key, Level, Redactor};
use callsheet::source_map::MapSpan;
use callsheet::trace::Transform;
use callsheet::{Budget, Composition, Inputs, Options, Recipe, Seal, compose};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::cases;
use crate::project::{Project, any_text};

const RANDOM: &str = "k7Qz2Lm9Xw4Rt6Yb1Nc8Vd3Fs5Gh0Jp2Ae7Ui4Ox9Bq6Zr3Ws8Te1Dy5Cu0Kv4Mw";

/// Secrets of several kinds, put together here so that no text of this repository looks like one.
pub(crate) fn any_secret() -> impl Strategy<Value = String> {
    prop_oneof![
        Just(["gh", "p_", &RANDOM[..36]].concat()),
        Just(["sk-", "ant-api03-", &RANDOM[..50]].concat()),
        Just(["sk-", "proj-", &RANDOM[..40]].concat()),
        Just(["AK", "IA", "QZ2LM7XW4RT6YB3N"].concat()),
        Just(
            [
                "ey",
                "J",
                &RANDOM[..20],
                ".ey",
                "J",
                &RANDOM[..30],
                ".",
                &RANDOM[..43]
            ]
            .concat()
        ),
        Just(["gl", "pat-", &RANDOM[..20]].concat()),
        Just(["dop", "_v1_", &RANDOM[..64]].concat()),
        any_key(),
    ]
}

/// Keys with all kinds of signs around their lines.
fn any_key() -> impl Strategy<Value = String> {
    let newlines = [
        "\n",
        "\r\n",
        "\\n",
        "\n+    # ",
        "\n> ",
        "\n| ",
        "\\n\" +\n\"",
    ];
    prop::sample::select(newlines.to_vec()).prop_map(|newline| {
        let begin = ["-----BEGIN ", "PRIVATE KEY-----"].concat();
        let end = ["-----END ", "PRIVATE KEY-----"].concat();
        [begin.as_str(), RANDOM, RANDOM, end.as_str()].join(newline)
    })
}

/// Texts with secrets in them; what stands between touches them in all ways.
pub(crate) fn any_leak() -> impl Strategy<Value = String> {
    let between = prop_oneof![
        any_text(),
        Just(" ".to_owned()),
        Just("\"".to_owned()),
        Just("-".to_owned()),
        Just("_".to_owned()),
        Just("https://me:".to_owned()),
        Just("@host".to_owned()),
    ];
    prop::collection::vec(prop_oneof![any_secret(), between], 0..8).prop_map(|parts| parts.concat())
}

pub(crate) fn redactor() -> Redactor {
    Redactor::new(Key::derive("test"))
}

/// Prints a field, a file, a template with that field, and the field as JSON.
pub(crate) fn recipe() -> Recipe {
    let toml = "redact = true\n[warning]\nbytes = 1\nevent = 'mine:long'\nfacts = { note = 'note' }\nmessage = '{{note}}'\n\
        [[layers]]\nname = 'note'\nvalue = 'note'\npriority = 1\ncut = true\n[[layers]]\nname = 'file'\nfile = 'a.txt'\nframe = 'json'\n\
        [[layers]]\nname = 'task'\ntemplate = 'task.md'\n[[layers]]\nname = 'all'\nvalue = 'all'\n";
    let folder = Folder::from([
        ("recipe.toml".to_owned(), toml.to_owned()),
        ("task.md".to_owned(), "Note: {{note}}\nEnd.".to_owned()),
    ]);
    Recipe::parse("mine", "recipes/mine", folder).unwrap()
}

pub(crate) fn composed(recipe: &Recipe, text: &str, bytes: Option<usize>) -> Option<Composition> {
    sealed(recipe, text, bytes).map(|(composition, _)| composition)
}

fn sealed(recipe: &Recipe, text: &str, bytes: Option<usize>) -> Option<(Composition, Seal)> {
    let project = Project::new(&[("a.txt".to_owned(), text.to_owned())]);
    let inputs = Inputs::new(Disk::watched().open(project.root()).unwrap());
    let input = json!({"note": text, "all": {"deep": [text]}});
    let budget = Budget {
        bytes,
        tokens: None,
    };
    let options = Options {
        budget,
        ..Options::default()
    };
    let composition = compose(recipe, &input, &inputs, &options).ok()?;
    let sealed = Seal::with_parsed(&composition, recipe, &input, &inputs, &options);
    let (seal, parsed) = sealed.unwrap();
    assert_eq!(seal.parsed().unwrap(), parsed);
    Some((composition, seal))
}

/// Returns everything that a seal keeps, as one text.
fn all_kept(seal: &Seal) -> String {
    let bodies = seal.bodies.values();
    let bodies = bodies.map(|bytes| String::from_utf8_lossy(bytes).into_owned());
    let documents = seal.documents.iter().cloned();
    documents.chain(bodies).collect::<Vec<_>>().join("\n")
}

/// Returns everything that a composition gives away, as one text.
pub(crate) fn all_output(composition: &Composition) -> String {
    [
        composition.text.clone(),
        json!(composition.manifest).to_string(),
        json!(composition.source_map).to_string(),
        json!(composition.events).to_string(),
    ]
    .join("\n")
}

pub(crate) fn spans_cover(composition: &Composition) -> bool {
    let mut end = 0;
    let mut touches = |span: &MapSpan| {
        let fits = span.start == end && span.end > span.start;
        end = span.end;
        fits
    };
    composition.source_map.spans.iter().all(&mut touches) && end == composition.text.len()
}

proptest! {
    #![proptest_config(cases(192))]

    #[test]
    fn a_text_without_secrets_stays_byte_for_byte(text in any_text()) {
        prop_assert_eq!(redactor().text(&text), text.as_str());
    }

    #[test]
    fn redacting_twice_is_redacting_once(text in any_leak()) {
        let once = redactor().text(&text).into_owned();
        prop_assert_eq!(redactor().text(&once), once.as_str());
    }

    #[test]
    fn the_same_secret_is_the_same_text_everywhere(secret in any_secret(), other in any_text()) {
        let alone = redactor().text(&secret).into_owned();
        prop_assert!(alone.starts_with("‹secret:") && alone.ends_with('›'), "{}", alone);
        let text = format!("{other} {secret} and {secret}\n");
        let clean = redactor().text(&text).into_owned();
        prop_assert_eq!(clean.matches(&alone).count(), 2);
        let elsewhere = Redactor::new(Key::derive("another project")).text(&secret).into_owned();
        prop_assert_ne!(elsewhere, alone);
    }

    #[test]
    fn no_secret_is_in_anything_that_comes_out(
        secret in any_secret(), before in any_text(), after in any_text(), bytes in prop::option::of(400..900_usize)
    ) {
        let text = format!("{before} {secret}\n{after}\n{secret}\n");
        if let Some((composition, seal)) = sealed(&recipe(), &text, bytes) {
            let output = all_output(&composition) + &all_kept(&seal);
            prop_assert!(!output.contains(&secret));
            prop_assert!(!output.contains(&secret.replace('\n', "\\n")));
            prop_assert!(!output.contains(&RANDOM[..20]));
            prop_assert!(!composition.manifest.redactions.is_empty());
            prop_assert!(spans_cover(&composition));
            prop_assert_eq!(seal.text().unwrap(), composition.text);
            prop_assert_eq!(seal.check(), vec![]);
            prop_assert_eq!(seal.replay().unwrap().is_equal(), seal.inputs().unwrap().replays);
        }
    }

    #[test]
    fn a_redacted_span_points_to_its_secret(secret in any_secret(), before in any_text(), after in any_text()) {
        let text = format!("{before} {secret} {after}");
        let composition = composed(&recipe(), &text, None).unwrap();
        let own: Vec<&MapSpan> = composition.source_map.spans.iter()
            .filter(|span| span.transform == Some(Transform::Redacted) && span.layer != "all").collect();
        prop_assert_eq!(own.len(), 3, "a field, a file and a template");
        for span in own {
            let (from, to) = (span.source_start.unwrap(), span.source_end.unwrap());
            prop_assert_eq!(text[from..to].trim(), secret.as_str());
            prop_assert!(composition.text[span.start..span.end].starts_with("‹secret:"));
        }
    }

    #[test]
    fn redaction_changes_nothing_where_there_is_nothing(text in any_text()) {
        let on = recipe();
        let mut off = recipe();
        off.redact = Level::Off;
        let (one, other) = (composed(&on, &text, None).unwrap(), composed(&off, &text, None).unwrap());
        prop_assert_eq!(all_output(&one), all_output(&other));
    }
}

#[test]
fn errors_and_fingerprints_keep_the_secret_too() {
    let secret = ["gh", "p_", &RANDOM[..36]].concat();
    let toml = "[error]\nbytes = 1\nmessage = 'too long: {{note}}'\n[[layers]]\nname = 'note'\nvalue = 'note'\n";
    let folder = Folder::from([("recipe.toml".to_owned(), toml.to_owned())]);
    let recipe = Recipe::parse("mine", "recipes/mine", folder).unwrap();
    let options = Options {
        redact: Level::Formats,
        ..Options::default()
    };
    let input = json!({"note": secret});
    let error = compose(&recipe, &input, &Inputs::nowhere(), &options).unwrap_err();
    assert!(
        error
            .to_string()
            .starts_with("too long: ‹secret:github-token:"),
        "{error}"
    );

    let mut other = self::recipe();
    let manifest = |recipe: &Recipe| json!(composed(recipe, &secret, None).unwrap().manifest);
    let hidden = manifest(&other);
    other.redact = Level::Off;
    let shown = manifest(&other);
    let sources = |manifest: &Value| -> Vec<String> {
        let sections = manifest["sections"].as_array().unwrap().iter();
        sections
            .map(|section| section["source_fingerprint"].to_string())
            .collect()
    };
    assert_ne!(hidden["input"], shown["input"]);
    let pairs: Vec<_> = sources(&hidden).into_iter().zip(sources(&shown)).collect();
    assert!(pairs[0].0 != pairs[0].1 && pairs[1].0 != pairs[1].1);
}
