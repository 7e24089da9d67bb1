//! The search index: what was sealed and logged goes into it before it is searched.

use callsheet_store::Wait;

use crate::failure::Failure;
use crate::output::Output;
use crate::progress;
use crate::project::Project;
use crate::store::{self, Opened};

/// So many bytes of text go into the index in one go.
const STEP: usize = 4 << 20;

/// So many passages are read faster than they are indexed.
const FEW: i64 = 200;

/// Puts what is new into the index. In a store that cannot be written, everything but the newest log records is found all the same.
pub(crate) fn catch_up(project: &Project, opened: &Opened, out: Output) -> Result<(), Failure> {
    let (passages, records) = opened.store.unindexed(&opened.project).wait()?;
    if passages <= FEW && records == 0 {
        return Ok(());
    }
    let Ok(writer) = store::open_to_write(project) else {
        if records > 0 {
            out.note("the store cannot be written; the newest log records are not searched");
        }
        return Ok(());
    };
    fill(&writer)
}

/// Fills the index, with a live line.
pub(crate) fn fill(opened: &Opened) -> Result<(), Failure> {
    progress::during("indexing", || {
        while !opened.store.index(&opened.project, STEP).wait()? {}
        Ok(())
    })
}
