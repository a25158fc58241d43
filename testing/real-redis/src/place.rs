//! A key prefix for a test, on a shared server.

use std::{
    hash::{BuildHasher, RandomState},
    process,
    sync::{
        LazyLock,
        atomic::{AtomicU64, Ordering},
    },
};

use redis::{Client, Connection, RedisResult};

use super::{Server, ServerError, shared};

/// Distinguishes this run from others on the same existing server.
static RUN: LazyLock<u64> = LazyLock::new(|| RandomState::new().hash_one(process::id()));
static NEXT: AtomicU64 = AtomicU64::new(0);

/// A server's URL, and a key prefix on it that nobody else uses.
///
/// It is for tests that need just any server. By default that is a plain one that all tests of the process
/// share; the first one starts it. With `QUEUE_TEST_REDIS_URL` it is the one named there; with
/// `QUEUE_TEST_REDIS=container` it is in a container, which is removed with the process. Tests that crash,
/// fill, freeze or configure their server start a [`Server`](super::Server) of their own, whatever the
/// variables say.
///
/// Dropping it removes the keys under its prefix, and no others.
#[derive(Debug)]
pub struct ServerPlace {
    url: String,
    prefix: String,
}

impl ServerPlace {
    /// A fresh prefix.
    ///
    /// # Errors
    ///
    /// If the shared server cannot be started, or the variables ask for something else.
    pub fn fresh() -> Result<Self, ServerError> {
        shared::url().map(Self::at)
    }

    /// A fresh prefix on this server, which has to outlive the place.
    pub fn on(server: &Server) -> Self {
        Self::at(server.url())
    }

    fn at(url: String) -> Self {
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let prefix = format!("real-redis-{:016x}-{number}.", *RUN);
        Self { url, prefix }
    }

    /// The server's URL.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// The server's URL for this user.
    pub fn url_as(&self, user: &str, password: &str) -> String {
        let (scheme, rest) = self.url.split_once("://").unwrap_or(("unix", &self.url));
        match scheme {
            "redis" | "rediss" => {
                let server = rest.rsplit_once('@').map_or(rest, |(_, server)| server);
                format!("{scheme}://{user}:{password}@{server}")
            }
            _ => {
                let path = rest.split_once('?').map_or(rest, |(path, _)| path);
                format!("{scheme}://{path}?user={user}&pass={password}")
            }
        }
    }

    /// The prefix for every key of the test: letters, digits and `-`, and a dot at its end, so that
    /// no prefix begins another.
    pub fn prefix(&self) -> &str {
        &self.prefix
    }

    /// A blocking connection to the server.
    ///
    /// # Errors
    ///
    /// If the server does not answer.
    pub fn connect(&self) -> RedisResult<Connection> {
        Client::open(self.url.as_str())?.get_connection()
    }

    fn clear(&self) -> RedisResult<()> {
        let mut connection = self.connect()?;
        let pattern = format!("{}*", self.prefix);
        let mut cursor = 0_u64;
        loop {
            let mut scan = redis::cmd("SCAN");
            scan.arg(cursor).arg("MATCH").arg(&pattern);
            let (next, keys): (u64, Vec<Vec<u8>>) =
                scan.arg("COUNT").arg(1000).query(&mut connection)?;
            if !keys.is_empty() {
                redis::cmd("UNLINK").arg(keys).exec(&mut connection)?;
            }
            if next == 0 {
                return Ok(());
            }
            cursor = next;
        }
    }
}

impl Drop for ServerPlace {
    fn drop(&mut self) {
        if let Err(error) = self.clear() {
            eprintln!(
                "keys under {}* are left on the server: {error}",
                self.prefix
            );
        }
    }
}
