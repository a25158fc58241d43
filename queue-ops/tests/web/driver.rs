//! A real browser, by the WebDriver protocol (<https://www.w3.org/TR/webdriver2>): the few commands that these tests need.

use std::{
    io::{BufRead, BufReader, Read},
    process::{Child, ChildStdout, Command, Stdio},
    time::Duration,
};

use base64::{Engine, prelude::BASE64_STANDARD};
use serde_json::{Value, json};
use ureq::Agent;

/// The name under which the protocol puts an element's id.
const ELEMENT: &str = "element-6066-11e4-a52e-4f735466cecf";

/// Chromium's driver.
pub(crate) struct Driver {
    process: Child,
    /// The driver would die of a word more that nobody takes.
    _stdout: BufReader<ChildStdout>,
    agent: Agent,
    url: String,
}

/// Browsers that may fail to start, as they do on a starved machine: each start has a limit of time.
const STARTS: usize = 5;

impl Driver {
    pub(crate) fn start() -> Self {
        let started = Command::new("chromedriver")
            .arg("--port=0")
            .stdout(Stdio::piped())
            .spawn();
        let mut process = started.unwrap_or_else(|error| {
            panic!(
                "chromedriver: {error}. Install the packages `chromium` and `chromium-driver`; `./scripts/test` does"
            )
        });
        let mut stdout = BufReader::new(process.stdout.take().expect("a pipe"));
        let port = stdout.by_ref().lines().find_map(|line| {
            let line = line.expect("text");
            let port = line.split("started successfully on port ").nth(1)?;
            Some(port.trim_end_matches('.').to_owned())
        });
        let agent = Agent::config_builder()
            .http_status_as_error(false)
            .timeout_global(Some(Duration::from_secs(120)))
            .build()
            .new_agent();
        Self {
            process,
            _stdout: stdout,
            agent,
            url: format!(
                "http://127.0.0.1:{}",
                port.expect("chromedriver says its port")
            ),
        }
    }

    /// A browser of this width, with or without script.
    pub(crate) fn browser(&self, width: u32, script: bool) -> Browser {
        self.browser_with(width, script, "light")
    }

    /// A browser of this width whose user prefers this scheme of colours: `light` or `dark`.
    pub(crate) fn browser_with(&self, width: u32, script: bool, scheme: &str) -> Browser {
        let size = format!("--window-size={width},1000");
        let number = if scheme == "dark" { 0 } else { 1 };
        let scheme = format!("--blink-settings=preferredColorScheme={number}");
        let mut options = json!({
            "args": ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", size, scheme],
        });
        if width < 500 {
            // A window is never that narrow; a phone is.
            let metrics = json!({ "width": width, "height": 800, "pixelRatio": 2.0 });
            options["mobileEmulation"] = json!({ "deviceMetrics": metrics });
        }
        if !script {
            options["prefs"] = json!({ "profile.managed_default_content_settings.javascript": 2 });
        }
        let wanted =
            json!({ "capabilities": { "alwaysMatch": { "goog:chromeOptions": options } } });
        let session = format!("{}/session", self.url);
        let start = || send(self.agent.post(&session).send_json(&wanted));
        let mut made = start();
        for _ in 1..STARTS {
            match &made {
                Err(error) if error.starts_with("session not created") => made = start(),
                _ => break,
            }
        }
        let made = made.expect("a browser");
        let id = made["sessionId"].as_str().expect("an id");
        Browser {
            agent: self.agent.clone(),
            url: format!("{session}/{id}"),
        }
    }
}

impl Drop for Driver {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// The value of a response, or its error.
fn send(response: Result<ureq::http::Response<ureq::Body>, ureq::Error>) -> Result<Value, String> {
    let mut response = response.map_err(|error| error.to_string())?;
    let body: Value = response
        .body_mut()
        .read_json()
        .map_err(|error| error.to_string())?;
    match body["value"]["error"].as_str() {
        Some(error) => Err(format!("{error}: {}", body["value"]["message"])),
        None => Ok(body["value"].clone()),
    }
}

/// A window of the browser. Dropping it closes the window.
pub(crate) struct Browser {
    agent: Agent,
    url: String,
}

impl Browser {
    fn post(&self, command: &str, body: &Value) -> Result<Value, String> {
        send(
            self.agent
                .post(format!("{}/{command}", self.url))
                .send_json(body),
        )
    }

    fn get(&self, command: &str) -> Result<Value, String> {
        send(self.agent.get(format!("{}/{command}", self.url)).call())
    }

    pub(crate) fn goto(&self, url: &str) {
        self.post("url", &json!({ "url": url })).expect("it loads");
    }

    /// The first element that this CSS selector, or this XPath that begins with `/`, finds.
    pub(crate) fn find(&self, selector: &str) -> Result<Element<'_>, String> {
        let using = match selector.starts_with('/') {
            true => "xpath",
            false => "css selector",
        };
        let found = self.post("element", &json!({ "using": using, "value": selector }))?;
        Ok(Element {
            browser: self,
            id: found[ELEMENT].as_str().expect("an id").to_owned(),
        })
    }

    /// Runs a script of the test in the page.
    pub(crate) fn ask(&self, script: &str) -> Value {
        let body = json!({ "script": script, "args": [] });
        self.post("execute/sync", &body).expect("it runs")
    }

    /// A picture of the window, as PNG.
    pub(crate) fn screenshot(&self) -> Vec<u8> {
        let picture = self.get("screenshot").expect("a picture");
        let text = picture.as_str().expect("base 64");
        BASE64_STANDARD.decode(text).expect("base 64")
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        let _ = self.agent.delete(&self.url).call();
    }
}

/// An element of the page.
pub(crate) struct Element<'a> {
    browser: &'a Browser,
    id: String,
}

impl Element<'_> {
    pub(crate) fn text(&self) -> Result<String, String> {
        let text = self.browser.get(&format!("element/{}/text", self.id))?;
        Ok(text.as_str().unwrap_or_default().to_owned())
    }

    pub(crate) fn click(&self) -> Result<(), String> {
        let command = format!("element/{}/click", self.id);
        self.browser.post(&command, &json!({})).map(drop)
    }

    pub(crate) fn type_in(&self, text: &str) {
        let command = format!("element/{}/value", self.id);
        self.browser
            .post(&command, &json!({ "text": text }))
            .expect("keys");
    }
}
