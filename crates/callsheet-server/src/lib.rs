//! The dashboard: pages, an HTTP interface and live events over the store of a project.
//!
//! Everything that is shown comes from the store and from the project as it is now, so that what a shell started looks the
//! same as what a browser started. What changes something runs this program with the arguments that a person would type:
//! there is one way to do each thing, and no endpoint takes a command.

mod access;
mod answer;
mod api;
mod assets;
mod error;
mod extract;
mod instance;
mod live;
mod once;
mod pages;
mod program;
mod serve;
mod server;
mod settings_file;
mod site;
mod view;

pub use access::{Access, Token};
pub use error::ServeError;
pub use instance::{Instance, Running};
pub use serve::{Options, Serving, serve};
pub use site::{CheckSettings, ReadSettings, ServeSettings, Site, SiteSettings, Warn};
