//! Runs of tasks that travel: the task and the annotations go along, and are the same everywhere.

use callsheet::redact::{Key, Redactor};
use callsheet_store::{Annotation, Bundle, Id, NewTask, Project, Run, Store, Wait};
use serde_json::{Value, json};

use crate::on_both;
use crate::tasks;
use crate::test_store::{TestStore, assert_gapless, findings, seqs};
use crate::travel::{TOKEN, bundle, import, written};

on_both!(
    a_run_takes_its_task_and_its_annotations_along,
    a_task_with_other_contents_is_refused,
    a_task_goes_on_where_it_is_imported,
    a_task_travels_without_its_secrets,
    what_is_annotated_too_late_stays_at_home,
);

fn annotate(store: &Store, project: &Project, run: Id, value: Value) {
    let allow = |_: &Run, _: &[Annotation]| Ok(());
    let added = store.annotate(project, run, "check", "test", value, allow);
    added.wait().unwrap().unwrap();
}

fn demo(place: &TestStore) -> (Store, Project) {
    let store = place.open();
    let project = store.project("demo").wait().unwrap();
    (store, project)
}

/// Returns the first line of the index of a bundle that says anything.
fn schema(bytes: &[u8]) -> String {
    let unpacked = zstd::decode_all(bytes).unwrap();
    let text = String::from_utf8_lossy(&unpacked);
    let (_, rest) = text.split_once("\"schema\": \"").unwrap();
    rest.split_once('"').unwrap().0.to_owned()
}

fn a_run_takes_its_task_and_its_annotations_along(place: &TestStore) {
    let (home, from) = demo(place);
    let other = TestStore::sqlite();
    let (away, to) = demo(&other);
    let new = NewTask {
        title: "Lock ‹it›".to_owned(),
        body: json!({"price": 0.123_456_789_012_3, "text": "a\u{0}b"}),
        depends: vec![tasks::add(&home, &from, "needed", &[])],
    };
    let task = home.add_task(&from, new.clone()).wait().unwrap();
    let [first, second] = [(); 2].map(|()| tasks::finished(&home, &from, task));
    annotate(&home, &from, first, json!({"cost": 1e-7}));
    annotate(&home, &from, first, json!(null));
    home.cancel_task(&from, task).wait().unwrap();
    let bytes = written(&home, &from, &[first, second]);
    assert_eq!(schema(&bytes), "callsheet.bundle/3");

    let new_runs = Ok(vec![(first, true), (second, true)]);
    assert_eq!(import(&away, &to, &bytes), new_runs);
    let here = away.tasks(&to).wait().unwrap();
    assert_eq!(here.len(), 1);
    assert_eq!(
        (
            here[0].id,
            here[0].created_at,
            &here[0].title,
            &here[0].body
        ),
        (task, task.at(), &new.title, &new.body)
    );
    assert_eq!((here[0].cancelled_at, here[0].depends.len()), (None, 0));
    let ids = [first, second];
    assert_eq!(
        away.annotations(&to, &ids).wait(),
        home.annotations(&from, &ids).wait()
    );
    let runs = away.runs_of_task(&to, task).wait().unwrap();
    assert_eq!(runs.iter().map(|run| run.id).collect::<Vec<_>>(), ids);
    let kinds = away.events_since(&to, 0, usize::MAX).wait().unwrap();
    let messages = kinds.iter().filter(|it| it.event.kind == "task:imported");
    let messages: Vec<&str> = messages.map(|it| it.event.message()).collect();
    assert_eq!(messages, [format!("task {task} is imported")]);
    assert_gapless(&seqs(&away, &to));
    assert_eq!(findings(&away), []);

    let known = Ok(vec![(first, false), (second, false)]);
    assert_eq!(import(&away, &to, &bytes), known.clone());
    assert_eq!(import(&home, &from, &bytes), known);
    assert_eq!(written(&away, &to, &ids), bytes, "and on it goes");
    assert_eq!(schema(&written(&home, &from, &[])), "callsheet.bundle/1");
    let free = tasks::finished_free(&home, &from);
    assert_eq!(
        schema(&written(&home, &from, &[free])),
        "callsheet.bundle/2"
    );
    annotate(&home, &from, free, json!(1));
    assert_eq!(
        schema(&written(&home, &from, &[free])),
        "callsheet.bundle/3"
    );
    assert_eq!(findings(&home), []);
}

fn a_task_with_other_contents_is_refused(place: &TestStore) {
    let other = TestStore::sqlite();
    let (home, from) = demo(&other);
    let (away, to) = demo(place);
    let task = tasks::add(&home, &from, "a", &[]);
    let [first, second] = [(); 2].map(|()| tasks::finished(&home, &from, task));
    import(&away, &to, &written(&home, &from, &[first])).unwrap();
    // An annotation that comes later makes another run of it.
    annotate(&home, &from, first, json!(1));
    assert_eq!(
        import(&away, &to, &written(&home, &from, &[first])),
        Err(format!("run `{first}` is here already with other contents"))
    );
    let bytes = written(&home, &from, &[second]);
    place.raw("update task set title = 'b'");
    let before = seqs(&away, &to).len();
    assert_eq!(
        import(&away, &to, &bytes),
        Err(format!("task `{task}` is here already with other contents"))
    );
    place.raw("update task set title = 'a'");
    let elsewhere = away.project("third").wait().unwrap();
    assert_eq!(
        import(&away, &elsewhere, &bytes),
        Err(format!("task `{task}` cannot be imported: its id is taken"))
    );
    assert_eq!(seqs(&away, &to).len(), before);
    assert_eq!(import(&away, &to, &bytes), Ok(vec![(second, true)]));
    assert_eq!(findings(&away), []);
}

fn a_task_goes_on_where_it_is_imported(place: &TestStore) {
    let other = TestStore::sqlite();
    let (home, from) = demo(&other);
    let (away, to) = demo(place);
    let task = tasks::add(&home, &from, "a", &[]);
    let first = tasks::finished(&home, &from, task);
    let bytes = written(&home, &from, &[first]);
    import(&away, &to, &bytes).unwrap();
    annotate(&away, &to, first, json!("here"));
    let second = tasks::finished(&away, &to, task);
    let open = away
        .queue_run(&to, tasks::run_of(&away, &to, task))
        .wait()
        .unwrap();
    // A run of it that is over elsewhere is taken in nevertheless.
    let other = tasks::finished(&home, &from, task);
    let bytes = written(&home, &from, &[other]);
    assert_eq!(import(&away, &to, &bytes), Ok(vec![(other, true)]));
    let runs = away.runs_of_task(&to, task).wait().unwrap();
    assert_eq!(
        runs.iter().map(|run| run.id).collect::<Vec<_>>(),
        [first, second, open, other]
    );
    assert_eq!(findings(&away), []);
}

fn a_task_travels_without_its_secrets(place: &TestStore) {
    let (home, from) = demo(place);
    let other = TestStore::sqlite();
    let (away, to) = demo(&other);
    let new = NewTask {
        title: format!("Take {TOKEN} out"),
        body: json!({"description": [TOKEN]}),
        depends: vec![],
    };
    let task = home.add_task(&from, new).wait().unwrap();
    let run = tasks::finished(&home, &from, task);
    annotate(
        &home,
        &from,
        run,
        json!({"output": format!("TOKEN={TOKEN}")}),
    );
    let redactor = Redactor::new(Key::default());
    let bundle = bundle(&home, &from, &[run], Some(&redactor));
    let mut bytes = Vec::new();
    bundle
        .write_from(&home, &from, Some(&redactor), &mut bytes)
        .unwrap();
    let unpacked = zstd::decode_all(bytes.as_slice()).unwrap();
    assert!(!String::from_utf8_lossy(&unpacked).contains(TOKEN));
    assert_eq!(import(&away, &to, &bytes), Ok(vec![(run, true)]));
    let secret = "‹secret:github-token:9004›";
    let here = away.task(&to, task.as_str()).wait().unwrap();
    assert_eq!(here.title, format!("Take {secret} out"));
    assert_eq!(here.body, json!({"description": [secret]}));
    let found = away.annotations(&to, &[run]).wait().unwrap();
    assert_eq!(
        found[&run][0].value,
        json!({"output": format!("TOKEN={secret}")})
    );
    assert_eq!(findings(&away), []);
}

fn what_is_annotated_too_late_stays_at_home(place: &TestStore) {
    let (home, from) = demo(place);
    let task = tasks::add(&home, &from, "a", &[]);
    let run = tasks::finished(&home, &from, task);
    annotate(&home, &from, run, json!(1));
    let bundle = bundle(&home, &from, &[run], None);
    annotate(&home, &from, run, json!(2));
    let mut bytes = Vec::new();
    bundle.write_from(&home, &from, None, &mut bytes).unwrap();
    let read = Bundle::read("x", bytes.as_slice()).unwrap();
    assert_eq!(read, bundle);
    assert_eq!(read.runs[0].run.annotations.len(), 1);
}
