//! A real browser, by WebDriver.

use std::{
    io::{BufRead, BufReader},
    process::{Child, Command, Stdio},
};

use fantoccini::{Client, ClientBuilder};
use hyper_util::client::legacy::connect::HttpConnector;
use serde_json::{Map, Value, json};

/// Chromium's driver.
pub(crate) struct Driver {
    process: Child,
    url: String,
}

impl Driver {
    pub(crate) fn start() -> Self {
        let started = Command::new("chromedriver")
            .arg("--port=0")
            .stdout(Stdio::piped())
            .spawn();
        let mut process = started.unwrap_or_else(|error| {
            panic!("chromedriver: {error}. Install the packages `chromium` and `chromium-driver`; `./scripts/test` does")
        });
        let stdout = BufReader::new(process.stdout.take().expect("a pipe"));
        let port = stdout.lines().find_map(|line| {
            let line = line.expect("text");
            let port = line.split("started successfully on port ").nth(1)?;
            Some(port.trim_end_matches('.').to_owned())
        });
        let port = port.expect("chromedriver says its port");
        Self {
            process,
            url: format!("http://127.0.0.1:{port}"),
        }
    }

    /// A browser of this width, with or without script.
    pub(crate) async fn browser(&self, width: u32, script: bool) -> Client {
        let mut options = json!({
            "args": [
                "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
                format!("--window-size={width},1000"), "--force-color-profile=srgb",
            ],
        });
        if width < 500 {
            // A window is never that narrow; a phone is.
            options["mobileEmulation"] =
                json!({ "deviceMetrics": { "width": width, "height": 800, "pixelRatio": 2.0 } });
        }
        if !script {
            options["prefs"] = json!({ "profile.managed_default_content_settings.javascript": 2 });
        }
        let capabilities = Map::from_iter([("goog:chromeOptions".to_owned(), options)]);
        let mut builder = ClientBuilder::new(HttpConnector::new());
        builder
            .capabilities(capabilities)
            .connect(&self.url)
            .await
            .expect("a browser")
    }
}

impl Drop for Driver {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Runs a script of the test in the page.
pub(crate) async fn ask(browser: &Client, script: &str) -> Value {
    browser.execute(script, Vec::new()).await.expect("it runs")
}
