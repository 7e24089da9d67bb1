//! The environment of an agent: an allow-list, what its runner passes on, and what only this run has.

use std::collections::BTreeMap;

use crate::{Isolate, Runner, Sheet};

/// Variables that every agent gets where they are set: none of them holds a key.
const ALWAYS: &[&str] = &[
    "ALL_PROXY",
    "CARGO_HOME",
    "GOPATH",
    "GOROOT",
    "HOME",
    "HTTPS_PROXY",
    "HTTP_PROXY",
    "JAVA_HOME",
    "LANG",
    "LANGUAGE",
    "LOGNAME",
    "NODE_EXTRA_CA_CERTS",
    "NO_PROXY",
    "NVM_DIR",
    "PATH",
    "PYENV_ROOT",
    "RUSTUP_HOME",
    "SHELL",
    "SSL_CERT_DIR",
    "SSL_CERT_FILE",
    "TERM",
    "TZ",
    "USER",
    "VIRTUAL_ENV",
    "XDG_CACHE_HOME",
    "XDG_CONFIG_HOME",
    "XDG_DATA_HOME",
    "XDG_RUNTIME_DIR",
    "XDG_STATE_HOME",
    "all_proxy",
    "http_proxy",
    "https_proxy",
    "no_proxy",
];

/// Returns what an agent gets of the environment of this process, and whether a key is among it.
pub(crate) fn passed(
    runner: &Runner,
    sheet: &Sheet,
    here: &BTreeMap<String, String>,
) -> (BTreeMap<String, String>, bool) {
    let keys = runner.pass_env.as_ref().unwrap_or(&sheet.keys);
    let wanted = |name: &str| {
        ALWAYS.contains(&name)
            || name.starts_with("LC_")
            || keys.iter().any(|key| key == name)
            || sheet.pass_env.iter().any(|known| known == name)
    };
    let mut env: BTreeMap<String, String> = here
        .iter()
        .filter(|(name, _)| wanted(name))
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect();
    env.extend(runner.env.clone());
    let known = sheet.keys.iter();
    // A CLI can be told to take its key from any variable; one that a person passes on by name is such a key.
    let named = runner.pass_env.iter().flatten().chain(runner.env.keys());
    let named = named.filter(|name| name.ends_with("_KEY") || name.ends_with("_TOKEN"));
    let has_key = known.chain(named).any(|key| env.contains_key(key));
    (env, has_key)
}

/// Tells whether the CLI gets a state folder of its own.
pub(crate) fn isolated(isolate: Isolate, has_key: bool) -> bool {
    match isolate {
        Isolate::Auto => has_key,
        Isolate::Yes => true,
        Isolate::No => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sheet() -> Sheet {
        let text = "name = \"x\"\ntitle = \"X\"\nkeys = [\"X_KEY\"]\npass_env = [\"X_URL\"]\n";
        Sheet::parse(text, None, None).unwrap()
    }

    fn names(runner: &Runner) -> (Vec<String>, bool) {
        let here = [
            "PATH",
            "LC_ALL",
            "X_KEY",
            "X_URL",
            "SECRET",
            "OTHER",
            "CLAUDECODE",
        ];
        let here = here.map(|name| (name.to_owned(), "1".to_owned()));
        let (env, has_key) = passed(runner, &sheet(), &here.into());
        (env.into_keys().collect(), has_key)
    }

    #[test]
    fn only_what_is_listed_is_passed_on() {
        let plain = Runner::default();
        let (passed, has_key) = names(&plain);
        assert_eq!(passed, ["LC_ALL", "PATH", "X_KEY", "X_URL"]);
        assert!(has_key && isolated(Isolate::Auto, has_key));
        let named = Runner {
            pass_env: Some(vec!["OTHER".to_owned()]),
            env: [("MINE".to_owned(), "2".to_owned())].into(),
            ..Runner::default()
        };
        let (passed, has_key) = names(&named);
        assert_eq!(passed, ["LC_ALL", "MINE", "OTHER", "PATH", "X_URL"]);
        assert!(!has_key && !isolated(Isolate::Auto, has_key));
        let other = Runner {
            pass_env: Some(vec!["OTHER_API_KEY".to_owned()]),
            ..Runner::default()
        };
        assert!(!names(&other).1, "it is not set");
        let set = Runner {
            env: [("OTHER_API_KEY".to_owned(), "2".to_owned())].into(),
            ..other
        };
        assert!(names(&set).1);
        assert!(isolated(Isolate::Yes, false) && !isolated(Isolate::No, true));
    }
}
