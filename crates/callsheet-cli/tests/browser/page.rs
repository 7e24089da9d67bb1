//! A page in the browser: where it is, what is on it, what is done to it, and what it has complained about.

#![expect(
    clippy::unwrap_used,
    reason = "a harness that cannot talk to its browser has nothing to test"
)]

use std::path::{Path, PathBuf};
use std::time::Instant;

use serde_json::{Value, json};

use crate::chromium::Chromium;
use crate::wire::{PATIENCE, Wire};

/// How long one look at a page waits for what has to come, before it looks anew.
const GLANCE: u32 = 500;

/// A page, with a browser of its own.
pub(crate) struct Page {
    wire: Wire,
    session: String,
    /// Where the page may go: `http://HOST:PORT`.
    origin: String,
    /// What the page has complained about.
    troubles: Vec<String>,
    /// What is dragged: the pointer has it, and the page has not got it yet.
    dragged: Option<Value>,
    chromium: Chromium,
}

impl Page {
    /// Opens an empty page; none where there is no browser.
    pub(crate) fn open(origin: &str) -> Option<Self> {
        let chromium = Chromium::start()?;
        let mut wire = Wire::connect(&chromium.address);
        let target = wire.ask(None, "Target.createTarget", &json!({"url": "about:blank"}));
        let target = target.unwrap()["targetId"].take();
        let attach = json!({"targetId": target, "flatten": true});
        let session = wire.ask(None, "Target.attachToTarget", &attach).unwrap();
        let mut page = Self {
            wire,
            session: session["sessionId"].as_str().unwrap().to_owned(),
            origin: origin.to_owned(),
            troubles: Vec::new(),
            dragged: None,
            chromium,
        };
        for domain in ["Page", "Runtime", "Log", "Network"] {
            page.ask(&format!("{domain}.enable"), &json!({}));
        }
        page.size(1440, 900);
        Some(page)
    }

    #[track_caller]
    fn ask(&mut self, method: &str, params: &Value) -> Value {
        self.try_to(method, params).unwrap()
    }

    fn try_to(&mut self, method: &str, params: &Value) -> Result<Value, String> {
        let answer = self.wire.ask(Some(&self.session), method, params);
        for event in self.wire.events() {
            if event["method"] == "Input.dragIntercepted" {
                self.dragged = Some(event["params"]["data"].clone());
            }
            if let Some(trouble) = trouble(&event, &self.origin) {
                self.troubles.push(trouble);
            }
        }
        answer
    }

    /// Goes to a path of our server, and waits until the page is there with its scripts.
    #[track_caller]
    pub(crate) fn goto(&mut self, path: &str) {
        let url = format!("{}{path}", self.origin);
        // The mark is gone with the page that has it.
        self.eval("globalThis.isOld = true");
        self.ask("Page.navigate", &json!({"url": url}));
        self.until("!globalThis.isOld && document.readyState === 'complete'");
    }

    /// Loads the page anew.
    #[track_caller]
    pub(crate) fn reload(&mut self) {
        self.eval("globalThis.isOld = true");
        self.ask("Page.reload", &json!({}));
        self.until("!globalThis.isOld && document.readyState === 'complete'");
    }

    /// Returns the value of an expression; a promise is waited for.
    #[track_caller]
    pub(crate) fn eval(&mut self, expression: &str) -> Value {
        self.try_eval(expression)
            .unwrap_or_else(|error| panic!("{expression}\n{error}"))
    }

    fn try_eval(&mut self, expression: &str) -> Result<Value, String> {
        let params = json!({"expression": expression, "awaitPromise": true, "returnByValue": true});
        let mut answer = self.try_to("Runtime.evaluate", &params)?;
        match answer.get("exceptionDetails") {
            Some(thrown) => Err(thrown.to_string()),
            None => Ok(answer["result"]["value"].take()),
        }
    }

    /// Returns a text.
    #[track_caller]
    pub(crate) fn text(&mut self, expression: &str) -> String {
        let value = self.eval(expression);
        value
            .as_str()
            .unwrap_or_else(|| panic!("{expression}: {value}"))
            .to_owned()
    }

    /// Waits until a condition holds; on the way the page may become another one.
    #[track_caller]
    pub(crate) fn until(&mut self, condition: &str) {
        let glance = format!(
            "new Promise((resolve) => {{
                const end = Date.now() + {GLANCE};
                const look = () => {{
                    let holds = false;
                    try {{ holds = Boolean({condition}); }} catch {{}}
                    if (holds || Date.now() > end) resolve(holds); else setTimeout(look, 10);
                }};
                look();
            }})"
        );
        let end = Instant::now() + PATIENCE;
        while Instant::now() < end {
            // A page that goes away takes the question along.
            if self.try_eval(&glance).is_ok_and(|holds| holds == true) {
                return;
            }
        }
        let page = self.try_eval("location.href + '\\n' + document.body.innerText.slice(0, 3000)");
        panic!("never: {condition}\n{page:?}\n{:?}", self.troubles);
    }

    /// Waits until an element can be seen, scrolls it into view and returns where the middle of it is.
    #[track_caller]
    fn middle(&mut self, selector: &str) -> Value {
        let element = format!("document.querySelector({})", json!(selector));
        self.until(&format!("{element}?.checkVisibility()"));
        self.eval(&format!(
            "(() => {{ const e = {element}; e.scrollIntoView({{block: 'center'}});
              const b = e.getBoundingClientRect(); return {{x: b.x + b.width / 2, y: b.y + b.height / 2}}; }})()"
        ))
    }

    /// Drags one element onto another with the mouse.
    #[track_caller]
    pub(crate) fn drag(&mut self, selector: &str, onto: &str) {
        self.ask("Input.setInterceptDrags", &json!({"enabled": true}));
        let from = self.middle(selector);
        // Nothing may scroll any more: the other one is taken where it reaches the same height.
        let to = self.eval(&format!(
            "(() => {{ const b = document.querySelector({}).getBoundingClientRect(); return {{x: b.x + b.width / 2, y: {}}}; }})()",
            json!(onto), from["y"]
        ));
        let mouse = |kind: &str, x: &Value, y: &Value| json!({"type": kind, "x": x, "y": y, "button": "left", "buttons": 1, "clickCount": 1});
        self.ask(
            "Input.dispatchMouseEvent",
            &mouse("mousePressed", &from["x"], &from["y"]),
        );
        let end = Instant::now() + PATIENCE;
        let data = loop {
            self.ask(
                "Input.dispatchMouseEvent",
                &mouse("mouseMoved", &to["x"], &to["y"]),
            );
            if let Some(data) = self.dragged.take() {
                break data;
            }
            assert!(Instant::now() < end, "{selector} cannot be dragged");
        };
        for kind in ["dragEnter", "dragOver", "drop"] {
            let drag = json!({"type": kind, "x": to["x"], "y": to["y"], "data": data});
            self.ask("Input.dispatchDragEvent", &drag);
        }
        self.ask(
            "Input.dispatchMouseEvent",
            &mouse("mouseReleased", &to["x"], &to["y"]),
        );
        self.ask("Input.setInterceptDrags", &json!({"enabled": false}));
    }

    /// Waits until an element can be seen, scrolls it into view and clicks on the middle of it.
    #[track_caller]
    pub(crate) fn click(&mut self, selector: &str) {
        let at = self.middle(selector);
        for kind in ["mousePressed", "mouseReleased"] {
            let mouse = json!({"type": kind, "x": at["x"], "y": at["y"], "button": "left", "clickCount": 1});
            self.ask("Input.dispatchMouseEvent", &mouse);
        }
    }

    /// Types a text into what has the focus.
    #[track_caller]
    pub(crate) fn type_in(&mut self, text: &str) {
        self.ask("Input.insertText", &json!({"text": text}));
    }

    /// Presses a key, such as `j`, `Enter` or `Control+k`.
    #[track_caller]
    pub(crate) fn press(&mut self, key: &str) {
        let (modifiers, key) = match key.split_once('+') {
            Some(("Control", key)) => (2, key),
            Some(("Shift", key)) => (8, key),
            _ => (0, key),
        };
        let code = match key {
            "Enter" => 13,
            "Escape" => 27,
            "Tab" => 9,
            "End" => 35,
            "ArrowLeft" => 37,
            "ArrowUp" => 38,
            "ArrowRight" => 39,
            "ArrowDown" => 40,
            key => u32::from(key.as_bytes()[0].to_ascii_uppercase()),
        };
        let text = match key {
            "Enter" => Some("\r"),
            key if key.len() == 1 && modifiers == 0 => Some(key),
            _ => None,
        };
        let mut event = json!({
            "type": if text.is_some() { "keyDown" } else { "rawKeyDown" },
            "key": key, "windowsVirtualKeyCode": code, "modifiers": modifiers,
        });
        if let Some(text) = text {
            event["text"] = text.into();
        }
        self.ask("Input.dispatchKeyEvent", &event);
        let up = json!({"type": "keyUp", "key": key, "windowsVirtualKeyCode": code, "modifiers": modifiers});
        self.ask("Input.dispatchKeyEvent", &up);
    }

    /// Sets how large the window is.
    pub(crate) fn size(&mut self, width: u32, height: u32) {
        let size =
            json!({"width": width, "height": height, "deviceScaleFactor": 1, "mobile": false});
        self.ask("Emulation.setDeviceMetricsOverride", &size);
    }

    /// Sets what the reader prefers, such as `prefers-color-scheme` and `dark`.
    pub(crate) fn media(&mut self, features: &[(&str, &str)]) {
        let features = features.iter();
        let features: Vec<Value> = features
            .map(|(name, value)| json!({"name": name, "value": value}))
            .collect();
        self.ask("Emulation.setEmulatedMedia", &json!({"features": features}));
    }

    /// Pulls the cable, or puts it back.
    pub(crate) fn offline(&mut self, is_offline: bool) {
        let network = json!({"offline": is_offline, "latency": 0, "downloadThroughput": -1, "uploadThroughput": -1});
        self.ask("Network.emulateNetworkConditions", &network);
    }

    /// Keeps what the page looks like, down to its end.
    pub(crate) fn screenshot(&mut self, name: &str) {
        let file = screenshots().join(format!("{name}.png"));
        self.shoot(&file, true);
    }

    /// Writes what is in the window to a file.
    pub(crate) fn picture(&mut self, file: &str) {
        self.shoot(file.as_ref(), false);
    }

    fn shoot(&mut self, file: &Path, is_whole: bool) {
        let format =
            json!({"format": "png", "captureBeyondViewport": is_whole, "optimizeForSpeed": false});
        let shot = self.ask("Page.captureScreenshot", &format);
        std::fs::write(file, decoded(shot["data"].as_str().unwrap())).unwrap();
    }

    /// Forgets complaints that have a text: those that the test has made on purpose.
    pub(crate) fn forgive(&mut self, text: &str) {
        // What was said before the answer to this has arrived.
        self.eval("0");
        self.troubles.retain(|trouble| !trouble.contains(text));
    }

    /// Fails if a page had an error, or asked somebody else.
    #[track_caller]
    pub(crate) fn assert_quiet(&mut self) {
        self.eval("0");
        assert_eq!(self.troubles, Vec::<String>::new());
    }

    /// Closes the browser, after the last look at what it has said.
    #[track_caller]
    pub(crate) fn close(mut self) {
        self.assert_quiet();
        // The answer may be lost with the browser.
        let _ = self.wire.ask(None, "Browser.close", &json!({}));
        self.chromium.wait();
    }
}

/// Returns what is wrong about something that a page has said or done.
fn trouble(event: &Value, origin: &str) -> Option<String> {
    let params = &event["params"];
    match event["method"].as_str()? {
        "Runtime.exceptionThrown" => Some(format!("exception: {}", params["exceptionDetails"])),
        "Runtime.consoleAPICalled" => {
            let is_bad = matches!(
                params["type"].as_str(),
                Some("error" | "warning" | "assert")
            );
            is_bad.then(|| format!("console: {}", params["args"]))
        }
        "Log.entryAdded" => {
            let entry = &params["entry"];
            let is_bad = matches!(entry["level"].as_str(), Some("error" | "warning"));
            is_bad.then(|| format!("log: {} {}", entry["text"], entry["url"]))
        }
        "Network.requestWillBeSent" => {
            let url = params["request"]["url"].as_str()?;
            let is_ours = url
                .strip_prefix(origin)
                .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
            let is_local = ["about:", "data:", "blob:"]
                .iter()
                .any(|kind| url.starts_with(kind));
            (!is_ours && !is_local).then(|| format!("request: {url}"))
        }
        _ => None,
    }
}

/// Returns the folder for screenshots.
pub(crate) fn screenshots() -> PathBuf {
    let tmp = PathBuf::from(env!("CARGO_TARGET_TMPDIR"));
    let folder = tmp.parent().unwrap().join("screenshots");
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

/// Returns what a text in Base64 stands for.
fn decoded(text: &str) -> Vec<u8> {
    let digits = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let values = text
        .bytes()
        .filter_map(|byte| digits.iter().position(|digit| *digit == byte));
    let (mut bytes, mut bits, mut held) = (Vec::new(), 0_usize, 0);
    for value in values {
        bits = (bits << 6 | value) & 0xffff;
        held += 6;
        if held >= 8 {
            held -= 8;
            bytes.push(u8::try_from(bits >> held & 0xff).unwrap());
        }
    }
    bytes
}
