//! The index offers every text that has what is looked for: whatever is asked for, the text has a term of each list.

use proptest::prelude::*;

use super::super::words::Query;
use super::*;

/// Texts of few letters, so that words repeat, with letters that become two in lower case and all kinds of separators.
const TEXT: &str = "([a-cA-Cxé]{1,6}|İ|ß|Σ|[ _.\\n,-]{1,2}){0,40}";

fn some_of(lists: &[Vec<u32>], terms: &[u32]) -> bool {
    let has = |list: &Vec<u32>| list.iter().any(|term| terms.contains(term));
    lists.iter().all(has)
}

proptest! {
    #[test]
    fn a_text_has_the_terms_of_each_substring(text in TEXT, from in any::<prop::sample::Index>(), length in 1_usize..40) {
        let chars: Vec<char> = text.chars().collect();
        prop_assume!(!chars.is_empty());
        let from = from.index(chars.len());
        let substring: String = chars[from..].iter().take(length).collect();
        for is_ranked in [false, true] {
            let terms = terms(1, &text, is_ranked);
            prop_assert!(some_of(&of_substring(1, &substring), &terms), "{substring:?} in {text:?}");
        }
    }

    #[test]
    fn a_text_has_the_terms_of_a_phrase_in_its_tier(text in TEXT, from in any::<prop::sample::Index>(), length in 1_usize..20, most in 1_usize..7) {
        let chars: Vec<char> = text.chars().collect();
        prop_assume!(!chars.is_empty());
        let from = from.index(chars.len());
        let part: String = chars[from..].iter().take(length).collect();
        let (Some(query), spaced) = (Query::parse(&part), spaced(&text)) else {
            return Ok(());
        };
        let terms = terms(1, &text, true);
        for phrase in query.phrases {
            let count = spaced.matches(&phrase).count();
            let lowest = tier(count, spaced.matches(' ').count());
            // What begins within a word is not a phrase of the text.
            if count > 0 {
                prop_assert!(some_of(&of_phrase(1, &phrase, lowest, most), &terms), "{phrase:?} in {text:?}");
            }
        }
    }
}

#[test]
fn words_side_by_side_have_a_term_that_words_apart_lack() {
    let asked = of_substring(1, "login page");
    assert!(some_of(&asked, &terms(1, "The login page.", true)));
    assert!(some_of(
        &asked,
        &terms(1, "the login\tpage and the login page", true)
    ));
    let apart = "The page; a login. e pa, n pag, in p, gin a page";
    assert!(
        some_of(&asked[1..], &terms(1, apart, true)),
        "their trigrams are there"
    );
    assert!(!some_of(&asked, &terms(1, apart, true)));
    assert!(
        !some_of(&asked, &terms(2, "The login page.", true)),
        "of another project"
    );
}
