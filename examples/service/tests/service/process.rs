//! The service's process, and its endpoints from a client's side.

use std::{
    io::{BufRead, BufReader, Read},
    process::{Child, Command, ExitStatus, Stdio},
    time::Duration,
};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use ureq::{Agent, http::StatusCode};

pub(crate) struct Process {
    child: Child,
    address: String,
}

impl Process {
    pub(crate) fn start(backend: &str) -> Self {
        Self::start_with(backend, None)
    }

    /// With the shop, if there is a database.
    pub(crate) fn start_with(backend: &str, database: Option<&str>) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_queue-kit-service"))
            .envs([("QUEUE_URL", backend), ("ADDRESS", "127.0.0.1:0")])
            .envs(database.map(|url| ("DATABASE_URL", url)))
            .stdout(Stdio::piped())
            .spawn()
            .expect("the service starts");
        let mut line = String::new();
        let stdout = child.stdout.as_mut().expect("a pipe");
        // By the byte, so that nothing of what follows is read too.
        while !line.ends_with('\n') {
            let mut byte = [0];
            stdout
                .read_exact(&mut byte)
                .expect("it says where it listens");
            line.push(char::from(byte[0]));
        }
        let address = line.trim().strip_prefix("listening on ");
        Self {
            address: address.unwrap_or_else(|| panic!("{line}")).to_owned(),
            child,
        }
    }

    pub(crate) fn client(&self) -> Client {
        let agent = Agent::config_builder()
            .http_status_as_error(false)
            .timeout_global(Some(Duration::from_secs(60)))
            .build()
            .new_agent();
        Client {
            agent,
            address: self.address.clone(),
        }
    }

    pub(crate) fn kill(&mut self) {
        self.child.kill().expect("it runs");
        self.child.wait().expect("it was ours");
    }

    /// Ends it by SIGTERM: its status, and what it had to say.
    pub(crate) fn terminate(&mut self) -> (ExitStatus, String) {
        let pid = Pid::from_child(&self.child);
        kill_process(pid, Signal::TERM).expect("it runs");
        let mut said = String::new();
        let stdout = self.child.stdout.as_mut().expect("a pipe");
        for line in BufReader::new(stdout).lines() {
            said.push_str(&line.expect("text"));
            said.push('\n');
        }
        (self.child.wait().expect("it was ours"), said)
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[derive(Clone)]
pub(crate) struct Client {
    agent: Agent,
    address: String,
}

/// The status and the body, which is a string if it is no JSON; or the error of a service that is gone.
pub(crate) type Answer = Result<(StatusCode, Value), ureq::Error>;

impl Client {
    pub(crate) fn get(&self, path: &str) -> Answer {
        read(self.agent.get(self.url(path)).call())
    }

    pub(crate) fn delete(&self, path: &str) -> Answer {
        read(self.agent.delete(self.url(path)).call())
    }

    pub(crate) fn post(&self, path: &str, body: &Value) -> Answer {
        read(self.agent.post(self.url(path)).send_json(body))
    }

    #[cfg(feature = "postgres")]
    pub(crate) fn put(&self, path: &str) -> Answer {
        read(self.agent.put(self.url(path)).send_empty())
    }

    fn url(&self, path: &str) -> String {
        format!("{}{path}", self.address)
    }
}

fn read(response: Result<ureq::http::Response<ureq::Body>, ureq::Error>) -> Answer {
    let mut response = response?;
    let text = response.body_mut().read_to_string()?;
    let body = serde_json::from_str(&text).unwrap_or(Value::String(text));
    Ok((response.status(), body))
}
