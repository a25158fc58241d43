//! The settings of `qk web`, each on the page.

use std::{
    io::{BufRead, BufReader, Read, Write},
    net::TcpStream,
    process::{Child, Command, Stdio},
};

use queue_core::*;
use queue_schedule::{Periodic, Scheduler, Schedules};

use crate::site::{HOUR, Site};

/// `qk web`, which ends with this value.
pub(crate) struct Page {
    process: Child,
    address: String,
}

impl Page {
    fn start(site: &Site, settings: &[&str]) -> Self {
        Self::of(&site.server.url(), settings)
    }

    pub(crate) fn of(url: &str, settings: &[&str]) -> Self {
        let mut process = Command::new(env!("CARGO_BIN_EXE_qk"))
            .args(["web", "--listen", "127.0.0.1:0"])
            .args(settings)
            .env("QUEUE_URL", url)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        let mut lines = BufReader::new(process.stdout.take().unwrap());
        lines.read_line(&mut line).unwrap();
        let address = line.trim().strip_prefix("listening on http://");
        Self {
            address: address.expect("an address").to_owned(),
            process,
        }
    }

    pub(crate) fn get(&self, path: &str) -> String {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        let host = &self.address;
        let request = format!("GET {path} HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n\r\n");
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    }
}

impl Drop for Page {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_page_shows_the_schedules_of_the_ring_that_was_named() {
    let site = Site::start().await;
    site.queues.reliable("orders").open::<u64>().await.unwrap();
    for (ring, name) in [("schedules", "nightly"), ("own", "hourly")] {
        let schedules = Schedules::open(&site.queues, ring).await.unwrap();
        let mut scheduler = Scheduler::new(&schedules);
        let periodic = Periodic::every(name, HOUR).unwrap();
        let added = scheduler.add_push(periodic, "orders", |_| Ok(Push::new("1")));
        added.await.unwrap();
    }
    for (settings, own, other) in [
        (&[][..], "nightly", "hourly"),
        (&["--schedules", "own"], "hourly", "nightly"),
    ] {
        let page = Page::start(&site, settings).get("/schedules");
        assert!(page.contains(own) && !page.contains(other), "{page}");
    }
}
