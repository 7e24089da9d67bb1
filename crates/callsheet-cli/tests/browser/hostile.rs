//! Names and contents from agents and files that want to be more than text.

use serde_json::json;

use crate::stage::Stage;

/// What sets a variable if it is ever run, with what hides or turns text in a terminal or on a page.
const EVIL: &str = "<script>window.owned=1</script><img src=x onerror=window.owned=2>\" onmouseover=\"window.owned=3\" '><svg onload=window.owned=4> \u{1b}[31mred\u{1b}[0m \u{202e}txt.exe {{ 7 * 7 }}";

#[test]
fn what_agents_and_files_say_stays_text_on_every_page() {
    let stage = Stage::set();
    let Some(mut page) = stage.page() else { return };
    let run = plant(&stage);
    assert_eq!(run["status"], "completed", "{}", run["reason"]);
    let prompt = run["prompt"].as_str().unwrap_or_default();
    let id = run["id"].as_str().unwrap_or_default();
    let mut paths: Vec<String> = stage.pages().into_iter().map(|(_, path)| path).collect();
    paths.push(format!("/runs/{id}"));
    paths.push(format!("/prompts/{prompt}"));
    paths.push("/history?q=owned".to_owned());
    paths.push(format!(
        "/history?q={}",
        "%3Cscript%3Ewindow.owned%3D5%3C%2Fscript%3E"
    ));
    for path in &paths {
        page.goto(path);
        let found = page.text(
            "[window.owned === undefined ? '' : `owned ${window.owned}`,
              document.querySelector('main img, main script, main [onmouseover], main [onerror], main [onload]') ? 'an element' : '',
              /[\\u202e\\u001b]/.test(document.body.innerText) ? 'a character' : ''].filter(Boolean).join(', ')",
        );
        assert_eq!(found, "", "{path}");
        assert!(!page.text("document.title").is_empty());
    }
    page.goto("/");
    page.until(
        "document.querySelector('main').innerText.includes('<script>window.owned=1</script>')",
    );
    page.screenshot("hostile-attention");
    page.goto(&format!("/runs/{id}"));
    page.screenshot("hostile-run");
    // What the agent says does not push the facts out of sight.
    let is_seen = "(() => {
        const edge = document.querySelector('.claims').closest('.sheet').getBoundingClientRect().right + 1;
        return [...document.querySelectorAll('.claims td')].every((cell) => cell.getBoundingClientRect().right <= edge);
    })()";
    assert_eq!(page.eval(is_seen), true);
    page.goto("/nowhere/%3Cscript%3Ewindow.owned=6%3C%2Fscript%3E");
    assert_eq!(page.eval("window.owned === undefined"), true);
    page.forgive("status of 404");
    page.close();
}

/// Puts evil names everywhere, and returns a run that has said and written them.
fn plant(stage: &Stage) -> serde_json::Value {
    let long = "x".repeat(1 << 20);
    let name = "tests/<img src=x onerror=window.owned=7>\u{202e}.sh";
    let script = json!({
        "model": "<script>window.owned=8</script>",
        "steps": [
            {"say": EVIL},
            {"think": EVIL},
            {"call": {"tool": "<script>window.owned=9</script>", "input": {"command": EVIL}, "output": EVIL, "ok": false}},
            {"say": long},
            {"write": {"path": name, "text": EVIL}},
            {"write": {"path": format!("outside/{name}"), "text": format!("{EVIL}\n{long}\n")}},
        ],
    });
    let script = toml::to_string(&script).unwrap_or_default();
    let runner = "\n[runners.evil]\nadapter = \"scripted\"\nscript = \"evil.toml\"\naccount = \"<script>window.owned=10</script>\"\n";
    let settings = stage.path("callsheet.toml");
    let text = std::fs::read_to_string(&settings).unwrap_or_default();
    let epics = stage.path("_bmad-output/planning-artifacts/epics.md");
    let stories = std::fs::read_to_string(&epics).unwrap_or_default();
    let stories = stories.replace("Share the list", EVIL);
    for (file, text) in [
        (settings, format!("{text}{runner}")),
        (stage.path("evil.toml"), script),
        (epics, stories),
    ] {
        assert!(std::fs::write(file, text).is_ok());
    }
    // A title with a control character is refused before it is stored.
    let title = EVIL.replace('\u{1b}', "");
    let description = format!("{EVIL}\n{long}");
    let file = stage.path("description.md");
    assert!(std::fs::write(file, description).is_ok());
    let args = [
        "run",
        "--title",
        &title,
        "--write",
        "tests/**",
        "--runner",
        "evil",
        "--description",
        "@description.md",
    ];
    stage.document(&args)
}
