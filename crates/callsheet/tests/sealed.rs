//! Messages that were sealed when manifest and source map spoke of their contents alone: they are read as all others.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use callsheet::reading::Reading;
use callsheet::redact::{Key, Level, Rules};
use callsheet::{Fingerprint, Seal};
use serde_json::{Value, json};

/// The seals of one input, with system messages joined and apart, each with the prompt that was handed over.
fn seals() -> Vec<(Seal, String)> {
    let text = include_str!("sealed/contents.json");
    let sealed: Vec<Value> = serde_json::from_str(text).unwrap();
    let read = |sealed: &Value| {
        let document = |nth: usize| sealed["documents"][nth].to_string();
        let texts = sealed["texts"].as_array().unwrap().iter();
        let texts = texts.map(|text| text.as_str().unwrap());
        let seal = Seal {
            documents: [0, 1, 2, 3].map(document),
            bodies: texts
                .map(|text| (Fingerprint::of(text), text.as_bytes().into()))
                .collect(),
        };
        (seal, sealed["prompt"].as_str().unwrap().to_owned())
    };
    sealed.iter().map(read).collect()
}

#[test]
fn they_are_proven_shown_and_composed_again() {
    for (seal, prompt) in seals() {
        assert_eq!(seal.check(), []);
        assert_eq!(seal.text().unwrap(), prompt);
        let document = seal.document().unwrap();
        assert_eq!(document["text"], json!(prompt));
        assert_eq!(document["messages"].to_string(), prompt);
        let replay = seal.replay().unwrap();
        assert_eq!(replay.differences, []);
        let now = replay.composition;
        assert_eq!(now.text, prompt);
        let then = seal.explained().unwrap();
        assert_eq!(then.source_map.spans, now.source_map.spans);
        assert_eq!(then.manifest.sections, now.manifest.sections);
        assert_eq!(then.manifest.cache, now.manifest.cache);
        assert_eq!(document, now.document());
    }
}

#[test]
fn sections_meet_where_they_met_when_they_were_sealed() {
    for (seal, _) in seals() {
        let (text, places) = seal.to_read().unwrap();
        let sections = seal.manifest().unwrap().sections;
        assert!(text.contains("\"push\"\n---\n<q \"x\">\nDo a\n"), "{text}");
        for (section, place) in sections.iter().zip(places) {
            assert_eq!(Fingerprint::of(&text[place]), section.fingerprint);
        }
    }
}

#[test]
fn sections_of_a_new_seal_meet_in_its_messages() {
    let (seal, prompt) = seals().swap_remove(0);
    // Without any secret, the redacted one is the same prompt, sealed as it is today.
    let seal = seal
        .redacted(Level::default(), Key::default(), &Rules::default())
        .unwrap();
    assert!(seal.documents[2].contains("callsheet.layout/2"));
    assert_eq!(seal.check(), []);
    assert_eq!(seal.text().unwrap(), prompt);
    let (text, places) = seal.to_read().unwrap();
    assert_eq!(text, Reading::of(&prompt).text());
    assert!(
        text.contains("\"push\"\n---\nNotes over\nseveral"),
        "{text}"
    );
    let sections = seal.manifest().unwrap().sections;
    for (section, place) in sections.iter().zip(places) {
        assert_eq!(Fingerprint::of(&text[place]), section.fingerprint);
    }
}

#[test]
fn what_is_damaged_is_told_and_nothing_fails() {
    let damages: [(usize, &str, &str); 6] = [
        (0, "\"start\":35", "\"start\":3500"),
        (0, "\"end\":59", "\"end\":18446744073709551615"),
        (0, "\"start\":64", "\"start\":9999999"),
        (1, "\"end\":27", "\"end\":28"),
        (
            2,
            "\"placed\":[[\"system\",{\"start\":0",
            "\"placed\":[[\"system\",{\"start\":7",
        ),
        (2, "layout/1", "layout/3"),
    ];
    for (nth, from, to) in damages {
        for (mut seal, _) in seals() {
            let sound = seal.documents[nth].clone();
            seal.documents[nth] = sound.replace(from, to);
            if seal.documents[nth] == sound {
                continue;
            }
            assert_ne!(seal.check(), [], "{from} to {to}");
            // Whatever they say, they say it.
            let _ = (
                seal.text(),
                seal.explained().is_ok(),
                seal.document().is_ok(),
            );
        }
    }
}
