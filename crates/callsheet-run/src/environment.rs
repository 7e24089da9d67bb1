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

/// Returns what any program of a project gets of the environment of this process: nothing that could be a key.
pub(crate) fn plain(here: &BTreeMap<String, String>) -> BTreeMap<String, String> {
    let plain = here.iter().filter(|(name, _)| is_plain(name));
    plain
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect()
}

fn is_plain(name: &str) -> bool {
    ALWAYS.contains(&name) || name.starts_with("LC_")
}

/// Returns what an agent gets of the environment of this process, and whether a key is among it.
pub(crate) fn passed(
    runner: &Runner,
    sheet: &Sheet,
    here: &BTreeMap<String, String>,
) -> (BTreeMap<String, String>, bool) {
    let keys = runner.pass_env.as_ref().unwrap_or(&sheet.keys);
    let wanted = |name: &str| {
        is_plain(name)
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

/// Keeps git from tidying a repository up while an agent works in it: other runs may use what would be moved.
///
/// Settings that the variables have already stay in force, and win.
pub(crate) fn without_maintenance(env: &mut BTreeMap<String, String>) {
    let count = env.get("GIT_CONFIG_COUNT").map(String::as_str);
    // Git refuses a number that is none, and whoever set it is told by git.
    let Ok(mut count) = count.unwrap_or("0").parse::<usize>() else {
        return;
    };
    for (name, value) in [("gc.auto", "0"), ("maintenance.auto", "false")] {
        let is_set = (0..count).any(|index| {
            let key = env.get(&format!("GIT_CONFIG_KEY_{index}"));
            key.is_some_and(|key| key.eq_ignore_ascii_case(name))
        });
        if !is_set {
            env.insert(format!("GIT_CONFIG_KEY_{count}"), name.to_owned());
            env.insert(format!("GIT_CONFIG_VALUE_{count}"), value.to_owned());
            count += 1;
        }
    }
    env.insert("GIT_CONFIG_COUNT".to_owned(), count.to_string());
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
    fn git_is_told_to_leave_the_repository_as_it_is() {
        let shown = |set: &[(&str, &str)]| {
            let set = set.iter();
            let mut env: BTreeMap<String, String> = set
                .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
                .collect();
            without_maintenance(&mut env);
            let lines = env.iter().map(|(name, value)| format!("{name}={value}"));
            lines.collect::<Vec<_>>().join("\n")
        };
        insta::assert_snapshot!(shown(&[]), @"
        GIT_CONFIG_COUNT=2
        GIT_CONFIG_KEY_0=gc.auto
        GIT_CONFIG_KEY_1=maintenance.auto
        GIT_CONFIG_VALUE_0=0
        GIT_CONFIG_VALUE_1=false
        ");
        let own = [
            ("GIT_CONFIG_COUNT", "1"),
            ("GIT_CONFIG_KEY_0", "GC.auto"),
            ("GIT_CONFIG_VALUE_0", "5"),
        ];
        insta::assert_snapshot!(shown(&own), @"
        GIT_CONFIG_COUNT=2
        GIT_CONFIG_KEY_0=GC.auto
        GIT_CONFIG_KEY_1=maintenance.auto
        GIT_CONFIG_VALUE_0=5
        GIT_CONFIG_VALUE_1=false
        ");
        assert_eq!(shown(&[("GIT_CONFIG_COUNT", "x")]), "GIT_CONFIG_COUNT=x");
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
