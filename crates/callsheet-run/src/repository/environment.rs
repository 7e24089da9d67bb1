//! The environment of a git that writes: the user's own, without what would point it elsewhere or make it ask.
//!
//! It is the user's environment and configuration on purpose. Files that git writes into a work tree pass through the filters
//! and line endings that the user has set, such as those of git-lfs: without them the files would differ from what the
//! user's own git makes of the same commit, and would show as changed. What is dropped is every variable that binds
//! git to another repository, index or object directory, which are set where callsheet is started by a hook or an alias.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};

/// Variables of a process.
pub(crate) type Variables = BTreeMap<OsString, OsString>;

/// Beginnings of the variables of git that are the user's settings; all others are dropped.
const KEPT: [&str; 16] = [
    "GIT_ALLOW_PROTOCOL",
    "GIT_ATTR_NOSYSTEM",
    "GIT_AUTHOR_EMAIL",
    "GIT_AUTHOR_NAME",
    "GIT_COMMITTER_EMAIL",
    "GIT_COMMITTER_NAME",
    "GIT_CONFIG_GLOBAL",
    "GIT_CONFIG_NOSYSTEM",
    "GIT_CONFIG_SYSTEM",
    "GIT_EXEC_PATH",
    "GIT_HTTP_",
    "GIT_LFS_",
    "GIT_PROTOCOL_FROM_USER",
    "GIT_PROXY_",
    "GIT_SSH",
    "GIT_SSL_",
];

/// Variables through which a program that git starts would find a person to ask.
const WINDOWS: [&str; 4] = ["DISPLAY", "GPG_TTY", "SSH_ASKPASS", "WAYLAND_DISPLAY"];

/// Values that win over what is set.
const SET: [(&str, &str); 7] = [
    ("GCM_INTERACTIVE", "never"),
    // Empty, and not unset: git would look for another program.
    ("GIT_ASKPASS", ""),
    ("GIT_EDITOR", "false"),
    ("GIT_SEQUENCE_EDITOR", "false"),
    ("GIT_TERMINAL_PROMPT", "0"),
    ("LC_ALL", "C"),
    ("SSH_ASKPASS_REQUIRE", "never"),
];

/// Settings that win over those of the user and of the repository.
const SETTINGS: [(&str, &str); 14] = [
    ("advice.detachedHead", "false"),
    ("color.ui", "false"),
    ("core.fsmonitor", "false"),
    // A hook of the user expects a commit or a push of the user, and may ask, refuse or change files.
    ("core.hooksPath", "/dev/null"),
    ("core.pager", "cat"),
    ("core.quotePath", "false"),
    ("credential.interactive", "false"),
    ("fetch.fsckObjects", "true"),
    ("gc.auto", "0"),
    ("i18n.commitEncoding", "UTF-8"),
    ("maintenance.auto", "false"),
    ("submodule.recurse", "false"),
    ("transfer.fsckObjects", "true"),
    // An identity is told or not; git would make one up from the name of the machine.
    ("user.useConfigOnly", "true"),
];

/// Returns the environment of a git that writes, from the one that is here.
pub(crate) fn of(here: &Variables) -> Variables {
    let mut env: Variables = here
        .iter()
        .filter(|(name, _)| passes(name))
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect();
    env.extend(SET.map(|(name, value)| (name.into(), value.into())));
    // Settings of the environment are the user's, too; what comes later wins.
    let mut settings = given(here);
    settings.extend(SETTINGS.map(|(key, value)| (key.into(), value.into())));
    env.insert("GIT_CONFIG_COUNT".into(), settings.len().to_string().into());
    for (number, (key, value)) in settings.into_iter().enumerate() {
        env.insert(format!("GIT_CONFIG_KEY_{number}").into(), key);
        env.insert(format!("GIT_CONFIG_VALUE_{number}").into(), value);
    }
    env
}

fn passes(name: &OsStr) -> bool {
    let name = name.to_string_lossy();
    let is_gits = name.starts_with("GIT_") && !KEPT.iter().any(|kept| name.starts_with(kept));
    !is_gits && !WINDOWS.contains(&name.as_ref())
}

/// Returns the settings that the environment has, up to the first that is not whole.
fn given(here: &Variables) -> Vec<(OsString, OsString)> {
    let count = here.get(OsStr::new("GIT_CONFIG_COUNT"));
    let count = count.and_then(|count| count.to_str()?.parse::<usize>().ok());
    let setting = |number: usize| {
        let key = here.get(OsStr::new(&format!("GIT_CONFIG_KEY_{number}")))?;
        let value = here.get(OsStr::new(&format!("GIT_CONFIG_VALUE_{number}")))?;
        Some((key.clone(), value.clone()))
    };
    (0..count.unwrap_or(0)).map_while(setting).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn variables(pairs: &[(&str, &str)]) -> Variables {
        let pairs = pairs.iter();
        pairs
            .map(|(name, value)| (name.into(), value.into()))
            .collect()
    }

    #[test]
    fn the_users_own_settings_stay_and_what_binds_or_asks_goes() {
        let env = of(&variables(&[
            ("DISPLAY", ":0"),
            ("GIT_ASKPASS", "/bin/ask"),
            ("GIT_CONFIG_GLOBAL", "mine"),
            ("GIT_DIR", "elsewhere"),
            ("GIT_INDEX_FILE", "elsewhere"),
            ("GIT_LFS_SKIP_SMUDGE", "1"),
            ("GIT_SSH_COMMAND", "ssh -v"),
            ("GIT_TRACE", "1"),
            ("HOME", "home"),
            ("LC_ALL", "de_DE"),
            ("SSH_AUTH_SOCK", "agent"),
        ]));
        let shown: Vec<String> = env
            .iter()
            .filter(|(name, _)| !name.to_string_lossy().starts_with("GIT_CONFIG_"))
            .map(|(name, value)| format!("{}={}", name.display(), value.display()))
            .collect();
        insta::assert_snapshot!(shown.join("\n"), @r"
        GCM_INTERACTIVE=never
        GIT_ASKPASS=
        GIT_EDITOR=false
        GIT_LFS_SKIP_SMUDGE=1
        GIT_SEQUENCE_EDITOR=false
        GIT_SSH_COMMAND=ssh -v
        GIT_TERMINAL_PROMPT=0
        HOME=home
        LC_ALL=C
        SSH_ASKPASS_REQUIRE=never
        SSH_AUTH_SOCK=agent
        ");
        assert_eq!(env[OsStr::new("GIT_CONFIG_GLOBAL")], "mine");
    }

    #[test]
    fn settings_of_the_environment_come_before_ours() {
        let env = of(&variables(&[
            ("GIT_CONFIG_COUNT", "3"),
            ("GIT_CONFIG_KEY_0", "core.hooksPath"),
            ("GIT_CONFIG_VALUE_0", "evil"),
            ("GIT_CONFIG_KEY_1", "without.value"),
            ("GIT_CONFIG_KEY_2", "not.reached"),
            ("GIT_CONFIG_VALUE_2", "1"),
        ]));
        let value = |name: &str| env[OsStr::new(name)].to_str().unwrap();
        assert_eq!(value("GIT_CONFIG_COUNT"), (SETTINGS.len() + 1).to_string());
        assert_eq!(value("GIT_CONFIG_KEY_0"), "core.hooksPath");
        assert_eq!(value("GIT_CONFIG_KEY_1"), SETTINGS[0].0);
        let hooks = SETTINGS
            .iter()
            .position(|(key, _)| *key == "core.hooksPath");
        let hooks = format!("GIT_CONFIG_VALUE_{}", hooks.unwrap() + 1);
        assert_eq!(value(&hooks), "/dev/null");
    }
}
