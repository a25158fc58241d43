//! The connector that asks sentinels where the primary is.

mod address;
mod miss;

use std::{
    fmt,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use futures_util::{StreamExt, stream::FuturesUnordered};
use queue_core::{Result, Spawn};
use redis::{RedisResult, Value};
use tokio::time;

pub(super) use self::address::{Address, names_sentinels};
use self::miss::{Miss, explain};
use super::{
    Connector, CredentialsProvider, Link, Role, ServerConnector, opening::Opening,
    race::head_start, tls::Tls,
};

/// How long a sentinel may take to lead to a primary before the next one is asked in parallel. So an unreachable
/// sentinel costs little, and a slow one still counts.
const HEAD_START: Duration = Duration::from_millis(300);
/// If all sentinels have been asked and none has led to a primary after this time, one is asked again.
const AGAIN: Duration = Duration::from_secs(1);

/// Connects to the primary that sentinels name, and to the next one after a failover.
///
/// It asks the sentinels again for each connection, beginning with the sentinel that last led to a primary. It accepts
/// a server only if the server reports that it is a primary. So an isolated sentinel with outdated information does no
/// harm while another can be reached.
pub struct SentinelConnector {
    sentinels: Vec<ServerConnector>,
    service: String,
    /// Connects to the server that the sentinels name.
    primary: ServerConnector,
    /// How long connecting may take.
    limit: Duration,
    /// The sentinel to ask first.
    first: AtomicUsize,
}

impl SentinelConnector {
    /// Accepts `redis+sentinel://[user:password@]host[:port][,host[:port]…]/service[/db]`, and the same with
    /// `rediss+sentinel://`, which uses TLS to the sentinels and to the servers (feature `tls`). The hosts are the
    /// sentinels, at port 26379 unless the URL says otherwise; the user and the password are for the servers. The login
    /// for sentinels comes only from the parameters `sentinel_username` and `sentinel_password`.
    ///
    /// # Errors
    ///
    /// The errors of [`ServerConnector::new`].
    pub fn new(url: &str, spawn: Arc<dyn Spawn>) -> Result<Self> {
        Self::by(url, None, &Opening::by(spawn))
    }

    /// The same with settings of TLS, for sentinels and servers alike.
    ///
    /// # Errors
    ///
    /// The errors of [`ServerConnector::with_tls`].
    #[cfg(feature = "tls")]
    pub fn with_tls(url: &str, tls: &Tls, spawn: Arc<dyn Spawn>) -> Result<Self> {
        Self::by(url, Some(tls), &Opening::by(spawn))
    }

    pub(super) fn by(url: &str, tls: Option<&Tls>, opening: &Opening) -> Result<Self> {
        let Address {
            sentinels,
            service,
            primary,
        } = Address::parse(url)?;
        let tls = primary.security(tls)?;
        let sentinels = sentinels.into_iter();
        let sentinels =
            sentinels.map(|one| ServerConnector::to_sentinel(one, tls.clone(), opening));
        Ok(Self {
            sentinels: sentinels.collect(),
            service,
            primary: ServerConnector::to(primary, tls, opening),
            limit: opening.limit,
            first: AtomicUsize::new(0),
        })
    }

    /// Asks this provider for the logins of each connection, instead of using the URL's.
    #[must_use]
    pub fn credentials(mut self, provider: impl CredentialsProvider) -> Self {
        let provider: Arc<dyn CredentialsProvider> = Arc::new(provider);
        let sentinels = self.sentinels.into_iter();
        self.sentinels = sentinels
            .map(|one| one.by_provider(Arc::clone(&provider), true))
            .collect();
        self.primary = self.primary.by_provider(provider, false);
        self
    }

    /// Checks a URL.
    pub(super) fn check(url: &str) -> Result<()> {
        Address::parse(url).map(drop)
    }

    /// Connects to the primary that this sentinel names.
    async fn through(&self, index: usize, role: Role) -> (usize, Result<Link, Miss>) {
        let sentinel = &self.sentinels[index];
        let found = async {
            let named = self.ask(sentinel).await;
            let (host, port) = named
                .map_err(|error| Miss::of_sentinel(error, sentinel))?
                .ok_or_else(|| Miss::unknown(&self.service, sentinel))?;
            let primary = self.primary.at(host, port);
            let link = connected(&primary, role).await;
            link.map_err(|error| Miss::of_server(error, &primary, sentinel))?
                .ok_or_else(|| Miss::no_primary(&primary, sentinel))
        };
        (index, found.await)
    }

    async fn ask(&self, sentinel: &ServerConnector) -> RedisResult<Option<(String, u16)>> {
        let mut link = sentinel.connect(Role::Commands).await?;
        let mut command = redis::cmd("SENTINEL");
        command.arg("GET-MASTER-ADDR-BY-NAME").arg(&self.service);
        command.query_async(&mut link).await
    }
}

/// A connection to this server, if it is a primary.
async fn connected(server: &ServerConnector, role: Role) -> RedisResult<Option<Link>> {
    let mut link = server.connect(role).await?;
    // Every user may call `HELLO`, but not every user may call `ROLE`.
    let hello = redis::cmd("HELLO").query_async(&mut link).await?;
    Ok((!is_replica(&hello)).then_some(link))
}

/// Whether a server's reply to `HELLO` says that it is a replica.
fn is_replica(hello: &Value) -> bool {
    let Value::Map(fields) = hello else {
        return false;
    };
    let is = |value: &Value, text: &str| match value {
        Value::BulkString(bytes) => bytes == text.as_bytes(),
        Value::SimpleString(other) => other == text,
        _ => false,
    };
    fields
        .iter()
        .any(|(name, value)| is(name, "role") && !is(value, "master"))
}

#[async_trait]
impl Connector for SentinelConnector {
    async fn connect(&self, role: Role) -> RedisResult<Link> {
        let (first, count) = (self.first.load(Ordering::Relaxed), self.sentinels.len());
        let mut turns = (0..).map(|turn: usize| first.wrapping_add(turn) % count);
        let mut left = count;
        let mut pause = AGAIN;
        let pace = head_start(HEAD_START, self.limit, count);
        let mut asked = FuturesUnordered::new();
        let mut misses = Vec::new();
        loop {
            if left > 0 {
                left -= 1;
                asked.extend(turns.next().map(|index| self.through(index, role)));
            }
            tokio::select! {
                biased;
                ended = asked.next() => match ended {
                    Some((index, Ok(link))) => {
                        self.first.store(index, Ordering::Relaxed);
                        return Ok(link);
                    }
                    Some((_, Err(miss))) => misses.push(miss),
                    None => return Err(explain(&misses)),
                },
                () = time::sleep(pace), if left > 0 => {}
                // The try that hangs may be to the old primary, and the sentinels may know its successor by now.
                // Growing pauses keep the number of hanging tries small.
                () = time::sleep(pause), if left == 0 => {
                    pause *= 2;
                    left = 1;
                }
            }
        }
    }

    fn address(&self) -> String {
        let all: Vec<_> = self.sentinels.iter().map(ServerConnector::place).collect();
        let (all, service) = (all.join(","), &self.service);
        let (scheme, database) = (self.primary.scheme(), self.primary.database());
        format!("{scheme}+sentinel://{all}/{service}/{database}")
    }
}

impl fmt::Debug for SentinelConnector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("SentinelConnector")
            .field(&self.address())
            .finish()
    }
}
