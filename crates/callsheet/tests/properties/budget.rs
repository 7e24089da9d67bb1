//! What holds under every budget: it is kept or an error, every lost byte is recorded, priorities are respected.

use std::cmp::Reverse;
use std::fmt::Write as _;

use callsheet::{
    Budget, Composition, Error, ErrorKind, Inputs, Omission, Options, Reason, Recipe, compose,
    tokens,
};
use proptest::prelude::*;
use proptest::test_runner::TestCaseResult;
use serde_json::{Map, Value, json};

use crate::cases;
use crate::project::{Project, any_text};

/// What stands where a section was cut; it occurs in no body.
const MARKER: &str = "[CUT {{bytes}}]";

/// A layer of a random recipe, with the text that the input gives it.
#[derive(Clone, Debug)]
struct Part {
    body: String,
    priority: Option<u32>,
    cut: bool,
    framed: bool,
}

fn any_part() -> impl Strategy<Value = Part> {
    let line = "[a-zé ]{0,12}\n?";
    let body = prop::collection::vec(line, 0..8).prop_map(|lines| format!("x{}", lines.concat()));
    let priority = prop_oneof![1 => Just(None), 3 => (0..4_u32).prop_map(Some)];
    (body, priority, any::<bool>(), any::<bool>()).prop_map(|(body, priority, cut, framed)| Part {
        body,
        priority,
        cut,
        framed,
    })
}

fn any_prompt() -> impl Strategy<Value = (Vec<Part>, &'static str)> {
    let separator = prop_oneof![Just(""), Just("\\n\\n---\\n\\n")];
    (prop::collection::vec(any_part(), 0..7), separator)
}

/// Composes only the parts that `wanted` picks.
fn composed(
    parts: &[Part],
    separator: &str,
    budget: Budget,
    wanted: impl Fn(usize, &Part) -> bool,
) -> Result<Composition, Error> {
    let mut toml = format!(
        "separator = \"{separator}\"\nmarker = \"{MARKER}\"\nframe = \"all\"\n[frames.all]\nopen = \"<<\"\nclose = \">>\"\nseparator = \"{separator}\"\n"
    );
    let mut input = Map::new();
    for (at, part) in parts.iter().enumerate() {
        let priority = part
            .priority
            .map_or("'required'".to_owned(), |number| number.to_string());
        let (cut, frame) = (
            part.cut,
            if part.framed {
                "frame = 'markdown'\n"
            } else {
                ""
            },
        );
        write!(toml, "[[layers]]\nname = 'l{at}'\nvalue = 'v{at}'\npriority = {priority}\ncut = {cut}\n{frame}").unwrap();
        if wanted(at, part) {
            input.insert(format!("v{at}"), part.body.clone().into());
        }
    }
    if parts.is_empty() {
        toml.push_str("[[layers]]\nname = 'none'\nvalue = 'none'\n");
    }
    let folder = [("recipe.toml".to_owned(), toml)];
    let recipe = Recipe::parse("mine", "recipes/mine", folder.into()).unwrap();
    let options = Options {
        budget,
        ..Options::default()
    };
    compose(&recipe, &Value::Object(input), &Inputs::nowhere(), &options)
}

/// What became of a part.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Fate {
    Kept,
    Cut,
    Dropped,
}

/// Checks that what is kept and what is recorded as lost make up the body, and returns what became of it.
fn fate(at: usize, part: &Part, composition: &Composition) -> Result<Fate, TestCaseError> {
    let name = format!("l{at}");
    let section = composition
        .manifest
        .sections
        .iter()
        .find(|section| section.layer == name);
    let lost: Vec<&Omission> = composition
        .manifest
        .omissions
        .iter()
        .filter(|lost| lost.layer == name)
        .collect();
    prop_assert!(lost.len() <= 1 && lost.iter().all(|lost| lost.reason == Reason::OverBudget));
    let gone = lost
        .first()
        .map_or(0, |lost| usize::try_from(lost.bytes).unwrap());
    let Some(section) = section else {
        prop_assert_eq!(gone, part.body.len());
        return Ok(Fate::Dropped);
    };
    let kept = &part.body[..part.body.len() - gone];
    let marker = match gone {
        0 => String::new(),
        _ => MARKER.replace("{{bytes}}", &gone.to_string()),
    };
    let body = &composition.text[section.start..section.end];
    prop_assert_eq!(body, format!("{kept}{marker}"));
    prop_assert!(gone == 0 || kept.ends_with('\n'), "cut within a line");
    Ok(if gone == 0 { Fate::Kept } else { Fate::Cut })
}

fn assert_nothing_is_lost(parts: &[Part], composition: &Composition) -> TestCaseResult {
    let mut given_way = Vec::new();
    let mut stayed = Vec::new();
    let mut cut = Vec::new();
    for (at, part) in parts.iter().enumerate() {
        let fate = fate(at, part, composition)?;
        let Some(priority) = part.priority else {
            prop_assert_eq!(fate, Fate::Kept, "required text is never touched");
            continue;
        };
        match fate {
            Fate::Kept => stayed.push((priority, Reverse(at))),
            Fate::Dropped => given_way.push((priority, Reverse(at))),
            Fate::Cut => {
                prop_assert!(part.cut);
                cut.push((priority, Reverse(at)));
            }
        }
    }
    prop_assert!(cut.len() <= 1);
    let order = [given_way.iter().max(), cut.first(), stayed.iter().min()];
    let order: Vec<_> = order.into_iter().flatten().collect();
    prop_assert!(order.is_sorted(), "{order:?}");
    Ok(())
}

proptest! {
    #![proptest_config(cases(320))]

    #[test]
    fn a_budget_of_bytes_is_kept_and_every_loss_recorded((parts, separator) in any_prompt(), share in 0..130_usize) {
        let whole = composed(&parts, separator, Budget::default(), |_, _| true).unwrap();
        let most = whole.text.len() * share / 100;
        let budget = Budget { bytes: Some(most), tokens: None };
        match composed(&parts, separator, budget, |_, _| true) {
            Ok(composition) => {
                prop_assert!(composition.text.len() <= most);
                assert_nothing_is_lost(&parts, &composition)?;
                if whole.text.len() <= most {
                    prop_assert_eq!(composition.text, whole.text);
                }
            }
            Err(error) => {
                prop_assert_eq!(error.kind(), ErrorKind::OverBudget);
                let required = composed(&parts, separator, Budget::default(), |_, part| part.priority.is_none()).unwrap();
                let size = required.text.len();
                prop_assert!(size > most);
                prop_assert_eq!(error.to_string(), format!("the required text alone has {size} bytes, the budget is {most}"));
            }
        }
    }

    #[test]
    fn no_more_gives_way_than_must((parts, separator) in any_prompt(), share in 0..100_usize) {
        let whole = composed(&parts, separator, Budget::default(), |_, _| true).unwrap();
        let most = whole.text.len() * share / 100;
        let budget = Budget { bytes: Some(most), tokens: None };
        if let Ok(composition) = composed(&parts, separator, budget, |_, _| true)
            && let Some(last) = composition.manifest.omissions.last()
        {
            let lost = |at: usize| composition.manifest.omissions.iter().any(|lost| lost.layer == format!("l{at}"));
            let with_last = composed(&parts, separator, Budget::default(), |at, _| !lost(at) || last.layer == format!("l{at}")).unwrap();
            prop_assert!(with_last.text.len() > most, "`{}` would have fitted", last.layer);
        }
    }
}

proptest! {
    #![proptest_config(cases(24))]

    #[test]
    fn a_budget_of_tokens_is_kept_and_every_loss_recorded((parts, separator) in any_prompt(), share in 0..130_usize) {
        let whole = composed(&parts, separator, Budget::default(), |_, _| true).unwrap();
        let size = tokens::count(tokens::Encoding::O200k, &whole.text);
        let most = size * share / 100;
        let budget = Budget { bytes: None, tokens: Some(most) };
        match composed(&parts, separator, budget, |_, _| true) {
            Ok(composition) => {
                prop_assert!(composition.manifest.tokens.unwrap() <= most);
                prop_assert_eq!(composition.manifest.tokens.unwrap(), tokens::count(tokens::Encoding::O200k, &composition.text));
                assert_nothing_is_lost(&parts, &composition)?;
                if size <= most {
                    prop_assert_eq!(composition.text, whole.text);
                }
            }
            Err(error) => {
                prop_assert_eq!(error.kind(), ErrorKind::OverBudget);
                let required = composed(&parts, separator, Budget::default(), |_, part| part.priority.is_none()).unwrap();
                prop_assert!(tokens::count(tokens::Encoding::O200k, &required.text) > most);
            }
        }
    }
}

fn packed(project: &Project, format: &str, budget: Budget) -> Result<Composition, Error> {
    let recipe = callsheet::recipe::built_in("pack").unwrap()?;
    let inputs = Inputs::new(callsheet::Root::open(project.root())?);
    let options = Options {
        budget,
        ..Options::default()
    };
    compose(recipe, &json!({"format": format}), &inputs, &options)
}

#[test]
fn a_pack_fits_every_single_budget() {
    let files = ["a.md", "b.md", "c.md"].map(|name| (name.to_owned(), "a\nb\n".to_owned()));
    let project = Project::new(&files);
    for format in ["xml", "markdown", "json"] {
        let whole = packed(&project, format, Budget::default())
            .unwrap()
            .text
            .len();
        let mut reached = 0;
        for most in 0..=whole {
            let budget = Budget {
                bytes: Some(most),
                tokens: None,
            };
            match packed(&project, format, budget) {
                Ok(composition) => {
                    assert!(composition.text.len() <= most, "{format} {most}");
                    reached = reached.max(composition.text.len());
                }
                Err(error) => assert_eq!(error.kind(), ErrorKind::OverBudget),
            }
        }
        assert_eq!(reached, whole, "{format}");
    }
}

fn any_files() -> impl Strategy<Value = Vec<(String, String)>> {
    let files = prop::collection::btree_map("[ab]{1,2}/[abc]{1,2}\\.md", any_text(), 0..6);
    files.prop_map(|files| files.into_iter().collect())
}

proptest! {
    #![proptest_config(cases(48))]

    #[test]
    fn a_pack_fits_its_budget_in_every_format(files in any_files(), at in 0..3_usize, share in 0..110_usize) {
        let project = Project::new(&files);
        let format = ["xml", "markdown", "json"][at];
        let most = packed(&project, format, Budget::default()).unwrap().text.len() * share / 100;
        let Ok(composition) = packed(&project, format, Budget { bytes: Some(most), tokens: None }) else {
            return Ok(());
        };
        prop_assert!(composition.text.len() <= most);
        if format == "json" {
            prop_assert!(serde_json::from_str::<Value>(&composition.text).is_ok(), "{}", composition.text);
        }
        for (path, text) in &files {
            let whole = text.replace("\r\n", "\n").replace('\r', "\n");
            let lost = composition.manifest.omissions.iter().find(|lost| lost.name == *path);
            let gone = lost.map_or(0, |lost| usize::try_from(lost.bytes).unwrap());
            let section = composition.manifest.sections.iter().find(|section| section.name == *path);
            let printed = section.map_or("", |section| &composition.text[section.start..section.end]);
            let body = if format == "json" {
                serde_json::from_str(&format!("\"{printed}\"")).unwrap()
            } else {
                printed.to_owned()
            };
            prop_assert!(lost.is_some() || section.is_some(), "`{path}` is nowhere");
            prop_assert!(body.starts_with(&whole[..whole.len() - gone]));
            prop_assert!(gone > 0 || body == whole);
        }
    }
}
