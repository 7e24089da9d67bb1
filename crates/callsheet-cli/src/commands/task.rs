//! temporary
use crate::failure::Failure;
use crate::project::Project;
use crate::store::Opened;
use callsheet_store::{NewTask, Task, block_on};
use serde_json::json;
#[derive(Clone, Debug, Default, clap::Args)]
pub(crate) struct NewTaskArgs {
    #[arg(long)]
    title: Option<String>,
    #[arg(long)]
    write: Vec<String>,
    #[arg(long)]
    exclude: Vec<String>,
}
impl NewTaskArgs {
    pub(crate) fn add(&self, _project: &Project, opened: &Opened) -> Result<Task, Failure> {
        let id = block_on(opened.store.add_task(
            &opened.project,
            NewTask {
                title: self.title.clone().unwrap_or_default(),
                body: json!({"write_scope": self.write, "exclude": self.exclude, "base": "main"}),
                depends: vec![],
            },
        ))?;
        Ok(block_on(opened.store.task(&opened.project, id.as_str()))?)
    }
}
