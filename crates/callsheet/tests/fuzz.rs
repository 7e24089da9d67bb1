//! A bounded run of the fuzz bodies: always the same cases, so that it says the same on every machine.
//!
//! Looking for new ones is the job of the targets in `fuzz/`.
#![expect(
    clippy::unwrap_used,
    reason = "the bodies are not test functions, and a panic is their verdict"
)]

mod fuzz_bodies;

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::test_runner::RngSeed;

/// As many cases as fit into a moment; `PROPTEST_CASES` asks for more and `PROPTEST_RNG_SEED` for others.
fn bounded(cases: u32) -> ProptestConfig {
    let asked = ProptestConfig::default();
    let unasked = std::env::var_os("PROPTEST_CASES").is_none();
    ProptestConfig {
        cases: if unasked { cases } else { asked.cases },
        rng_seed: match asked.rng_seed {
            RngSeed::Random => RngSeed::Fixed(0),
            fixed @ RngSeed::Fixed(_) => fixed,
        },
        failure_persistence: None,
        ..asked
    }
}

fn bytes(most: usize) -> impl Strategy<Value = Vec<u8>> {
    vec(any::<u8>(), 0..most)
}

proptest! {
    #![proptest_config(bounded(1000))]

    #[test]
    fn any_bytes_are_a_template_file(data in bytes(60)) {
        fuzz_bodies::frontmatter(&data);
    }

    #[test]
    fn any_text_is_a_plain_template(data in bytes(200)) {
        fuzz_bodies::plain_template(&data);
    }
}

proptest! {
    #![proptest_config(bounded(400))]

    #[test]
    fn any_files_are_a_recipe_or_an_error_with_its_place(data in bytes(120)) {
        fuzz_bodies::recipe_file(&data);
    }
}

proptest! {
    #![proptest_config(bounded(60))]

    #[test]
    fn any_project_is_injected_as_the_source_document_says(data in bytes(300)) {
        fuzz_bodies::injection_tree(&data);
    }
}
