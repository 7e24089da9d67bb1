//! The service file of PostgreSQL: parameters of connections under names, in sections.

use std::path::{Path, PathBuf};

use super::url::Params;
use crate::StoreError;

/// Returns what a service sets; the first file that has it counts.
///
/// A file that has to be there is an error where it is not.
pub(super) fn read(name: &str, files: &[(PathBuf, bool)]) -> Result<Params, StoreError> {
    for (path, is_needed) in files {
        let text = match std::fs::read_to_string(path) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound && !is_needed => continue,
            Err(error) => {
                let shown = path.display();
                let why = format!(
                    "the service file `{shown}` cannot be read: {}",
                    super::cause(&error)
                );
                return Err(StoreError::refused(why));
            }
        };
        if let Some(params) = section(&text, name, path)? {
            return Ok(params);
        }
    }
    let files: Vec<String> = files
        .iter()
        .map(|(path, _)| format!("`{}`", path.display()))
        .collect();
    let why = format!(
        "no service `{name}` in {}",
        match files.as_slice() {
            [] => "any file: neither PGSERVICEFILE nor a home directory is set".to_owned(),
            files => files.join(" or "),
        }
    );
    Err(StoreError::refused(why))
}

/// Returns what a section sets, if there is one of that name.
fn section(text: &str, name: &str, path: &Path) -> Result<Option<Params>, StoreError> {
    let mut found: Option<Params> = None;
    for (number, line) in (1..).zip(text.lines().map(str::trim)) {
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        if let Some(section) = line.strip_prefix('[') {
            if found.is_some() {
                break;
            }
            if section.strip_suffix(']') == Some(name) {
                found = Some(Params::new());
            }
            continue;
        }
        let Some(params) = &mut found else {
            continue;
        };
        // A line may hold a password and is not repeated.
        let bad = || {
            let shown = path.display();
            StoreError::refused(format!("{shown}:{number}: this is not `NAME=VALUE`"))
        };
        let (key, value) = line.split_once('=').ok_or_else(bad)?;
        let plain = |c: char| c.is_ascii_lowercase() || c == '_';
        if key.is_empty() || !key.chars().all(plain) || key == "service" {
            return Err(bad());
        }
        params
            .entry(key.to_owned())
            .or_insert_with(|| value.to_owned());
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = "# comment\nhost=nowhere\n[other]\nhost=a\n\n[team]\n  host=db.example \n\
        password=a=b c\nhost=second\n# more\n[team]\nuser=late\n[broken]\nhunter2\n[nested]\nservice=team\n";

    fn of(name: &str) -> Result<Option<Params>, String> {
        section(FILE, name, Path::new("pg_service.conf")).map_err(|error| error.to_string())
    }

    #[test]
    fn a_section_sets_parameters() {
        let params = of("team").unwrap().unwrap();
        let shown: Vec<_> = params.iter().map(|(k, v)| format!("{k}={v}")).collect();
        assert_eq!(shown, ["host=db.example", "password=a=b c"]);
        assert_eq!(of("nobody"), Ok(None));
        for (name, line) in [("broken", 14), ("nested", 16)] {
            let wanted = format!("pg_service.conf:{line}: this is not `NAME=VALUE`");
            assert_eq!(of(name), Err(wanted));
        }
    }

    #[test]
    fn the_first_file_that_has_it_counts() {
        let folder = tempfile::tempdir().unwrap();
        let [mine, ours] = ["mine", "ours"].map(|name| folder.path().join(name));
        std::fs::write(&mine, "[a]\nhost=mine\n").unwrap();
        std::fs::write(&ours, "[a]\nhost=ours\n[b]\nhost=b\n").unwrap();
        let files = [(mine, false), (ours, false)];
        let host = |name| read(name, &files).map(|params| params["host"].clone());
        assert_eq!(host("a").as_deref(), Ok("mine"));
        assert_eq!(host("b").as_deref(), Ok("b"));
        assert_eq!(
            host("c").unwrap_err().to_string(),
            format!(
                "no service `c` in `{}` or `{}`",
                files[0].0.display(),
                files[1].0.display()
            )
        );
        let missing = folder.path().join("missing");
        let refused = read("a", &[(missing.clone(), true)]).unwrap_err();
        let wanted = format!(
            "the service file `{}` cannot be read: no such file or directory",
            missing.display()
        );
        assert_eq!(refused.to_string(), wanted);
        assert_eq!(
            read("a", &[(missing, false), files[0].clone()]).unwrap()["host"],
            "mine"
        );
    }
}
