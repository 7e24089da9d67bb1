//! Composes the exact prompt that a coding agent gets, and explains every byte of it.
//!
//! # The flow
//!
//! ```text
//! input ─► recipe ─► sources ─► sections ─► budget ─► prompt ─► text + manifest + source map
//! ```
//!
//! A [`Recipe`] is data: layers in order, each filled from one [`source`]. [`compose`] checks an input against the
//! recipe's [`Schema`], asks the sources for [`Section`]s, makes them fit a [`Budget`] and renders them. The result, a
//! [`Composition`], has the exact text, a [`Manifest`] of every section and every [`Omission`], a [`SourceMap`] that
//! covers each byte, and [`Event`]s that a person should hear of.
//!
//! The same recipe and the same inputs give the same bytes. Nothing here touches clock, environment, home folder or
//! terminal, and files are read only below the [`Root`] that [`Inputs`] holds.
//!
//! # A built-in recipe over a folder
//!
//! Six recipes come along: `injection`, `layers`, `messages`, `pack`, `review` and `run`, by name from
//! [`recipe::built_in`]. This one packs a folder:
//!
//! ```
//! use callsheet::{Inputs, Options, Root, compose, recipe};
//! use serde_json::json;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let folder = tempfile::tempdir()?;
//! std::fs::write(folder.path().join("hello.txt"), "Hello.")?;
//! std::fs::write(folder.path().join("Cargo.lock"), "# a lock file")?;
//!
//! let pack = recipe::built_in("pack").ok_or("there is one")??;
//! let inputs = Inputs::new(Root::open(folder.path())?);
//! let composition = compose(pack, &json!({}), &inputs, &Options::default())?;
//!
//! assert_eq!(
//!     composition.text,
//!     "<tree>\nhello.txt\n</tree>\n<file path=\"hello.txt\">\nHello.\n</file>\n"
//! );
//! let left_out = &composition.manifest.omissions[0];
//! assert_eq!(left_out.sentence(), "`Cargo.lock` is left out by the recipe");
//! # Ok(())
//! # }
//! ```
//!
//! # A recipe of one's own
//!
//! [`Recipe::parse`] takes the files of a recipe folder as texts. A recipe that reads no files needs no root. With a
//! [`Budget`], sections with a priority give way, each with an omission:
//!
//! ```
//! use callsheet::recipe::Folder;
//! use callsheet::{Budget, Inputs, Options, Recipe, compose};
//! use serde_json::json;
//!
//! let toml = r#"
//!     [[layers]]
//!     name = "task"
//!     template = "task.md"
//!
//!     [[layers]]
//!     name = "notes"
//!     value = "notes"
//!     priority = 10
//! "#;
//! let folder = Folder::from([
//!     ("recipe.toml".to_owned(), toml.to_owned()),
//!     ("task.md".to_owned(), "Fix {{what}}.".to_owned()),
//! ]);
//! let recipe = Recipe::parse("fix", "callsheet/recipes/fix", folder)?;
//! let input = json!({"what": "the login", "notes": "It worked on Monday."});
//!
//! let whole = compose(&recipe, &input, &Inputs::nowhere(), &Options::default())?;
//! assert_eq!(whole.text, "Fix the login.\n\nIt worked on Monday.");
//!
//! let budget = Budget { bytes: Some(20), tokens: None };
//! let options = Options { budget, ..Options::default() };
//! let small = compose(&recipe, &input, &Inputs::nowhere(), &options)?;
//! assert_eq!(small.text, "Fix the login.");
//! assert_eq!(small.manifest.losses().count(), 1);
//! # Ok::<(), callsheet::Error>(())
//! ```
//!
//! # Where a byte came from
//!
//! [`SourceMap::at`] finds the span that holds a byte; spans cover the text without gaps:
//!
//! ```
//! # use callsheet::recipe::Folder;
//! # use callsheet::{Inputs, Options, Recipe, compose};
//! # use serde_json::json;
//! # let toml = "[[layers]]\nname = \"task\"\ntemplate = \"task.md\"\n";
//! # let folder = Folder::from([
//! #     ("recipe.toml".to_owned(), toml.to_owned()),
//! #     ("task.md".to_owned(), "Read this.\nFix {{what}}.".to_owned()),
//! # ]);
//! # let recipe = Recipe::parse("fix", "callsheet/recipes/fix", folder)?;
//! // The recipe has one layer, `task`, with the template "Read this.\nFix {{what}}."
//! let input = json!({"what": "the login"});
//! let composition = compose(&recipe, &input, &Inputs::nowhere(), &Options::default())?;
//!
//! let fix = composition.text.find("Fix").unwrap();
//! let span = composition.source_map.at(fix).unwrap();
//! assert_eq!((span.layer.as_str(), span.source.as_str()), ("task", "template:task.md"));
//! assert_eq!(span.line_at(&composition.text, fix), Some(2));
//!
//! let value = composition.text.find("login").unwrap();
//! assert_eq!(composition.source_map.at(value).unwrap().source, "input:what");
//!
//! let spans = &composition.source_map.spans;
//! let joined: String = spans.iter().map(|span| &composition.text[span.start..span.end]).collect();
//! assert_eq!(joined, composition.text);
//! # Ok::<(), callsheet::Error>(())
//! ```
//!
//! # Further
//!
//! - [`PromptBuilder`] collects the layers of the recipe `layers` call by call.
//! - [`source::Source`] is the one trait to implement for a source of one's own; layers call it by name.
//! - [`observe::Observer`] answers what layers ask about a repository; the library itself starts no process.
//! - [`template`] has the two template languages, [`redact`] takes secrets out of a prompt.
//! - [`seal`] keeps everything that makes a prompt again, and proves it.
//! - [`Error`] has a kind for code, a sentence for people and a place for both.
//!
//! What is documented here is what a program needs. The other public modules serve the crates of this workspace, which know
//! tasks, sprints, agents and settings; they are hidden, and change with them.

mod builder;
mod compose;
mod error;
mod event;
mod fingerprint;
pub mod inputs;
pub mod manifest;
pub mod observe;
pub mod omission;
mod outside;
mod policy;
mod prepare;
pub mod recipe;
pub mod redact;
mod schema;
pub mod seal;
mod section;
pub mod source;
pub mod source_map;
pub mod template;
pub mod tokens;
pub mod trace;

#[doc(hidden)]
pub mod blocks;
#[doc(hidden)]
pub mod cache;
#[doc(hidden)]
pub mod case;
#[doc(hidden)]
pub mod check;
#[doc(hidden)]
pub mod document;
#[doc(hidden)]
pub mod freetext;
#[doc(hidden)]
pub mod mounts;
#[doc(hidden)]
pub mod package;
#[doc(hidden)]
pub mod profile;
#[doc(hidden)]
pub mod reading;
#[doc(hidden)]
pub mod scope;
#[doc(hidden)]
pub mod settings;
#[doc(hidden)]
pub mod sprint;
#[doc(hidden)]
pub mod state;
#[doc(hidden)]
pub mod story;
#[doc(hidden)]
pub mod task;
#[doc(hidden)]
pub mod text;
#[doc(hidden)]
pub mod workflow;

pub use builder::{MemorySource, PromptBuilder, RuleSource, Stored};
pub use compose::{Budget, Composition, Draft, Inputs, Message, Options, Prompt, compose, draft};
pub use error::{Error, ErrorKind, Place};
pub use event::Event;
pub use fingerprint::Fingerprint;
pub use inputs::Root;
pub use manifest::Manifest;
pub use omission::{Omission, Reason};
pub use prepare::{FileMemory, ProjectContext, TEMPLATES, packaged};
pub use recipe::Recipe;
pub use schema::{Misfit, Schema};
pub use seal::Seal;
pub use section::{Priority, Role, Section, Trust, Volatility};
pub use source_map::SourceMap;
