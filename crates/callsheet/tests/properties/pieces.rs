//! Recipes whose templates are put together from pieces at random: whatever stands in the fields, the structure is the one that plain
//! words have in them.

use callsheet::recipe::Folder;
use callsheet::{Inputs, Options, Recipe, compose};
use proptest::prelude::*;
use pulldown_cmark::{Event, Options as Markdown, Parser, Tag, TagEnd};
use serde_json::{Value, json};

use crate::cases;
use crate::templates::any_text;

/// Pieces of templates. `%n` is the number of the piece, `%v` one of two fields and `%w` the other one. Items of the recipe begin
/// with an `M`, and its tables with an `A`.
const PIECES: &[&str] = &[
    "## H%n {{ %v }}\n\n",
    "## H%n\n\n",
    "# {{ %v|title }}\n",
    "\nTitle%n {{ %v }}\n===\n\n",
    "\n{{ %v }}\n===\n\n",
    "\nS%n\n---\n\n",
    "{{ %v }}\n\n",
    "{{ %v }}\n",
    "{{ %v|trim }}\n",
    "{{ %v|upper }}\n\n",
    "{{ %v }} word\n",
    "Word {{ %v }}\n",
    "**B%n** {{ %v }}\n",
    "Text%n\n",
    "Text%n\n\n",
    "{{ %v }}{{ %w }}\n",
    "{{ %v ~ %w }}\n",
    "{{ %v|block }}\n\n",
    "{{ %v|line }} x\n",
    "{{ %v|json }}\n",
    "{{ %v|cap(9) }}\n\n",
    "{{ %v[1:] }}\n\n",
    "{{ %v|replace('x', %w) }}\n\n",
    "{{ %v|lines|join('\n') }}\n\n",
    "{{ %v|default('x') }}\n\n",
    "{{ l|join(', ') }}\n",
    "{{ l|join('\n') }}\n\n",
    "{% if %v %}{{ %v }}\n{% endif %}",
    "{% set k %}{{ %v }}\n- M%n\n{% endset %}{{ k }}\n",
    "{% for i in l %}\n- M%n {{ i }}\n{%- endfor %}\n\n",
    "- M%n\n",
    "- M%n {{ %v }}\n",
    "- M%n {{ %v|quote }}\n",
    "- M%n\n  {{ %v|indent(2) }}\n",
    "- M%n\n\n  {{ %v|indent(2) }}\n\n",
    "1. M%n {{ %v }}\n",
    "* M%n\n  * M%n {{ %v }}\n",
    "> Q%n {{ %v }}\n\n",
    "```\nC%n\n{{ %v }}\n```\n",
    "```{{ %v }}\nC%n\n```\n\n",
    "{{ %v|fence }}\n",
    "<tag%n a=\"{{ %v }}\">\n{{ %v }}\n</tag%n>\n\n",
    "<tag%n>{{ %v }}</tag%n>\n",
    "\n| A%n | B |\n|---|---|\n| {{ %v }} | {{ %w|line }} |\n\n",
    "{\"k\": \"{{ %v }}\"}\n\n",
];

/// What a reader of Markdown finds of the recipe's own.
#[derive(Debug, PartialEq)]
struct Structure {
    headings: Vec<u32>,
    /// Whether lists with an item of the recipe have no other.
    lists: bool,
    /// The cells of each table of the recipe.
    tables: Vec<usize>,
    tags: Vec<usize>,
}

fn structure(text: &str, pieces: usize) -> Structure {
    let (mut headings, mut lists, mut tables) = (Vec::new(), true, Vec::new());
    let (mut open, mut cells, mut first) = (Vec::<Vec<bool>>::new(), 0, None);
    for event in Parser::new_ext(text, Markdown::ENABLE_TABLES) {
        match event {
            Event::Start(Tag::Heading { level, .. }) => headings.push(level as u32),
            Event::Start(Tag::List(_)) => open.push(Vec::new()),
            Event::Start(Tag::Item) => open.last_mut().unwrap().push(false),
            Event::Start(Tag::Table(_)) => (cells, first) = (0, Some(String::new())),
            Event::Start(Tag::TableCell) => cells += 1,
            Event::Text(text) => {
                if let Some(first) = first.as_mut().filter(|_| cells == 1) {
                    first.push_str(&text);
                }
                let item = open.last_mut().and_then(|list| list.last_mut());
                if let Some(item) = item.filter(|item| !**item) {
                    *item = is_marked(&text, 'M');
                }
            }
            Event::End(TagEnd::List(_)) => {
                let items = open.pop().unwrap();
                lists &= !items.contains(&true) || items.iter().all(|item| *item);
            }
            Event::End(TagEnd::Table) if is_marked(&first.take().unwrap(), 'A') => {
                tables.push(cells);
            }
            _ => {}
        }
    }
    let tags = (0..pieces).flat_map(|nth| [format!("<tag{nth}"), format!("</tag{nth}>")]);
    let tags = tags.map(|tag| text.matches(&tag).count()).collect();
    Structure {
        headings,
        lists,
        tables,
        tags,
    }
}

fn is_marked(text: &str, sign: char) -> bool {
    let behind = text.strip_prefix(sign);
    behind.is_some_and(|behind| behind.starts_with(|c: char| c.is_ascii_digit()))
}

fn composed(template: &str, input: &Value) -> String {
    let toml = "[[layers]]\nname = \"a\"\ntemplate = \"t.md\"\nwhen = \"v is defined and w is defined and l is defined\"\n";
    let body = format!("---\nengine: jinja\n---\n{template}\nEND");
    let files = [("recipe.toml", toml), ("t.md", &body)];
    let folder: Folder = files
        .map(|(name, text)| (name.to_owned(), text.to_owned()))
        .into();
    let recipe = Recipe::parse("mine", "callsheet/recipes/mine", folder).unwrap();
    let composition = compose(&recipe, input, &Inputs::nowhere(), &Options::default());
    composition.unwrap().text
}

prop_compose! {
    fn any_template()(
        pieces in prop::collection::vec((prop::sample::select(PIECES), any::<bool>()), 1..7),
    ) -> (String, usize) {
        let filled = pieces.iter().enumerate().map(|(nth, (piece, turned))| {
            let (v, w) = if *turned { ("w", "v") } else { ("v", "w") };
            let piece = piece.replace("%n", &nth.to_string());
            piece.replace("%v", v).replace("%w", w)
        });
        (filled.collect(), pieces.len())
    }
}

proptest! {
    #![proptest_config(cases(1024))]

    #[test]
    fn values_change_nothing_about_a_template(
        (template, pieces) in any_template(),
        v in any_text(),
        w in any_text(),
        l in prop::collection::vec(any_text(), 2),
    ) {
        let plain = composed(&template, &json!({"v": "Word", "w": "Wort", "l": ["One", "Two"]}));
        let text = composed(&template, &json!({"v": v, "w": w, "l": l}));
        prop_assert_eq!(structure(&text, pieces), structure(&plain, pieces), "{}\n---\n{}", template, text);
    }
}
