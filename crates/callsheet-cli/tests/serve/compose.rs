//! Compositions and sealed prompts over HTTP.

use serde_json::{Value, json};

use crate::project::Project;
use crate::served::{Served, demo};

#[test]
fn a_composition_is_the_prompt_and_nothing_is_kept() {
    let project = Project::new();
    let served = Served::start(&project);
    let input = json!({"identity": {"name": "coder"}, "rules": "Be brief."});
    let composed = served.post("/api/compose/layers", &input).expect(200)["data"].clone();
    let file = project.outside().join("input.json");
    std::fs::write(&file, input.to_string()).unwrap();
    let file = file.display().to_string();
    let same = project.run(&["compose", "layers", "--input", &file, "--json"]);
    assert_eq!(composed, same.json());
    let yaml = json!({"yaml": "# mine\nidentity: {name: coder}\nrules: Be brief.\n"});
    let again = served.post("/api/compose/layers", &yaml).expect(200);
    assert_eq!(again["data"]["fingerprint"], composed["fingerprint"]);
    assert_eq!(
        served.get("/api/prompts").expect(200)["pagination"]["total"],
        0
    );
    let path = "/api/compose/layers?byte_budget=5&encoding=cl100k";
    let small = served.post(path, &input).expect(200)["data"].clone();
    assert_eq!(small["encoding"], "cl100k");
    assert_eq!(small["omissions"][1]["reason"], "over-budget");
    for query in [
        "byte_budget=-1",
        "token_budget=x",
        "encoding=other",
        "other=1",
    ] {
        let refused = served.post(&format!("/api/compose/layers?{query}"), &input);
        assert_eq!(refused.error(400).0, "VALIDATION_ERROR", "{query}");
    }
}

#[test]
fn a_prompt_is_sealed_as_it_was_composed() {
    let project = Project::new();
    let served = Served::start(&project);
    let input = json!({"identity": {"name": "coder"}, "rules": "Be brief."});
    let composed = served.post("/api/compose/layers", &input).expect(200)["data"].clone();
    let new = json!({"recipe": "layers", "input": input});
    let sealed = served.post("/api/prompts", &new).expect(201)["data"].clone();
    assert_eq!(sealed["fingerprint"], composed["fingerprint"]);
    let id = sealed["id"].as_str().unwrap_or_default();
    let kept = served.get(&format!("/api/prompts/{id}/text"));
    assert_eq!(
        kept.text(),
        composed["system_prompt"].as_str().unwrap_or_default()
    );
    let yaml = json!({"recipe": "layers", "yaml": "identity: {name: coder}\nrules: Be brief.\n"});
    let again = served.post("/api/prompts?byte_budget=5", &yaml).expect(201)["data"].clone();
    assert_eq!(again["omissions"][1]["reason"], "over-budget");
    let wrong = json!({"recipe": "layers", "input": {"identity": {"name": 3}}});
    let error = served.post("/api/prompts", &wrong).expect(400)["error"].clone();
    assert_eq!(error["details"]["field"], "identity.name");
    for (new, status) in [
        (json!({"recipe": "none", "input": {}}), 404),
        (json!({"recipe": "layers"}), 400),
        (json!({"recipe": "layers", "input": {}, "yaml": ""}), 400),
    ] {
        served.post("/api/prompts", &new).error(status);
    }
    assert_eq!(
        served.get("/api/prompts").expect(200)["pagination"]["total"],
        2
    );
}

#[test]
fn what_is_wrong_with_an_input_has_its_place() {
    let project = Project::new();
    let served = Served::start(&project);
    let place = |body: &str| {
        let response = served.send(
            "POST",
            "/api/compose/layers",
            "application/json",
            body.as_bytes(),
        );
        let error = response.expect(400)["error"].clone();
        (error["message"].clone(), error["details"].clone())
    };
    let (message, details) = place(r#"{"identity": {"name": 3}}"#);
    assert_eq!(message, "`identity.name`: expected string, found number");
    assert_eq!(details["field"], "identity.name");
    assert_eq!(details["line"], Value::Null);
    let (message, details) = place(r#"{"yaml": "identity:\n  nam: 3\n x"}"#);
    assert_eq!(
        message,
        "stdin:3: malformed YAML: expected `key: value`, or more indentation"
    );
    assert_eq!(details["line"], 3);
    let (message, details) = place(r#"{"nope": 1}"#);
    assert_eq!(message, "unknown field `nope`");
    assert_eq!(details["field"], "nope");
    let (code, message) = served.post("/api/compose/--seal", &json!({})).error(404);
    assert_eq!(
        (code.as_str(), message.as_str()),
        ("NOT_FOUND", "no recipe `--seal`")
    );
    assert_eq!(
        served.post("/api/compose/..%2Fx", &json!({})).error(404).0,
        "NOT_FOUND"
    );
    assert_eq!(
        served
            .post("/api/compose/layers?budget=1", &json!({}))
            .error(400)
            .0,
        "VALIDATION_ERROR"
    );
}

#[test]
fn recipes_come_with_their_schemas_and_samples() {
    let project = Project::new();
    let served = Served::start(&project);
    let recipes = served.get("/api/recipes?limit=100").expect(200);
    let names: Vec<&str> = recipes["data"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|recipe| recipe["name"].as_str())
        .collect();
    assert!(
        names.contains(&"layers") && names.contains(&"sprint/dev-story"),
        "{names:?}"
    );
    for name in ["layers", "sprint%2Fdev-story"] {
        let schema = served
            .get(&format!("/api/recipes/{name}/schema"))
            .expect(200);
        assert_eq!(schema["data"]["type"], "object");
    }
    let sample = served.get("/api/recipes/layers/sample").expect(200)["data"].clone();
    assert_eq!(sample["file"], "sample.yaml");
    let composed = served.post("/api/compose/layers", &json!({"yaml": sample["text"]}));
    composed.expect(200);
    assert_eq!(
        served.get("/api/recipes/none/schema").error(404).1,
        "no recipe `none`"
    );
}

#[test]
fn sealed_prompts_are_listed_in_pages() {
    let project = demo();
    let served = Served::start(&project);
    let prompts = served.get("/api/prompts?limit=2").expect(200);
    assert_eq!(prompts["pagination"]["has_more"], true);
    let id = prompts["data"][0]["id"]
        .as_str()
        .unwrap_or_default()
        .to_owned();
    let total = prompts["pagination"]["total"].as_u64().unwrap_or_default();
    let last = served
        .get(&format!("/api/prompts?limit=1&offset={}", total - 1))
        .expect(200);
    assert_eq!(
        last["pagination"],
        json!({"total": total, "has_more": false})
    );
    let recipe = prompts["data"][0]["recipe"]
        .as_str()
        .unwrap_or_default()
        .replace('/', "%2F");
    let same = served
        .get(&format!("/api/prompts?recipe={recipe}"))
        .expect(200);
    assert_eq!(same["data"][0]["id"], json!(id));
}

/// Returns the ids of the two newest prompts.
fn newest(served: &Served) -> (String, String) {
    let prompts = served.get("/api/prompts?limit=2").expect(200);
    let of = |nth: usize| {
        prompts["data"][nth]["id"]
            .as_str()
            .unwrap_or_default()
            .to_owned()
    };
    (of(0), of(1))
}

#[test]
fn sealed_prompts_are_told_byte_by_byte() {
    let project = demo();
    let served = Served::start(&project);
    let (id, other) = newest(&served);
    let text = served.get(&format!("/api/prompts/{id}/text"));
    assert_eq!(
        text.header("content-type"),
        Some("text/plain; charset=utf-8")
    );
    let shown = project.run(&["show", &id, "--part", "text"]);
    if shown.code() == Some(0) {
        assert_eq!(text.body, shown.stdout);
    }
    let detail = served.get(&format!("/api/prompts/{id}")).expect(200)["data"].clone();
    assert_eq!(detail["text"], text.text());
    assert_eq!(detail["bytes"], text.body.len());
    let manifest = served
        .get(&format!("/api/prompts/{id}/manifest"))
        .expect(200);
    assert_eq!(manifest["data"]["sections"], detail["sections"]);
    let map = served
        .get(&format!("/api/prompts/{id}/source-map"))
        .expect(200);
    assert_eq!(map["data"]["spans"][0]["start"], 0);

    let asked = |args: &[&str]| project.run(args).json();
    let told = |path: &str| served.get(path).expect(200)["data"].clone();
    assert_eq!(
        told(&format!("/api/prompts/{id}/cache")),
        asked(&["cache", &id, "--json"])
    );
    assert_eq!(
        told(&format!("/api/prompts/{id}/cache?other={other}")),
        asked(&["cache", &id, &other, "--json"])
    );
    assert_eq!(
        told(&format!("/api/prompts/{id}/diff/{other}")),
        asked(&["diff", &id, &other, "--json"])
    );
    assert_eq!(
        told(&format!("/api/prompts/{id}/why?at=3")),
        asked(&["why", &id, "--at", "3", "--json"])
    );
    let far = served.get(&format!("/api/prompts/{id}/why?at=99999999"));
    assert_eq!(far.error(400).0, "VALIDATION_ERROR");
    let none = told(&format!("/api/prompts/{id}/why?text=no%20such%20text"));
    assert_eq!(none["places"], json!([]));
    assert_eq!(
        served.get("/api/prompts/00000000000000").error(404).0,
        "NOT_FOUND"
    );
    assert_eq!(served.get("/api/prompts/no%20id").error(404).0, "NOT_FOUND");
    assert_eq!(
        served.get("/api/prompts?limit=0").error(400).1,
        "`limit` is 0; it has to be from 1 to 100"
    );
}

#[test]
fn the_prompt_of_a_run_is_that_of_its_seal() {
    let project = demo();
    let served = Served::start(&project);
    let runs = project.run(&["runs", "--limit", "2", "--json"]).json();
    let of = |nth: usize, name: &str| {
        runs["runs"][nth][name]
            .as_str()
            .unwrap_or_default()
            .to_owned()
    };
    let (run, prompt) = (of(0, "id"), of(0, "prompt"));
    let told = |path: &str| served.get(path).expect(200);
    for part in ["manifest", "source-map", "cache"] {
        assert_eq!(
            told(&format!("/api/runs/{run}/{part}")),
            told(&format!("/api/prompts/{prompt}/{part}"))
        );
    }
    assert_eq!(
        told(&format!("/api/runs/{run}/prompt")),
        told(&format!("/api/prompts/{prompt}"))
    );
    let bytes = served.get(&format!("/api/runs/{run}/prompt/text")).body;
    assert_eq!(
        bytes,
        served.get(&format!("/api/prompts/{prompt}/text")).body
    );
    let other = of(1, "id");
    assert_eq!(
        told(&format!("/api/runs/{run}/diff/{other}")),
        told(&format!("/api/prompts/{prompt}/diff/{}", of(1, "prompt")))
    );
    let found = told("/api/search?q=story&limit=1")["data"].clone();
    assert_eq!(found["hits"].as_array().map(Vec::len), Some(1));
    assert_eq!(told("/api/search?q=zzzzzzzz")["data"]["hits"], json!([]));
    assert_eq!(
        served.get("/api/search?q=%20").error(400).1,
        "`q` has no words"
    );
    assert_eq!(served.get("/api/search").error(400).0, "VALIDATION_ERROR");
    assert_eq!(told("/api/search?q=--help")["data"]["more"], false);
}
