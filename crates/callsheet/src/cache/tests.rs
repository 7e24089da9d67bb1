//! Plans of one prompt and of two, by table.

use serde_json::{Value, json};

use super::*;
use crate::recipe::Folder;
use crate::{Inputs, Options, Recipe, compose};

/// Composes a recipe whose layers print the input fields of their names.
fn composed(layers: &[(&str, &str)], input: &Value) -> Composition {
    let layers = layers.iter().map(|(name, volatility)| {
        format!("[[layers]]\nname = '{name}'\nvalue = '{name}'\nvolatility = '{volatility}'\n")
    });
    let toml = format!("separator = '|'\n{}", layers.collect::<String>());
    let folder = Folder::from([("recipe.toml".to_owned(), toml)]);
    let recipe = Recipe::parse("mine", "recipes/mine", folder).unwrap();
    compose(&recipe, input, &Inputs::nowhere(), &Options::default()).unwrap()
}

fn side(layers: &[(&str, &str)], input: &Value) -> Side {
    Side::from(&composed(layers, input))
}

const ORDERED: [(&str, &str); 4] = [
    ("who", "constant"),
    ("where", "project"),
    ("what", "task"),
    ("now", "turn"),
];

#[test]
fn one_prompt_is_planned_by_what_it_declares() {
    let input = json!({"who": "me", "where": "here", "what": "work", "now": "noon"});
    let composition = composed(&ORDERED, &input);
    assert_eq!(composition.text, "me|here|work|noon");
    let record = &composition.manifest.cache;
    assert_eq!(
        (
            record.stable_prefix_bytes,
            record.first_volatile_section.as_deref()
        ),
        (8, Some("what"))
    );
    assert!(record.out_of_order.is_empty());
    let plan = plan(&Side::from(&composition), None, None);
    assert_eq!(
        (plan.prefix.bytes, plan.b, plan.divergence),
        (8, None, None)
    );
    let kept: Vec<bool> = plan.sections.iter().map(|section| section.kept).collect();
    assert_eq!(kept, [true, true, false, false]);
    assert!(plan.advice.is_empty());
}

fn messages(plan: &CachePlan) -> Vec<&str> {
    let all = plan.advice.iter();
    all.map(|advice| advice.message.as_str()).collect()
}

#[test]
fn layers_of_an_own_recipe_out_of_order_are_told() {
    let layers = [ORDERED[3], ORDERED[0], ORDERED[2], ORDERED[1]];
    let input = json!({"who": "me", "where": "here", "what": "work", "now": "noon"});
    let mut one = side(&layers, &input);
    let told = plan(&one, None, None);
    assert_eq!(
        messages(&told),
        [
            "move layer `now` behind layer `where`: saves 10 bytes",
            "move layer `what` behind layer `where`: saves 4 bytes"
        ]
    );
    assert_eq!(told.prefix.bytes, 0);
    one.own = false;
    assert!(
        plan(&one, None, None).advice.is_empty(),
        "nobody can move the layers of a built-in recipe"
    );
}

#[test]
fn the_frame_of_a_volatile_section_is_not_stable() {
    let toml = "[frames.f]\nopen = '<{{path}}>'\nclose = '</>'\n[[layers]]\nname = 'a'\ntext = 'A'\nframe = 'f'\n[[layers]]\nname = 'b'\nvalue = 'b'\nframe = 'f'\n";
    let folder = Folder::from([("recipe.toml".to_owned(), toml.to_owned())]);
    let recipe = Recipe::parse("mine", "recipes/mine", folder).unwrap();
    let composition = compose(
        &recipe,
        &json!({"b": "B"}),
        &Inputs::nowhere(),
        &Options::default(),
    )
    .unwrap();
    let stable = composition.manifest.cache.stable_prefix_bytes;
    assert_eq!(&composition.text[..stable], "<a>A</>\n\n");
}

#[test]
fn two_prompts_part_where_an_input_changed() {
    let one = json!({"who": "me", "where": "here", "what": "work\nhard", "now": "noon"});
    for (field, other, byte, reason) in [
        ("what", json!("work\nfast"), 13, "`input:what` changed"),
        ("what", Value::Null, 8, "section `what` is only in A"),
        ("where", json!("hereabouts"), 7, "`input:where` changed"),
        ("now", json!("noon, or so"), 22, "`input:now` changed"),
    ] {
        let mut changed = one.clone();
        changed[field] = other;
        let plan = plan(&side(&ORDERED, &one), Some(&side(&ORDERED, &changed)), None);
        let divergence = plan.divergence.unwrap();
        assert_eq!(
            (divergence.byte, divergence.reason.as_str()),
            (byte, reason),
            "{field}"
        );
        assert_eq!(divergence.changed_sources, [format!("input:{field}")]);
    }
    let same = side(&ORDERED, &one);
    let plan = plan(&same, Some(&same), None);
    assert!(plan.divergence.is_none());
    assert_eq!(plan.prefix, plan.a);
}

#[test]
fn the_place_of_a_divergence_has_its_line() {
    let one = side(&ORDERED, &json!({"what": "one\ntwo\nthree"}));
    let other = side(&ORDERED, &json!({"what": "one\ntwo\nthird"}));
    let divergence = plan(&one, Some(&other), None).divergence.unwrap();
    let place = divergence.a.unwrap();
    assert_eq!((place.source.as_str(), place.line), ("input:what", Some(3)));
    assert_eq!(divergence.b.unwrap().line, Some(3));
}

#[test]
fn of_two_prompts_counts_what_really_changed() {
    let layers = [("who", "constant"), ("what", "task"), ("how", "task")];
    let one = json!({"who": "me", "what": "work", "how": "slowly"});
    for (field, told) in [
        (
            "who",
            vec!["move layer `who` behind layer `how`: saves 10 bytes"],
        ),
        (
            "what",
            vec!["move layer `what` behind layer `how`: saves 6 bytes"],
        ),
        ("how", vec![]),
    ] {
        let mut other = one.clone();
        other[field] = json!("another");
        let (one, other) = (side(&layers, &one), side(&layers, &other));
        assert_eq!(messages(&plan(&one, Some(&other), None)), told, "{field}");
    }
}

/// Composes the built-in recipe with a list of context blocks.
fn blocks(blocks: &[(&str, &str)], rules: &str) -> Side {
    let blocks = blocks.iter();
    let blocks: Vec<Value> = blocks
        .map(|(name, content)| json!({"name": name, "content": content}))
        .collect();
    let recipe = crate::recipe::built_in("layers").unwrap().unwrap();
    let input = json!({"rules": rules, "context": blocks});
    let empty = tempfile::tempdir().unwrap();
    let inputs = Inputs::new(crate::Root::open(empty.path()).unwrap());
    let composed = compose(recipe, &input, &inputs, &Options::default());
    Side::from(&composed.unwrap())
}

#[test]
fn blocks_of_the_input_can_be_moved() {
    let one = blocks(&[("a", "A"), ("b", "B"), ("c", "C"), ("d", "D")], "R");
    for (other, told) in [
        (
            vec![("a", "x"), ("b", "B"), ("c", "C"), ("d", "D")],
            vec!["move `a` behind `d` in `context`: saves 3 bytes"],
        ),
        (
            vec![("a", "x"), ("b", "B"), ("c", "y"), ("d", "D")],
            vec![
                "move `a` behind `d` in `context`: saves 1 byte",
                "move `c` behind `d` in `context`: saves 1 byte",
            ],
        ),
        (
            vec![("a", "x"), ("b", "y"), ("c", "C"), ("d", "D")],
            vec![
                "move `a` behind `d` in `context` and move `b` behind `d` in `context`: saves 2 bytes",
            ],
        ),
        (
            vec![("b", "B"), ("c", "C"), ("d", "D")],
            vec!["move `a` behind `d` in `context`: saves 3 bytes"],
        ),
        (vec![("a", "A"), ("b", "B"), ("c", "C"), ("d", "x")], vec![]),
    ] {
        let other = blocks(&other, "R");
        assert_eq!(messages(&plan(&one, Some(&other), None)), told);
    }
    let elsewhere = blocks(&[("a", "x"), ("b", "B")], "other rules");
    let told = plan(&one, Some(&elsewhere), None);
    assert!(told.advice.is_empty(), "what stands before differs, too");
}

#[test]
fn times_in_values_are_told() {
    let at = |time: &str| blocks(&[("a", "A")], &format!("Now: {time}."));
    let (one, other) = (at("2026-11-16 10:00"), at("2026-11-16 10:01"));
    assert_eq!(
        messages(&plan(&one, Some(&other), None)),
        ["take the time out of `input:rules`: saves 23 bytes"]
    );
    assert_eq!(
        messages(&plan(
            &blocks(&[("now", "at 2026-11-16 10:00"), ("a", "AA")], "R"),
            None,
            None
        )),
        ["take the time out of `input:context[0].content`: saves 2 bytes"]
    );
    let last = blocks(&[("a", "A"), ("now", "at 2026-11-16 10:00")], "R");
    assert!(plan(&last, None, None).advice.is_empty());
}

proptest::proptest! {
    #[test]
    fn advice_saves_what_it_says(changed in proptest::collection::vec(proptest::bool::ANY, 1..7)) {
        let names: Vec<String> = (0..changed.len()).map(|at| format!("block-{at}")).collect();
        let made = |new: bool| {
            let texts = names.iter().zip(&changed).map(|(name, &changes)| {
                (name.as_str(), if changes && new { "new" } else { name.as_str() })
            });
            texts.collect::<Vec<_>>()
        };
        let (one, other) = (made(false), made(true));
        let told = plan(&blocks(&one, "R"), Some(&blocks(&other, "R")), None);
        let saved: usize = told.advice.iter().map(|advice| advice.saves.bytes).sum();
        let behind = |list: &[(&str, &str)]| {
            let mut list: Vec<(String, String)> =
                list.iter().map(|(a, b)| ((*a).to_owned(), (*b).to_owned())).collect();
            for step in told.advice.iter().flat_map(|advice| &advice.steps) {
                let Step::MoveItem { item, behind, .. } = step else { continue };
                let from = list.iter().position(|(name, _)| name == item).unwrap();
                let moved = list.remove(from);
                let to = list.iter().position(|(name, _)| name == behind).unwrap();
                list.insert(to + 1, moved);
            }
            list
        };
        let (one, other) = (behind(&one), behind(&other));
        let kept = one.iter().zip(&other).take_while(|(a, b)| a == b).count();
        let unchanged = changed.iter().filter(|&&changes| !changes).count();
        proptest::prop_assert_eq!(kept, unchanged, "all that did not change stands first");
        let first = changed.iter().position(|&changes| changes).unwrap_or(changed.len());
        let after: usize = (first..changed.len()).filter(|&at| !changed[at]).map(|at| names[at].len()).sum();
        proptest::prop_assert_eq!(saved, after);
    }
}

#[test]
fn plain_texts_have_a_prefix_and_nothing_else() {
    for (one, other, bytes, reason) in [
        (
            "ab",
            "ac",
            1,
            "the texts differ; their origins are not known",
        ),
        (
            "aé",
            "aè",
            1,
            "the texts differ; their origins are not known",
        ),
        ("ab", "abc", 2, "B goes on where A ends"),
        ("abc", "ab", 2, "A goes on where B ends"),
    ] {
        let plan = plan(&Side::plain(one), Some(&Side::plain(other)), None);
        assert_eq!(plan.prefix.bytes, bytes, "{one} {other}");
        assert_eq!(plan.divergence.unwrap().reason, reason);
        assert!(plan.sections.is_empty() && plan.advice.is_empty());
    }
}

#[test]
fn a_document_with_wrong_places_is_no_side() {
    let section = |end: usize| json!({"layer": "a", "name": "a", "start": 0, "end": end, "volatility": "task"});
    let document = |end| json!({"schema": "callsheet.composition/1", "text": "äb", "sections": [section(end)]});
    assert!(Side::from_document(&document(2)).is_some());
    for wrong in [1, 9] {
        assert!(Side::from_document(&document(wrong)).is_none());
    }
    assert!(Side::from_document(&json!({"text": "a"})).is_none());
}
