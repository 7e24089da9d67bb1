//! On which line of an input an error stands.

/// Returns the line that a message is about: the one that it names, or that of the field that it names.
pub(crate) fn line_of(message: &str, input: &str) -> Option<usize> {
    if let Some(rest) = message.strip_prefix("stdin:") {
        return rest.split(':').next()?.trim().parse().ok();
    }
    let mut quoted = message.split('`').skip(1).step_by(2);
    quoted.find_map(|field| line_of_field(field, input))
}

/// Returns the line of a field such as `context[0].name`.
fn line_of_field(field: &str, input: &str) -> Option<usize> {
    let steps = field.split(['.', '[', ']']).filter(|step| !step.is_empty());
    let lines: Vec<&str> = input.lines().collect();
    let mut at = 0;
    let mut found = None;
    for step in steps.filter(|step| step.parse::<usize>().is_err()) {
        let is_key = |line: &&str| {
            let line = line
                .trim_start()
                .trim_start_matches("- ")
                .trim_start_matches('{')
                .trim_start();
            let line = line.strip_prefix('"').unwrap_or(line);
            let rest = line
                .strip_prefix(step)
                .map(|rest| rest.strip_prefix('"').unwrap_or(rest));
            rest.is_some_and(|rest| rest.trim_start().starts_with(':'))
        };
        let next = lines.get(at..)?.iter().position(is_key);
        let Some(next) = next else { break };
        at += next;
        found = Some(at + 1);
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_stand_on_their_lines() {
        let input = "story: 2a-1\ncontext:\n  - name: a\n    content: 3\nreviewr: dana\n";
        assert_eq!(line_of("unknown field `reviewr`", input), Some(5));
        assert_eq!(
            line_of("`context[0].content`: expected a text", input),
            Some(4)
        );
        assert_eq!(line_of("stdin:3: malformed YAML", input), Some(3));
        assert_eq!(line_of("missing field `mode`", input), None);
        assert_eq!(line_of_field("a.b", "{\"a\": {\n  \"b\": 1}}"), Some(2));
    }
}
