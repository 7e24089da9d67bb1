//! Which adapters there are, by name. Their sheets are part of the program.

use callsheet_store::Run;

use super::{
    Adapter, CommandAdapter, ReplayAdapter, ScriptedAdapter, claude, codex, gemini, opencode,
};

/// The names of all adapters.
pub const NAMES: &[&str] = &[
    "claude", "codex", "gemini", "opencode", "command", "scripted", "replay",
];

/// Returns the sheet of an adapter, as text.
pub fn sheet(name: &str) -> Option<&'static str> {
    Some(match name {
        "claude" => include_str!("../../adapters/claude.toml"),
        "codex" => include_str!("../../adapters/codex.toml"),
        "gemini" => include_str!("../../adapters/gemini.toml"),
        "opencode" => include_str!("../../adapters/opencode.toml"),
        "command" => include_str!("../../adapters/command.toml"),
        "scripted" => include_str!("../../adapters/scripted.toml"),
        "replay" => include_str!("../../adapters/replay.toml"),
        _ => return None,
    })
}

/// Returns an adapter.
pub fn find(name: &str) -> Option<Box<dyn Adapter>> {
    Some(match name {
        "claude" => Box::new(claude::Claude),
        "codex" => Box::new(codex::Codex),
        "gemini" => Box::new(gemini::Gemini),
        "opencode" => Box::new(opencode::Opencode),
        "command" => Box::new(CommandAdapter),
        "scripted" => Box::new(ScriptedAdapter),
        "replay" => Box::new(ReplayAdapter::new(Box::new(CommandAdapter))),
        _ => return None,
    })
}

/// Returns the name of the adapter that reads the output of a run: of a recorded one, the one that it was recorded with.
pub(crate) fn name_of_run(run: &Run) -> Option<&str> {
    let request = run.request.as_ref()?;
    let recorded = request["recorded"].as_str();
    recorded.or(request["adapter"].as_str())
}

/// Returns the adapter that reads the output of a run.
pub(crate) fn of_run(run: &Run) -> Option<Box<dyn Adapter>> {
    find(name_of_run(run)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Sheet;

    #[test]
    fn every_name_has_a_sheet_of_that_name() {
        for name in NAMES {
            let parsed = Sheet::parse(sheet(name).unwrap(), None, None).unwrap();
            assert_eq!((&*parsed.name, parsed.title.is_empty()), (*name, false));
        }
        assert!(sheet("claud").is_none() && find("claud").is_none());
    }
}
