//! The program as a user meets it: arguments and files in; exit code, stdout and stderr out.

mod determinism;
mod diff;
mod fields;
mod files;
mod help;
mod hostile;
mod injection;
mod json;
mod layers;
mod limits;
mod links;
mod malformed;
mod pack;
mod permissions;
mod project;
mod recipe_errors;
mod recipe_templates;
mod recipes;
mod roots;
mod settings;
mod start;
mod streams;
mod templates;
mod usage;
mod vars;
mod why;
