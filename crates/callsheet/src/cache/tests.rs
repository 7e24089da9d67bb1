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
    assert!(plan.warnings.is_empty());
}

#[test]
fn layers_out_of_order_are_told_with_a_fix() {
    let layers = [ORDERED[3], ORDERED[0], ORDERED[2], ORDERED[1]];
    let input = json!({"who": "me", "where": "here", "what": "work", "now": "noon"});
    let plan = plan(&side(&layers, &input), None, None);
    let told: Vec<_> = plan
        .warnings
        .iter()
        .map(|warning| {
            (
                warning.layer.as_str(),
                warning.before.as_str(),
                warning.bytes,
            )
        })
        .collect();
    assert_eq!(told, [("now", "where", 10), ("what", "where", 4)]);
    assert_eq!(
        plan.warnings[0].fix,
        "move layer `now` behind layer `where`"
    );
    assert_eq!(plan.prefix.bytes, 0);
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
fn what_really_changed_is_told_too() {
    let layers = [("who", "constant"), ("what", "task"), ("how", "task")];
    let one = json!({"who": "me", "what": "work", "how": "slowly"});
    for (field, kind, before) in [
        ("what", WarningKind::Changed, "how"),
        ("who", WarningKind::Misdeclared, "how"),
    ] {
        let mut other = one.clone();
        other[field] = json!("another");
        let plan = plan(&side(&layers, &one), Some(&side(&layers, &other)), None);
        let [warning] = plan.warnings.as_slice() else {
            panic!("{field}: {:?}", plan.warnings);
        };
        assert_eq!(
            (
                warning.layer.as_str(),
                warning.kind,
                warning.before.as_str()
            ),
            (field, kind, before)
        );
    }
    let mut last = one.clone();
    last["how"] = json!("fast");
    let plan = plan(&side(&layers, &one), Some(&side(&layers, &last)), None);
    assert!(plan.warnings.is_empty());
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
        assert!(plan.sections.is_empty() && plan.warnings.is_empty());
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
