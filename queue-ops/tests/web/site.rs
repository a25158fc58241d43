//! `qk web` as a process, beside a server of its own.

use std::{
    io::Read,
    path::PathBuf,
    process::{Child, Command, ExitStatus, Stdio},
    time::Duration,
};

use queue_core::{Headers, LeasingExt, Push, Queues, Settlement};
use queue_redis::RedisBackend;
use real_redis::Server;
use serde_json::Value;
use ureq::{Agent, http::StatusCode};

pub(crate) const TOKEN: &str = "0123456789abcdef0123";
const HOUR: Duration = Duration::from_secs(3_600);

pub(crate) struct Site {
    process: Child,
    /// `http://127.0.0.1:…`.
    pub(crate) url: String,
    pub(crate) agent: Agent,
    pub(crate) server: Server,
    pub(crate) queues: Queues,
}

impl Site {
    pub(crate) async fn start(with: &[&str]) -> Self {
        Self::on(Server::start().expect("a server"), with).await
    }

    pub(crate) async fn on(server: Server, with: &[&str]) -> Self {
        let backend = connect(&server).await;
        Self::listen(server, backend, "127.0.0.1:0", with)
    }

    /// On all addresses, as in a container.
    pub(crate) async fn start_in_all(with: &[&str]) -> Self {
        let server = Server::start().expect("a server");
        let backend = connect(&server).await;
        let mut site = Self::listen(server, backend, "0.0.0.0:0", with);
        site.url = site.url.replace("0.0.0.0", "127.0.0.1");
        site
    }

    fn listen(server: Server, backend: RedisBackend, listen: &str, with: &[&str]) -> Self {
        let (process, url) = start(&server, listen, with);
        let agent = Agent::config_builder()
            .http_status_as_error(false)
            .max_redirects(0)
            .timeout_global(Some(Duration::from_secs(60)))
            .build()
            .new_agent();
        Self {
            url,
            process,
            agent,
            server,
            queues: Queues::new(backend),
        }
    }

    /// Another page of the same server.
    pub(crate) fn another(&self, with: &[&str]) -> Another {
        let (process, url) = start(&self.server, "127.0.0.1:0", with);
        Another { process, url }
    }

    /// With actions, by [`TOKEN`].
    pub(crate) async fn with_actions() -> Self {
        Self::start(&["--token-file", &token_file(TOKEN).display().to_string()]).await
    }

    pub(crate) fn process_id(&self) -> u32 {
        self.process.id()
    }

    /// Asks it to stop, as a service manager does, and waits for its end.
    pub(crate) async fn ends(&mut self) -> ExitStatus {
        let pid = rustix::process::Pid::from_child(&self.process);
        rustix::process::kill_process(pid, rustix::process::Signal::TERM).expect("it runs");
        let begun = tokio::time::Instant::now();
        loop {
            if let Some(status) = self.process.try_wait().expect("a child") {
                return status;
            }
            assert!(begun.elapsed() < Duration::from_secs(60), "it does not end");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    pub(crate) fn get(&self, path: &str) -> (StatusCode, String) {
        self.get_as(self.host(), path)
    }

    /// The host that a browser names.
    pub(crate) fn host(&self) -> &str {
        self.url.trim_start_matches("http://")
    }

    /// Asks for a page under another name of the host.
    pub(crate) fn get_as(&self, host: &str, path: &str) -> (StatusCode, String) {
        let mut response = self
            .agent
            .get(format!("{}{path}", self.url))
            .header("host", host)
            .call()
            .expect("an answer");
        let text = response.body_mut().read_to_string().expect("text");
        (response.status(), text)
    }

    /// The queue `orders`: three are ready, one is leased by `web-1`, one waits after a failure, two are dead.
    pub(crate) async fn orders(&self) {
        let orders = self
            .queues
            .reliable("orders")
            .open::<Value>()
            .await
            .unwrap();
        let queue = orders.queue();
        for order in 1..=7 {
            let headers = Headers::new().with_job("cancel-unpaid");
            queue
                .push_one(Push::new(format!(r#"{{"order":{order}}}"#)).with_headers(headers))
                .await
                .unwrap()
                .id()
                .unwrap();
        }
        let leased = queue
            .settle_and_lease(
                &[],
                4.try_into().unwrap(),
                HOUR,
                Some("web-1".parse_holder()),
            )
            .await
            .unwrap();
        let receipts: Vec<_> = leased.1.deliveries.iter().map(|one| one.receipt).collect();
        let settlements = [
            Settlement::retry_because(receipts[1], HOUR, "402: card declined"),
            Settlement::bury(receipts[2], "order 3: no article \"rose\""),
            Settlement::bury(receipts[3], "order 4: no article \"kite\""),
        ];
        queue.settle(&settlements).await.unwrap();
    }
}

/// A second `qk web`. Dropping it ends the process.
pub(crate) struct Another {
    process: Child,
    pub(crate) url: String,
}

impl Drop for Another {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Starts `qk web`. Returns the process and its address.
fn start(server: &Server, listen: &str, with: &[&str]) -> (Child, String) {
    let mut process = Command::new(env!("CARGO_BIN_EXE_qk"))
        .args(["--url", &patient(server), "web", "--listen", listen])
        .args(with)
        .stdout(Stdio::piped())
        .spawn()
        .expect("qk runs");
    let stdout = process.stdout.as_mut().expect("a pipe");
    let mut line = String::new();
    while !line.ends_with('\n') {
        let mut byte = [0];
        stdout
            .read_exact(&mut byte)
            .expect("it says where it listens");
        line.push(char::from(byte[0]));
    }
    let url = line.trim().strip_prefix("listening on ");
    (process, url.expect("an address").to_owned())
}

/// The URL for a program that may start on a busy machine.
fn patient(server: &Server) -> String {
    format!("{}?startup_timeout=60s", server.url())
}

/// A client for a busy machine: in no test one of its calls has to fail.
async fn connect(server: &Server) -> RedisBackend {
    const PATIENCE: Duration = Duration::from_secs(60);
    let builder = RedisBackend::builder(&server.url()).expect("a good URL");
    let builder = builder.connect_timeout(PATIENCE).response_timeout(PATIENCE);
    builder.connect().await.expect("it connects")
}

trait ParseHolder {
    fn parse_holder(&self) -> queue_core::Holder;
}

impl ParseHolder for str {
    fn parse_holder(&self) -> queue_core::Holder {
        queue_core::Holder::new(self).expect("a name")
    }
}

pub(crate) fn token_file(token: &str) -> PathBuf {
    let file = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!(
        "token-{}-{}",
        std::process::id(),
        token.len()
    ));
    std::fs::write(&file, token).expect("it writes");
    file
}

impl Drop for Site {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
