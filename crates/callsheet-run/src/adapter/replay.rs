//! The adapter `replay`: plays a recorded run again. Who reads its output is the adapter that it was recorded with.

use crate::adapter::{Adapter, Order, Plan, Reader, player};
use crate::{AgentEvent, Ending, RunError, Verdict};

/// What plays a recorded run, for the adapter that it was recorded with.
pub struct ReplayAdapter {
    recorded: Box<dyn Adapter>,
}

impl ReplayAdapter {
    /// Makes the adapter for runs of another one.
    pub fn new(recorded: Box<dyn Adapter>) -> Self {
        Self { recorded }
    }
}

impl Adapter for ReplayAdapter {
    fn plan(&self, order: &Order<'_>) -> Result<Plan, RunError> {
        player::plan(order, "replay", "--recording")
    }

    fn reader(&self) -> Box<dyn Reader> {
        Box::new(ReplayReader::new(self.recorded.reader()))
    }
}

/// What reads the output of a recorded run.
pub struct ReplayReader {
    recorded: Box<dyn Reader>,
}

impl ReplayReader {
    /// Makes the reader that leaves everything to another one.
    pub fn new(recorded: Box<dyn Reader>) -> Self {
        Self { recorded }
    }
}

impl Reader for ReplayReader {
    fn line(&mut self, line: &str) -> Vec<AgentEvent> {
        self.recorded.line(line)
    }

    fn verdict(&self, ending: &Ending) -> Verdict {
        self.recorded.verdict(ending)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::adapter::CommandAdapter;
    use crate::adapter::test_order::Fixture;

    #[test]
    fn the_recorded_adapter_reads() {
        let mut fixture = Fixture::new();
        fixture.script = Some("/recording".into());
        let adapter = ReplayAdapter::new(Box::new(CommandAdapter));
        let plan = adapter.plan(&fixture.order()).unwrap();
        assert_eq!(
            plan.argv,
            ["/bin/callsheet", "play", "--recording", "/recording"]
        );
        let mut reader = adapter.reader();
        let text = "line\n".to_owned();
        assert_eq!(
            reader.line("line"),
            [AgentEvent::Text {
                text,
                delta: true,
                subagent: false
            }]
        );
        let ending = Ending {
            exit_code: Some(0),
            ..Ending::default()
        };
        assert_eq!(reader.verdict(&ending), Verdict::success());
    }
}
