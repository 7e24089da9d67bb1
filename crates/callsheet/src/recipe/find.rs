//! Recipes by name: those of a project first, then the ones that come with the library.

use std::collections::BTreeSet;

use super::{RECIPE_FILE, Recipe, SAMPLE_FILE, built_in, built_in_names};
use crate::inputs::{Globs, Root, read_folder};
use crate::omission::Refusal;
use crate::{Error, ErrorKind};

/// The folder of a project's own recipes.
pub const RECIPES: &str = "callsheet/recipes";

/// A recipe, and where it is from.
#[derive(Debug)]
pub enum Found {
    /// It comes with the library.
    BuiltIn(&'static Recipe),
    /// It is one of the project.
    Own(Box<Recipe>),
}

impl Found {
    /// Returns the recipe.
    pub fn recipe(&self) -> &Recipe {
        match self {
            Self::BuiltIn(recipe) => recipe,
            Self::Own(recipe) => recipe,
        }
    }

    /// Tells whether it stands in the place of one that comes with the library.
    pub fn is_shadow(&self) -> bool {
        matches!(self, Self::Own(recipe) if built_in(&recipe.name).is_some())
    }

    /// Returns the words for where it is from.
    pub fn home(&self) -> &str {
        match self {
            Self::BuiltIn(_) => "built in",
            Self::Own(recipe) => &recipe.home,
        }
    }
}

/// Tells whether a recipe can have a name: a word, or two with one `/` between them.
///
/// ```
/// use callsheet::recipe::is_name;
///
/// assert!(is_name("review") && is_name("sprint/dev-story"));
/// assert!(!["", "/a", "a/", "a//b", "a/b/c", "a/..", "..", "a\\b"].into_iter().any(is_name));
/// ```
pub fn is_name(name: &str) -> bool {
    let is_word = |word: &str| {
        !matches!(word, "" | "." | "..") && !word.contains('\\') && !word.contains(char::is_control)
    };
    name.split('/').count() <= 2 && name.split('/').all(is_word)
}

/// Finds a recipe: one of the project where a folder has its name, else one that comes with the library.
pub fn find(name: &str, root: Option<&Root>) -> Result<Found, Error> {
    // One that cannot be read is told of, and not passed over for one that comes along.
    if let Some(root) = root.filter(|root| is_own(name, root)) {
        return Ok(Found::Own(Box::new(read(name, root)?)));
    }
    match built_in(name) {
        Some(recipe) => Ok(Found::BuiltIn(recipe?)),
        None => Err(unknown(name, root)?),
    }
}

/// Refuses a name under which no recipe would be found.
pub fn known(name: &str, root: Option<&Root>) -> Result<(), Error> {
    if built_in(name).is_some() || root.is_some_and(|root| is_own(name, root)) {
        return Ok(());
    }
    Err(unknown(name, root)?)
}

/// Tells whether a project has a recipe of its own of this name, readable or not.
pub fn is_own(name: &str, root: &Root) -> bool {
    let home = format!("{RECIPES}/{name}");
    is_name(name) && (root.has_folder(&home) || root.has(&format!("{home}/{RECIPE_FILE}")))
}

/// Reads one of a project's own recipes.
pub fn read(name: &str, root: &Root) -> Result<Recipe, Error> {
    let home = format!("{RECIPES}/{name}");
    let folder = read_folder(root, &home, |name| name != SAMPLE_FILE);
    let folder = folder.map_err(|(path, refusal)| bad(path, &refusal))?;
    Recipe::parse(name, &home, folder)
}

fn bad(path: String, refusal: &Refusal) -> Error {
    Error::new(ErrorKind::BadRecipe, refusal.to_string()).at(path, None)
}

/// Makes the error of a name that nothing has, with the names that would have been found.
fn unknown(name: &str, root: Option<&Root>) -> Result<Error, Error> {
    let mut names: BTreeSet<String> = built_in_names().map(str::to_owned).collect();
    if let Some(root) = root {
        let depths = ["*", "*/*"].map(|name| format!("{RECIPES}/{name}/{RECIPE_FILE}"));
        let files = root.walk(&Globs::new(depths)?, true).files;
        let own = files.iter().filter_map(|path| {
            let name = path.strip_prefix(RECIPES)?.strip_suffix(RECIPE_FILE)?;
            Some(name.trim_matches('/'))
        });
        names.extend(own.map(str::to_owned));
    }
    Ok(Error::unknown("recipe", name, names))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    const TOML: &str = "[[layers]]\nname = \"task\"\ntext = \"Go.\"\n";

    #[test]
    fn the_project_wins_and_names_are_known() {
        let place = tempfile::tempdir().unwrap();
        for name in ["mine", "mine/sub", "pack", "deep/er"] {
            let folder = place.path().join(RECIPES).join(name);
            fs::create_dir_all(&folder).unwrap();
            fs::write(folder.join(RECIPE_FILE), TOML).unwrap();
        }
        fs::create_dir_all(place.path().join(RECIPES).join("half")).unwrap();
        fs::write(place.path().join(RECIPES).join("run"), "no folder").unwrap();
        let root = Root::open(place.path()).unwrap();
        let root = Some(&root);
        assert!(matches!(find("mine", root), Ok(Found::Own(_))));
        assert!(matches!(find("mine/sub", root), Ok(Found::Own(_))));
        assert!(matches!(find("deep/er", root), Ok(Found::Own(_))));
        assert!(matches!(find("pack", root), Ok(Found::Own(_))));
        assert!(matches!(find("pack", None), Ok(Found::BuiltIn(_))));
        assert_eq!(find("run", root).unwrap().recipe().name, "run");
        let error = find("min", root).unwrap_err();
        assert_eq!(error.to_string(), "no recipe named `min`");
        let mut known: Vec<&str> = built_in_names().collect();
        known.extend(["deep/er", "mine", "mine/sub"]);
        known.sort_unstable();
        assert_eq!(error.allowed(), known);
        for name in [
            "",
            ".",
            "..",
            "../recipes/mine",
            "mine/",
            "/mine",
            "mine//sub",
            "mine/../mine",
            "mine/./sub",
            "mine/sub/",
            "deep/er/more",
            "deep\\er",
        ] {
            let error = find(name, root).unwrap_err();
            assert_eq!(error.to_string(), format!("no recipe named `{name}`"));
        }
        let error = find("half", root).unwrap_err();
        assert_eq!(
            error.place().unwrap().file,
            "callsheet/recipes/half/recipe.toml"
        );
    }
}
