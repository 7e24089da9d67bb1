//! Names that mean the same template: identities have several, and those of packaged templates may have `_` for `-`.

/// Names that mean the same, the best one first.
const SAME: &[&[&str]] = &[
    &["supervisor", "supervisor-system", "chat-agent-system"],
    &["hook-executor", "hook-context"],
    &["task-agent"],
    &["plan-structure-guide"],
    &["controlled-splitting"],
    &["execution-focus"],
];

/// Returns the other names of what somebody asked for: its other spelling first, then those that mean the same.
pub(super) fn others(name: &str) -> Vec<String> {
    let asked = name.strip_suffix(".md").unwrap_or(name).replace('_', "-");
    let Some(same) = SAME.iter().find(|names| names.contains(&&*asked)) else {
        return Vec::new();
    };
    let names = std::iter::once(&*asked).chain(same.iter().copied());
    names
        .flat_map(|name| [name.to_owned(), name.replace('-', "_")])
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_asked_for_comes_before_what_means_the_same() {
        let names = |name| others(name).join(" ");
        assert_eq!(
            names("hook_context.md"),
            "hook-context hook_context hook-executor hook_executor hook-context hook_context"
        );
        assert_eq!(
            names("task_agent"),
            "task-agent task_agent task-agent task_agent"
        );
        assert_eq!(names("code_review"), "");
    }
}
