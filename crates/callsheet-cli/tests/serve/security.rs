//! Who gets in, from where, and how far: by token, by name, by origin and by path.

#![expect(clippy::unwrap_used, reason = "what a test cannot read fails it")]

use serde_json::{Value, json};

use crate::api::desk;
use crate::desk::Desk;
use crate::server::{Answer, Server};

/// What stands on every answer, whoever gets it.
const HEADERS: [(&str, &str); 7] = [
    (
        "content-security-policy",
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; \
        form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    ),
    ("x-content-type-options", "nosniff"),
    ("x-frame-options", "DENY"),
    ("referrer-policy", "no-referrer"),
    ("cross-origin-opener-policy", "same-origin"),
    ("cross-origin-resource-policy", "same-origin"),
    (
        "permissions-policy",
        "camera=(), geolocation=(), microphone=()",
    ),
];

/// Pages, and what is neither a page nor of the interface.
const OTHERS: [&str; 3] = ["/", "/openapi.json", "/nothing"];

/// Paths that would lead out of what is served.
const OUT: [&str; 29] = [
    "/assets/../Cargo.toml",
    "/assets/../../../../../../etc/passwd",
    "/assets/..%2f..%2fCargo.toml",
    "/assets/%2e%2e/%2e%2e/Cargo.toml",
    "/assets/%2Fetc%2Fpasswd",
    "/assets//etc/passwd",
    "/assets/tokens.css%00.js",
    "/assets/..\\..\\Cargo.toml",
    "/../etc/passwd",
    "//etc/passwd",
    "/api/runs/..%2f..%2fsecret",
    "/api/runs/%00",
    "/api/runs/%2e%2e/log",
    "/api/runs/x%00y/log",
    "/api/agent-profiles/..%2f..%2fcallsheet",
    "/api/agent-profiles/%2e%2e",
    "/api/agent-profiles/a%00b",
    "/api/projects/project/files?path=..",
    "/api/projects/project/files?path=..%2f",
    "/api/projects/project/files?path=%2e%2e%2f%2e%2e",
    "/api/projects/project/files?path=src%2f..%2f..",
    "/api/projects/project/files?path=%2fetc",
    "/api/projects/project/files?path=src%00",
    "/api/projects/project/files?path=.callsheet",
    "/api/projects/project/files?path=./.git/objects",
    "/api/projects/..%2fother",
    "/api/tasks/%2e%2e%2f/runs",
    "/%ff%fe",
    "/api/%c0%ae%c0%ae/",
];

fn quiet() -> Desk {
    desk("cat > /dev/null; echo said", "")
}

/// Returns every method and path of the document of the interface, with its parameters filled.
fn endpoints(server: &Server) -> Vec<(String, String)> {
    let document = server.get("/openapi.json").json();
    let mut found = Vec::new();
    for (path, methods) in document["paths"].as_object().unwrap() {
        let filled: Vec<&str> = path
            .split('/')
            .map(|part| if part.starts_with('{') { "x" } else { part })
            .collect();
        for method in methods.as_object().unwrap().keys() {
            if ["get", "post", "put", "patch", "delete", "head"].contains(&method.as_str()) {
                found.push((method.to_uppercase(), filled.join("/")));
            }
        }
    }
    assert!(found.len() > 30, "{found:?}");
    found
}

fn bearer(token: &str) -> String {
    format!("Bearer {token}")
}

#[track_caller]
fn assert_headers(answer: &Answer, what: &str) {
    for (name, value) in HEADERS {
        assert_eq!(answer.header(name), Some(value), "{name} of {what}");
    }
    let cached = answer.header("cache-control");
    assert!(
        matches!(cached, Some("no-store" | "private, no-cache")),
        "{what}: {cached:?}"
    );
    // Nobody else's page may read what is answered.
    assert_eq!(answer.header("access-control-allow-origin"), None, "{what}");
}

#[test]
fn nobody_gets_in_without_a_token() {
    let server = Server::start(quiet());
    let root = server.desk.project.root().display().to_string();
    let wrong = bearer(&"0".repeat(64));
    let basic = format!("Basic {}", server.token);
    let cut = bearer(&server.token[..63]);
    let foreign_cookie = format!("callsheet_1={}", server.token);
    let all = endpoints(&server);
    let others = OTHERS.map(|path| ("GET".to_owned(), path.to_owned()));
    let pages = [
        "/sprint",
        "/runs",
        "/history",
        "/limits",
        "/settings",
        "/ws",
    ];
    let pages = pages.map(|path| ("GET".to_owned(), path.to_owned()));
    for (method, path) in all.iter().chain(&others).chain(&pages) {
        for header in [
            ("X-Nothing", ""),
            ("Authorization", wrong.as_str()),
            ("Authorization", basic.as_str()),
            ("Authorization", cut.as_str()),
            ("Authorization", "Bearer "),
            ("Cookie", foreign_cookie.as_str()),
        ] {
            let answer = server.request((method, path), &[header], "");
            assert_eq!(
                answer.status, 401,
                "{method} {path} {header:?}: {}",
                answer.body
            );
            assert_headers(&answer, path);
            assert!(!answer.body.contains(&root), "{}", answer.body);
        }
    }
    let wrong = server.request(("GET", "/?token=0000"), &[], "");
    assert_eq!(wrong.status, 401);
    assert_eq!(wrong.header("set-cookie"), None);
}

#[test]
fn a_token_that_may_only_read_changes_nothing() {
    let server = Server::start(quiet());
    let token = bearer(&server.read_token);
    let headers = [
        ("Authorization", token.as_str()),
        ("Content-Type", "application/json"),
    ];
    let mut writing = 0;
    for (method, path) in endpoints(&server) {
        if method == "GET" || method == "HEAD" || path.starts_with("/api/compose/") {
            continue;
        }
        writing += 1;
        let answer = server.request((&method, &path), &headers, "{}");
        assert_eq!(
            answer.error(),
            "403 FORBIDDEN: this token may only read",
            "{method} {path}"
        );
    }
    assert!(writing >= 15, "{writing}");
    // What is not in the document is not open either.
    for path in [
        "/",
        "/api/runs",
        "/api/nothing",
        "/ws",
        "/assets/tokens.css",
    ] {
        for method in ["POST", "PUT", "PATCH", "DELETE", "OPTIONS", "BREW"] {
            let answer = server.request((method, path), &headers, "{}");
            assert_eq!(answer.status, 403, "{method} {path}: {}", answer.body);
        }
    }
    assert_eq!(
        server
            .request(("GET", "/api/runs"), &headers[..1], "")
            .status,
        200
    );
}

#[test]
fn a_page_with_its_token_becomes_a_cookie() {
    let server = Server::start(quiet());
    let target = format!("/api/limits?token={}&x=1", server.token);
    let entered = server.request(("GET", &target), &[], "");
    assert_eq!(entered.status, 303);
    assert_eq!(entered.header("location"), Some("/api/limits?x=1"));
    assert_headers(&entered, "the entrance");
    let cookie = entered.header("set-cookie").unwrap();
    let port = server.host.split_once(':').unwrap().1;
    assert_eq!(
        cookie,
        format!(
            "callsheet_{port}={}; Path=/; HttpOnly; SameSite=Strict",
            server.token
        )
    );
    let cookie = cookie.split(';').next().unwrap();
    let asked = server.request(("GET", "/api/limits"), &[("Cookie", cookie)], "");
    assert_eq!(asked.status, 200);
    // An address leads nowhere else.
    let away = server.request(
        ("GET", &format!("//evil.example/?token={}", server.token)),
        &[],
        "",
    );
    assert_eq!(away.header("location"), Some("/evil.example/"));
}

#[test]
fn other_names_are_kept_out() {
    let server = Server::start(quiet());
    let token = bearer(&server.token);
    let port = server.host.split_once(':').unwrap().1;
    let auth = ("Authorization", token.as_str());
    for host in [
        "evil.example",
        "127.0.0.1",
        "127.0.0.1:1",
        "evil.example:80",
        "",
        &format!("127.0.0.1.evil.example:{port}"),
    ] {
        for path in [
            "/",
            "/api/runs",
            "/assets/tokens.css",
            "/openapi.json",
            "/ws",
        ] {
            let answer = server.request(("GET", path), &[("Host", host), auth], "");
            assert_eq!(answer.status, 403, "{host} {path}: {}", answer.body);
            assert_headers(&answer, path);
        }
    }
    for host in [
        format!("localhost:{port}"),
        format!("LOCALHOST:{port}"),
        format!("[::1]:{port}"),
    ] {
        let answer = server.request(("GET", "/api/runs"), &[("Host", &host), auth], "");
        assert_eq!(answer.status, 200, "{host}: {}", answer.body);
    }
    // Without a name there is no answer.
    let request =
        format!("GET /api/runs HTTP/1.1\r\nConnection: close\r\nAuthorization: {token}\r\n\r\n");
    assert!([400, 403].contains(&server.send(request.as_bytes()).status));
}

#[test]
fn other_sites_are_kept_out() {
    let server = Server::start(quiet());
    let token = bearer(&server.token);
    let port = server.host.split_once(':').unwrap().1;
    let auth = ("Authorization", token.as_str());
    let cookie = format!("callsheet_{port}={}", server.token);
    let new = json!({"title": "x", "write_scope": ["src/**"]}).to_string();
    let path = "/api/projects/project/tasks";
    let json = ("Content-Type", "application/json");
    for foreign in [
        ("Origin", "http://evil.example"),
        ("Origin", "null"),
        ("Origin", "http://127.0.0.1:1"),
        ("Origin", &format!("https://127.0.0.1:{port}")),
        ("Sec-Fetch-Site", "cross-site"),
        ("Sec-Fetch-Site", "same-site"),
    ] {
        for who in [auth, ("Cookie", cookie.as_str())] {
            let answer = server.request(("POST", path), &[who, json, foreign], &new);
            assert_eq!(
                answer.error(),
                "403 FORBIDDEN: the request comes from another site",
                "{foreign:?}"
            );
        }
        let upgrade = [
            auth,
            foreign,
            ("Upgrade", "websocket"),
            ("Connection", "Upgrade"),
        ];
        assert_eq!(
            server.request(("GET", "/ws"), &upgrade, "").status,
            403,
            "{foreign:?}"
        );
    }
}

#[test]
fn what_a_form_can_send_is_no_request() {
    let server = Server::start(quiet());
    let port = server.host.split_once(':').unwrap().1;
    let cookie = format!("callsheet_{port}={}", server.token);
    let new = json!({"title": "x", "write_scope": ["src/**"]}).to_string();
    let path = "/api/projects/project/tasks";
    let json = ("Content-Type", "application/json");
    // What a form of another site can send is no request, even where a browser tells nothing.
    for kind in [
        "application/x-www-form-urlencoded",
        "multipart/form-data; boundary=x",
        "text/plain",
        "",
    ] {
        let headers = [("Cookie", cookie.as_str()), ("Content-Type", kind)];
        let answer = server.request(("POST", path), &headers, &new);
        assert_eq!(
            answer.error(),
            "400 VALIDATION_ERROR: the body has to be JSON, with `Content-Type: application/json`"
        );
    }
    assert_eq!(server.get(path).json()["pagination"]["total"], 0);
    let ours = format!("http://{}", server.host);
    let headers = [
        ("Cookie", cookie.as_str()),
        json,
        ("Origin", &ours),
        ("Sec-Fetch-Site", "same-origin"),
    ];
    assert_eq!(server.request(("POST", path), &headers, &new).status, 201);
}

#[test]
fn no_path_leads_out() {
    let server = Server::start(quiet());
    let secret = server.desk.project.outside().join("secret");
    std::fs::write(&secret, "top secret").unwrap();
    for target in OUT {
        let answer = server.get(target);
        assert!([400, 404].contains(&answer.status), "{target}: {answer:?}");
        assert!(
            !answer.body.contains("root:") && !answer.body.contains("top secret"),
            "{target}"
        );
        assert!(!answer.body.contains("[package]"), "{target}");
        assert_headers(&answer, target);
        if target.starts_with("/api/") {
            let code = answer.json()["error"]["code"].clone();
            assert!(
                code == "VALIDATION_ERROR" || code == "NOT_FOUND",
                "{target}: {code}"
            );
        }
    }
    for method in ["PATCH", "DELETE"] {
        let body = json!({});
        for name in ["..%2f..%2fcallsheet", "%2e%2e", "a%00b", "..%5cx"] {
            let target = format!("/api/agent-profiles/{name}");
            let answer = server.ask(method, &target, Some(&body));
            assert!(
                [400, 404].contains(&answer.status),
                "{method} {target}: {}",
                answer.body
            );
        }
    }
    assert!(secret.exists() && server.desk.project.path("callsheet.toml").exists());
}

/// Returns what can be read of a project with a task and a run.
fn readable(server: &Server, (task, run): (&str, &str)) -> Vec<String> {
    let mut targets: Vec<String> = endpoints(server)
        .into_iter()
        .filter(|(method, path)| method == "GET" && path != "/api/events")
        .map(|(_, path)| path)
        .collect();
    targets.extend(OTHERS.map(str::to_owned));
    targets.extend(
        [
            "/sprint",
            "/runs",
            "/history",
            "/limits",
            "/settings",
            "/compose",
        ]
        .map(str::to_owned),
    );
    targets.extend([
        format!("/api/runs/{run}"),
        format!("/api/runs/{run}/log"),
        format!("/api/runs/{run}/events"),
        format!("/api/runs/{run}/proof"),
        format!("/api/tasks/{task}"),
        "/api/projects/project/monitor".to_owned(),
        "/api/projects/project/files?depth=5".to_owned(),
        "/assets/tokens.css".to_owned(),
        "/assets/none".to_owned(),
    ]);
    targets
}

#[test]
fn every_answer_has_the_headers_and_none_a_token() {
    let server = Server::start(quiet());
    let task = server.task("One <script>alert(1)</script>");
    let run = server.run(&task);
    server.over(&run);
    let mut answers: Vec<(String, Answer)> = Vec::new();
    let targets = readable(&server, (&task, &run));
    for target in targets {
        let answer = server.get(&target);
        answers.push((target, answer));
    }
    answers.push((
        "a method".to_owned(),
        server.ask("DELETE", "/api/runs", None),
    ));
    answers.push((
        "a body".to_owned(),
        server.ask("POST", "/api/projects", None),
    ));
    answers.push(("a head".to_owned(), server.ask("HEAD", "/api/runs", None)));
    for (what, answer) in &answers {
        assert!(
            answer.status > 0 && answer.status < 500,
            "{what}: {answer:?}"
        );
        assert_headers(answer, what);
        for token in [&server.token, &server.read_token] {
            let held = format!("{:?}{}", answer.headers, answer.body);
            assert!(!held.contains(token.as_str()), "{what}");
        }
        let kind = answer.header("content-type").unwrap_or_default();
        assert!(
            kind != "text/plain; charset=utf-8",
            "{what}: {}",
            answer.body
        );
        if kind == "application/json" && answer.status >= 400 && !answer.body.is_empty() {
            let body = answer.json();
            assert!(body["error"]["message"].is_string(), "{what}: {body}");
        }
    }
    // Neither what is said nor what is kept of the run has one; only its owner can read where the server is.
    let said = server.said();
    let log = server.desk.project.run(&["log", &run]).text();
    let events = server.desk.project.run(&["events", "--json"]).text();
    for token in [&server.token, &server.read_token] {
        assert!(!said.contains(token.as_str()), "{said}");
        assert!(!log.contains(token.as_str()) && !events.contains(token.as_str()));
    }
}

#[test]
fn no_endpoint_takes_a_command() {
    let server = Server::start(quiet());
    let document = server.get("/openapi.json").json();
    let mut names = Vec::new();
    collect(&document["paths"], &document, &mut names, 0);
    for name in ["command", "cmd", "shell", "argv", "script", "exec"] {
        assert!(!names.iter().any(|known| known == name), "{name}");
    }
}

/// Collects the names of the properties of request bodies.
fn collect(value: &Value, document: &Value, names: &mut Vec<String>, depth: usize) {
    let Some(fields) = value.as_object().filter(|_| depth < 20) else {
        let items = value.as_array().into_iter().flatten();
        return items.for_each(|item| collect(item, document, names, depth + 1));
    };
    for (name, value) in fields {
        match name.as_str() {
            "responses" => {}
            "$ref" => {
                let pointer = value.as_str().unwrap_or_default().trim_start_matches('#');
                let target = document.pointer(pointer).unwrap_or(&Value::Null);
                collect(target, document, names, depth + 1);
            }
            "properties" => {
                names.extend(
                    value
                        .as_object()
                        .into_iter()
                        .flatten()
                        .map(|(name, _)| name.clone()),
                );
                collect(value, document, names, depth + 1);
            }
            _ => collect(value, document, names, depth + 1),
        }
    }
}
