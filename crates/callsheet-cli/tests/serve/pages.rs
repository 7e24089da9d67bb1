//! The pages: what they say without a script, in an empty project and after an agent that left its scope.

use serde_json::json;

use crate::api::desk;
use crate::server::Server;

/// Every page without a parameter of its own.
const PAGES: [&str; 5] = ["/", "/sprint", "/history", "/limits", "/settings"];

/// An agent that changes what it may, and a file with a name that no page may take for anything but text.
const AGENT: &str =
    "cat > /dev/null; echo 'fn login() { true }' > src/login.rs; echo x > '<script>alert(1)<b>.md'";

const SETTINGS: &str = "
[[checks]]
name = \"builds\"
command = [\"test\", \"-f\", \"src/login.rs\"]
";

/// Returns what stands in a page between two texts.
#[track_caller]
fn between<'p>(page: &'p str, from: &str, to: &str) -> &'p str {
    let (_, rest) = page.split_once(from).unwrap_or_else(|| panic!("no {from}"));
    rest.split_once(to).unwrap_or_else(|| panic!("no {to}")).0
}

#[test]
fn an_empty_project_says_on_each_page_what_to_do_next() {
    let server = Server::start(desk("true", ""));
    let said = [
        ("/", "<h3>Nothing needs you</h3>"),
        ("/sprint", "<h3>There is no board</h3>"),
        ("/history", "<h3>No run in this period</h3>"),
        ("/limits", "<h3>No account was used yet</h3>"),
        ("/settings", "value=\"\" placeholder=\"the project&#x27;s\""),
    ];
    for (page, text) in said {
        let answer = server.get(page);
        assert_eq!(answer.status, 200, "{page}: {}", answer.body);
        assert!(answer.body.contains(text), "{page}: {}", answer.body);
    }
}

#[test]
fn what_waits_is_told_as_text_with_its_actions() {
    let server = Server::start(desk(AGENT, SETTINGS));
    let run = server.run(&server.task("Log in <script>alert(2)</script>"));
    server.over(&run);
    let page = server.get("/").body;
    assert!(!page.contains("<script>alert"), "{page}");
    let list = between(&page, "<ol class=\"calls\"", "</ol>");
    assert!(
        list.contains("Log in &lt;script&gt;alert(2)&lt;/script&gt;"),
        "{list}"
    );
    assert!(
        list.contains("&lt;script&gt;alert(1)&lt;b&gt;.md"),
        "{list}"
    );
    let url = format!("/api/scope-violations/{run}.1/approve");
    assert!(list.contains(&format!("data-url=\"{url}\"")), "{list}");
    let count = between(&page, "<span class=\"count\">", "</a>");
    assert!(
        count.contains("1<span class=\"vh\"> waiting</span>"),
        "{count}"
    );

    server.ask("POST", &url, None).data(200);
    let page = server.get("/").body;
    assert!(page.contains("Ready to merge"), "{page}");
    let shown = server.get("/history?verdict=passed").body;
    assert!(shown.contains(&format!("/runs/{run}")), "{shown}");
    let none = server.get("/history?verdict=failed").body;
    assert!(none.contains("No run fits these filters"), "{none}");
}

#[test]
fn whoever_may_only_read_gets_no_actions() {
    let server = Server::start(desk(AGENT, SETTINGS));
    let run = server.run(&server.task("Log in"));
    server.over(&run);
    let token = format!("Bearer {}", server.read_token);
    for page in PAGES {
        let request = format!(
            "GET {page} HTTP/1.1\r\nHost: {}\r\nAuthorization: {token}\r\nConnection: close\r\n\r\n",
            server.host
        );
        let answer = server.send(request.as_bytes());
        assert_eq!(answer.status, 200, "{page}");
        assert!(answer.body.contains("Read only"), "{page}");
        assert!(
            !answer.body.contains("data-url="),
            "{page}: {}",
            answer.body
        );
        assert!(!answer.body.contains("type=\"submit\">Save"), "{page}");
    }
}

#[test]
fn what_is_wrong_with_an_address_is_told_on_a_page() {
    let server = Server::start(desk("true", ""));
    let asked = [
        (
            "/history?days=x",
            400,
            "`days` is a number from 1 to 3650, or `all`",
        ),
        ("/history?offset=-1", 400, "`offset` is a number"),
        ("/history?q=%00", 400, "the address has the character NUL"),
        (
            "/stories/nothing",
            404,
            "this project has no `sprint-status.yaml`",
        ),
        ("/nothing", 404, "no page `/nothing`"),
    ];
    for (target, status, message) in asked {
        let answer = server.get(target);
        assert_eq!(answer.status, status, "{target}");
        let title = between(&answer.body, "id=\"h-error\">", "</h1>");
        assert!(title.contains(message), "{target}: {title}");
    }
}

#[test]
fn the_palette_finds_by_name() {
    let server = Server::start(desk("cat > /dev/null", ""));
    let run = server.run(&server.task("Log in"));
    server.over(&run);
    let found = server.get(&format!("/find?q={}", &run[..8])).json();
    let urls: Vec<_> = found["data"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| &one["url"])
        .collect();
    assert!(urls.contains(&&json!(format!("/runs/{run}"))), "{found}");
    assert_eq!(server.get("/find?q=").json(), json!({"data": []}));
}
