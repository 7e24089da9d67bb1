//! What must hold for any bytes at all. The fuzz targets and the bounded property tests run the same functions.

mod draw;
mod frontmatter;
mod injection_tree;
mod plain_template;
mod project;
mod recipe_file;
mod recipe_words;
mod spans;

/// Reads bytes as a template file.
pub(crate) fn frontmatter(data: &[u8]) {
    frontmatter::run(data);
}

/// Reads bytes as the body of a plain template, and fills it.
pub(crate) fn plain_template(data: &[u8]) {
    plain_template::run(data);
}

/// Reads bytes as the files of a recipe, and composes it.
pub(crate) fn recipe_file(data: &[u8]) {
    recipe_file::run(data);
}

/// Reads bytes as a project and an input, and injects its files.
pub(crate) fn injection_tree(data: &[u8]) {
    injection_tree::run(data);
}
