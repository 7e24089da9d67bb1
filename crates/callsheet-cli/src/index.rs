//! The search index: what was sealed and logged goes into it before it is searched.

use callsheet_store::{Unindexed, Wait};

use crate::failure::Failure;
use crate::output::Output;
use crate::progress;
use crate::project::Project;
use crate::report::count;
use crate::store::{self, Opened};

/// So many terms go into the index in one go.
const STEP: usize = 2 << 20;

/// So many passages are read faster than they are indexed.
const FEW: i64 = 200;

/// Puts what is new into the index. In a store that cannot be written, everything but the newest log records is found all the same.
pub(crate) fn catch_up(project: &Project, opened: &Opened, out: Output) -> Result<(), Failure> {
    let left = opened.store.unindexed(&opened.project).wait()?;
    if left.passages <= FEW && left.records == 0 && !left.other_version {
        return Ok(());
    }
    let Ok(writer) = store::open_to_write(project) else {
        if left.records > 0 {
            out.note("the store cannot be written; the newest log records are not searched");
        }
        return Ok(());
    };
    if left.other_version {
        out.note(&format!(
            "the search index is of another version and is made anew: {}",
            measured(&left)
        ));
    }
    fill(&writer, &left)
}

/// Fills the index, with a live line.
pub(crate) fn fill(opened: &Opened, left: &Unindexed) -> Result<(), Failure> {
    progress::during(&format!("indexing {}", measured(left)), || {
        while !opened.store.index(&opened.project, STEP).wait()? {}
        Ok(())
    })
}

/// Returns how much there is to index.
pub(crate) fn measured(left: &Unindexed) -> String {
    let number = |number| usize::try_from(number).unwrap_or(0);
    format!(
        "{} of prompts and {}",
        count(number(left.passages), "passage"),
        count(number(left.records), "log record")
    )
}
