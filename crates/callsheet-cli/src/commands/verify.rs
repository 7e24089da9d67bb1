//! `verify`: proof that nothing that is kept was changed.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::ExitCode;
use std::sync::{Arc, Mutex, PoisonError};

use callsheet::Fingerprint;
use callsheet_store::{Bundle, Finding, Head, Store, StoreError, Wait};
use serde_json::{Value, json};

use crate::failure::{Failure, NEGATIVE, cause_text};
use crate::output::{Output, one_line};
use crate::progress;
use crate::project::Project;
use crate::report::count;
use crate::store;

/// Prove that nothing in the store was changed: every fingerprint is derived again
///
/// Without arguments the whole store is checked: texts, documents, prompts, inputs, events and logs, and that nothing that
/// events tell of is gone. With ids only those prompts, or the prompts of those runs; with files only those bundles. Exits
/// with 1 if anything is not what it was.
///
/// `--head` also proves that the history contains a head that `callsheet head` printed earlier. Keep heads where nobody who
/// can write the store can change them: a history that was made anew, or whose end was cut off, does not contain them.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  callsheet verify
  callsheet verify --head \"$(cat head.txt)\"
  callsheet verify 1m7f6zd4
  callsheet verify handover.tar.zst")]
pub(crate) struct Args {
    /// Ids of prompts or runs, or bundles
    #[arg(value_name = "PROMPT")]
    prompts: Vec<String>,

    /// Prove that the history contains this head
    #[arg(long, value_name = "HASH", conflicts_with = "prompts")]
    head: Option<String>,
}

/// What was checked, and what was found.
#[derive(Default)]
pub(crate) struct Proof {
    checked: BTreeMap<&'static str, u64>,
    findings: Vec<Finding>,
    /// The head of the project, where the whole store was checked.
    head: Option<Head>,
    /// The event of the head that was asked for.
    contained: Option<Head>,
}

impl Args {
    pub(crate) fn run(self, project: &Project, out: Output) -> Result<ExitCode, Failure> {
        let proof = match &self.head {
            Some(head) => contains(project, head)?,
            None => Proof::of(project, &self.prompts)?,
        };
        if let Some(Head { project, seq, hash }) = &proof.contained {
            out.say(&format!("{hash} is event {seq} of project {project}"));
        }
        if out.json {
            out.document(&proof.document())?;
        } else {
            out.text(&proof.text())?;
        }
        out.say(&proof.summary());
        Ok(if proof.findings.is_empty() {
            ExitCode::SUCCESS
        } else {
            ExitCode::from(NEGATIVE)
        })
    }
}

/// Checks everything, and that some event was the head that is asked for.
fn contains(project: &Project, head: &str) -> Result<Proof, Failure> {
    let wanted = head.trim().parse::<Fingerprint>().map_err(|_| {
        Failure::input(format!("`{head}` is not a head"))
            .hint("`callsheet head` prints one, such as `b3:` and 64 digits")
    })?;
    let store = store::open_whole(project)?;
    let mut proof = whole(project, &store)?;
    match store.find_head(wanted).wait() {
        Ok(Some(found)) => proof.contained = Some(found),
        Ok(None) => proof.findings.push(Finding {
            what: format!("head {wanted}"),
            detail: "the history does not contain it: its end was cut off, or it was made anew"
                .to_owned(),
        }),
        // What cannot be read was found above.
        Err(_) if !proof.findings.is_empty() => {}
        Err(error) => return Err(error.into()),
    }
    Ok(proof)
}

/// Checks everything.
fn whole(project: &Project, store: &Store) -> Result<Proof, Failure> {
    // What is verified afterwards has at least the events up to this one.
    let head = store::head(project, store).unwrap_or_default();
    let findings: Arc<Mutex<Vec<Finding>>> = Arc::default();
    let found = Arc::clone(&findings);
    let verifying = || {
        store
            .verify(move |finding| {
                let mut found = found.lock().unwrap_or_else(PoisonError::into_inner);
                found.push(finding);
            })
            .wait()
    };
    let verified = progress::during("verifying", verifying)?;
    let findings = std::mem::take(&mut *findings.lock().unwrap_or_else(PoisonError::into_inner));
    Ok(Proof {
        checked: verified.checked,
        findings,
        head,
        contained: None,
    })
}

impl Proof {
    /// Checks some prompts and bundles, or everything if none is named.
    pub(crate) fn of(project: &Project, names: &[String]) -> Result<Self, Failure> {
        if names.is_empty() {
            return whole(project, &store::open_whole(project)?);
        }
        let mut proof = Self::default();
        for name in names {
            proof.add(project, name)?;
        }
        Ok(proof)
    }

    fn count(&mut self, what: &'static str, number: usize) {
        *self.checked.entry(what).or_default() += number as u64;
    }

    fn count_bundle(&mut self, bundle: &Bundle) {
        self.count("prompts", bundle.prompts.len());
        for bundled in &bundle.runs {
            self.count("runs", 1);
            let number = |lines: u64| usize::try_from(lines).unwrap_or(usize::MAX);
            self.count("records", number(bundled.log.lines));
            self.count("events", number(bundled.events.lines));
        }
    }

    /// Checks one prompt or bundle.
    fn add(&mut self, project: &Project, name: &str) -> Result<(), Failure> {
        let path = Path::new(name);
        let checked = if path.is_file() {
            let file = std::fs::File::open(path)
                .map_err(|cause| Failure::input(format!("{name}: {}", cause_text(&cause))))?;
            Bundle::read(name, file).map(|bundle| {
                self.count_bundle(&bundle);
                Vec::new()
            })
        } else {
            let opened = store::open(project)?;
            opened.sealed(name).map(|(_, seal)| {
                self.count("prompts", 1);
                seal.check()
            })
        };
        let faults = match checked {
            Ok(faults) => faults,
            Err(StoreError::Damaged { place, why }) => {
                self.findings.push(Finding {
                    what: place,
                    detail: why,
                });
                return Ok(());
            }
            Err(other) => return Err(other.into()),
        };
        self.findings
            .extend(faults.into_iter().map(|fault| Finding {
                what: format!("prompt {name}: {}", fault.what),
                detail: fault.detail,
            }));
        Ok(())
    }

    pub(crate) fn document(&self) -> Value {
        let mut document = json!({
            "schema": "callsheet.verify/1", "verified": self.findings.is_empty(),
            "checked": self.checked, "findings": self.findings,
        });
        for (name, head) in [("head", &self.head), ("contains", &self.contained)] {
            if let Some(head) = head {
                document[name] = json!(head);
            }
        }
        document
    }

    /// Returns the findings, a line each.
    fn text(&self) -> String {
        let lines = self.findings.iter();
        lines
            .map(|Finding { what, detail }| one_line(&format!("{what}: {detail}")) + "\n")
            .collect()
    }

    /// Returns what was checked, and how that ended.
    pub(crate) fn summary(&self) -> String {
        let checked = self.checked.iter();
        let checked: Vec<String> = checked
            .map(|(noun, number)| match number {
                1 => format!("1 {}", singular(noun)),
                _ => format!("{number} {noun}"),
            })
            .collect();
        let checked = if checked.is_empty() {
            "nothing else".to_owned()
        } else {
            checked.join(", ")
        };
        if self.findings.is_empty() {
            return format!("{checked} checked: nothing was changed");
        }
        let found = count(self.findings.len(), "thing");
        format!("{checked} checked: {found} not as sealed")
    }
}

/// Returns the word for one of what was checked.
fn singular(noun: &str) -> &str {
    match noun {
        "batches" => "batch",
        "branches" => "branch",
        "dependencies" => "dependency",
        _ => noun.strip_suffix('s').unwrap_or(noun),
    }
}
