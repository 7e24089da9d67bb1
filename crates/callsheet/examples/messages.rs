//! A prompt as a list of messages, and what people read of it.
//!
//! `cargo run -p callsheet --example messages` prints the messages one by one.

use std::error::Error;
use std::io::Write as _;

use callsheet::recipe::Folder;
use callsheet::{Inputs, Options, Recipe, compose};
use serde_json::json;

/// Two messages: the rules with the context in one, the question in the other.
const RECIPE: &str = r#"
shape = "messages"

[messages.context]
frame = "context"

[frames.context]
separator = "\n"

[[layers]]
name = "rules"
text = "You answer in one sentence."
message = "context"

[[layers]]
name = "branch"
text = "The branch is {{branch}}."
message = "context"

[[layers]]
name = "question"
value = "question"
role = "user"
"#;

fn main() -> Result<(), Box<dyn Error>> {
    std::io::stdout().write_all(run()?.as_bytes())?;
    Ok(())
}

/// Composes the messages and returns what there is to see.
pub(crate) fn run() -> Result<String, Box<dyn Error>> {
    let folder = Folder::from([("recipe.toml".to_owned(), RECIPE.to_owned())]);
    let recipe = Recipe::parse("ask", "recipes/ask", folder)?;
    let input = json!({"branch": "main", "question": "What does \"merge\" do?"});
    let composition = compose(&recipe, &input, &Inputs::nowhere(), &Options::default())?;

    // The exact bytes are the list as compact JSON, which is what a provider is sent.
    let mut out = format!("{}\n", composition.text);
    for message in composition.messages() {
        out.push_str(&format!("{}: {}\n", message.role.name(), message.content));
    }
    Ok(out)
}
