//! What holds for redaction by entropy: texts without long runs stay, once is enough, every byte stays mapped, known
//! secrets keep their kind, and nothing that is found is anywhere.

use callsheet::redact::{Level, Redactor};
use proptest::prelude::*;

use crate::cases;
use crate::project::any_text;
use crate::redaction::{all_output, any_leak, any_secret, composed, recipe, redactor, spans_cover};

/// The halves of what looks random, so that no text of this repository looks like a secret.
fn any_random() -> impl Strategy<Value = String> {
    prop_oneof![
        Just(["k7Qz2Lm9Xw", "4Rt6Yb1Nc8"].concat()),
        Just(["9fQ+x2Lm/Zw7", "Rt4Yb+1Nc8Vd3Fs/5Gh0=="].concat()),
        Just(["k7Qz2-Lm9Xw4_Rt6", "Yb1Nc8Vd3-Fs5Gh0"].concat()),
        Just(["q8z1m7x4k2v9b3", "n6c5w0j8h2g4f7d1"].concat()),
        Just(["5f2b9c04d7e1a836", "f04e7b9d2c6a1853"].concat()),
    ]
}

/// Texts of many runs, too short to count.
fn any_short_runs() -> impl Strategy<Value = String> {
    let run = ("[A-Za-z0-9+/_-]{0,19}", "[ .,:;()<>\"\n=é]");
    prop::collection::vec(run, 0..20).prop_map(|runs| {
        let runs = runs.into_iter().map(|(run, between)| run + &between);
        runs.collect()
    })
}

/// Texts of runs of all lengths, random ones, words and labels, which touch each other in all ways.
fn any_runs() -> impl Strategy<Value = String> {
    let part = prop_oneof![
        2 => any_random(),
        2 => any_leak(),
        2 => "[A-Za-z0-9+/_=-]{0,60}",
        1 => "[0-9a-f]{0,70}",
        1 => "[a-z]{1,8}[-_/]",
        1 => prop::sample::select(vec!["sha256:", "sha512-", "commit ", "0x", "\\n", "=", "==", " ", "@", "‹", "›"])
            .prop_map(str::to_owned),
    ];
    prop::collection::vec(part, 0..10).prop_map(|parts| parts.concat())
}

fn guessing() -> Redactor {
    redactor().with_entropy()
}

proptest! {
    #![proptest_config(cases(192))]

    #[test]
    fn a_text_without_long_runs_stays_byte_for_byte(text in any_short_runs()) {
        prop_assert_eq!(guessing().text(&text), text.as_str());
    }

    #[test]
    fn redacting_twice_is_redacting_once(text in any_runs()) {
        let once = guessing().text(&text).into_owned();
        prop_assert_eq!(guessing().text(&once), once.as_str());
        prop_assert_eq!(redactor().text(&once), once.as_str(), "entropy finds more, never less");
    }

    #[test]
    fn a_known_secret_keeps_its_kind(secret in any_secret(), before in any_text(), after in any_text()) {
        let text = format!("{before} {secret} {after}");
        prop_assert_eq!(guessing().text(&text), redactor().text(&text));
    }

    #[test]
    fn what_looks_random_is_one_pseudonym_everywhere(secret in any_random(), other in any_text()) {
        prop_assert_eq!(redactor().text(&secret), secret.as_str(), "off unless it is asked for");
        let alone = guessing().text(&secret).into_owned();
        prop_assert!(alone.starts_with("‹secret:entropy:") && alone.ends_with('›'), "{}", alone);
        let text = format!("{other} {secret} and KEY={secret}\n");
        prop_assert_eq!(guessing().text(&text).matches(&alone).count(), 2);
    }

    #[test]
    fn nothing_that_looks_random_comes_out_and_spans_cover(
        secret in any_random(), runs in any_runs(), bytes in prop::option::of(400..900_usize)
    ) {
        let mut recipe = recipe();
        recipe.redact = Level::Entropy;
        let text = format!("{runs}, {secret}\n{secret}\n");
        if let Some(composition) = composed(&recipe, &text, bytes) {
            prop_assert!(spans_cover(&composition));
            prop_assert!(!composition.manifest.redactions.is_empty());
            let open = format!(", {secret}");
            prop_assert!(!all_output(&composition).contains(&open));
        }
    }
}
