use std::{
    collections::hash_map::RandomState,
    fmt,
    hash::BuildHasher,
    sync::{Arc, atomic::AtomicU64},
    time::Duration,
};

use queue_core::{Error, Result, Spawn, Timestamp, TokioSpawn, in_millis};
use redis_link::{
    Clock, ErasedArc,
    connection::{
        self, CONNECT_TIMEOUT, Connector, CredentialsProvider, Opening, Seeds, Settings, Timeouts,
        Tls,
    },
};

use super::{
    RedisBackend,
    connecting::{Connecting, To},
    startup,
};
use crate::{queue::Context, refusals, rights};

const RESPONSE_TIMEOUT: Duration = Duration::from_secs(3);
const FALL_BACK: Duration = Duration::from_secs(5);
/// A worker polls every 5 s by default, so it sends no keep-alives.
const KEEP_ALIVE: Duration = Duration::from_secs(6);
/// Below this size, the extra round trip and its commands cost more than a separate body saves.
const LARGE: usize = 16 * 1024;
/// A shorter push is mostly leased in pieces, which makes packs more expensive.
const PACKS: usize = 32;
const PREFIX: &str = "qk";
const MAX_PREFIX: usize = 64;
const LONGEST_SETTING: Duration = Duration::from_secs(60 * 60);
const SHORTEST_KEEP_ALIVE: Duration = Duration::from_secs(1);
const LONGEST_KEEP_ALIVE: Duration = Duration::from_secs(24 * 60 * 60);

/// Settings of a [`RedisBackend`].
#[must_use = "a builder connects only when told to"]
pub struct Builder {
    server: ServerSource,
    tls: Option<Tls>,
    spawn: Option<Arc<dyn Spawn>>,
    credentials: Option<Arc<dyn CredentialsProvider>>,
    client_name: Option<String>,
    startup: Duration,
    keep_alive: Duration,
    timeouts: Timeouts,
    fall_back: Duration,
    prefix: String,
    allow_eviction: bool,
    large: usize,
    packs: usize,
    clock: Clock,
    seed: Option<u64>,
    only_reads: bool,
}

enum ServerSource {
    Url(String),
    #[cfg_attr(
        not(feature = "connector"),
        expect(dead_code, reason = "only that feature makes one")
    )]
    Connector(Arc<dyn Connector>),
}

impl ServerSource {
    /// Where the servers are. `has_own`: the builder has credentials or a client name.
    fn reached_by(self, tls: Option<&Tls>, has_own: bool, opening: &Opening) -> Result<To> {
        match self {
            Self::Url(url) if connection::names_cluster(&url) => {
                Ok(To::Cluster(Seeds::by(&url, tls, opening)?))
            }
            Self::Url(url) => Ok(To::One(connection::by_url(&url, tls, opening)?)),
            Self::Connector(_) if has_own => Err(Error::invalid(
                "there are credentials or a client_name beside a connector: give them to the connector \
                 (ServerConnector::credentials, ServerConnector::client_name), and not to the builder",
            )),
            Self::Connector(_) if tls.is_some() => Err(Error::invalid(
                "there are settings of TLS beside a connector: give them to the connector \
                 (ServerConnector::with_tls), and not to the builder",
            )),
            Self::Connector(connector) => Ok(To::One(connector)),
        }
    }
}

impl Builder {
    pub(super) fn to(url: &str) -> Result<Self> {
        // Checked here so that the error comes early; `connect` makes the connector once it knows the spawner.
        connection::check_url(url)?;
        let mut builder = Self::new(ServerSource::Url(url.to_owned()));
        let settings = connection::url_settings(url)?;
        if let Some(prefix) = settings.prefix {
            builder.prefix = prefix;
        }
        builder.client_name = settings.client_name;
        builder.startup = settings.startup_timeout.unwrap_or_default();
        Ok(builder)
    }

    #[cfg(feature = "connector")]
    pub(super) fn through(connector: Arc<dyn Connector>) -> Self {
        Self::new(ServerSource::Connector(connector))
    }

    fn new(server: ServerSource) -> Self {
        Self {
            server,
            tls: None,
            spawn: None,
            credentials: None,
            client_name: None,
            startup: Duration::ZERO,
            keep_alive: KEEP_ALIVE,
            timeouts: Timeouts {
                connect: CONNECT_TIMEOUT,
                response: RESPONSE_TIMEOUT,
            },
            fall_back: FALL_BACK,
            prefix: PREFIX.to_owned(),
            allow_eviction: false,
            large: LARGE,
            packs: PACKS,
            clock: Clock::Server,
            seed: None,
            only_reads: false,
        }
    }

    /// The beginning of all queues' keys: 1 to 64 of `A-Z a-z 0-9 . _ -`. Backends with different
    /// prefixes have nothing in common. `qk` by default, unless the URL sets another, as in
    /// `redis://localhost?prefix=shop`.
    pub fn prefix(mut self, prefix: impl Into<String>) -> Self {
        self.prefix = prefix.into();
        self
    }

    /// Which certificates to trust and to present if the URL asks for TLS (`rediss://`): roots, a certificate of our
    /// own, and the server's name.
    #[cfg(feature = "tls")]
    pub fn tls(mut self, tls: Tls) -> Self {
        self.tls = Some(tls);
        self
    }

    /// Asks this provider for the login of each new connection, instead of the URL's login: for rotated passwords and
    /// expiring tokens.
    ///
    /// A closure is a provider: see [`CredentialsProvider`].
    pub fn credentials(mut self, provider: impl CredentialsProvider) -> Self {
        self.credentials = Some(Arc::new(provider));
        self
    }

    /// The name by which the server lists the connections of this backend: 1 to 64 printed characters of ASCII without
    /// blanks. `CLIENT LIST` shows `name:commands` and `name:waiter`.
    ///
    /// By default it is the program and its process, as in `shop-4711`, unless the URL sets another, as in
    /// `redis://localhost?client_name=shop`. A server that refuses names is used without them.
    pub fn client_name(mut self, name: impl Into<String>) -> Self {
        self.client_name = Some(name.into());
        self
    }

    /// How long [`connect`](Self::connect) waits for a server, sentinels or a cluster that is not up yet.
    ///
    /// While the error is transient, `connect` retries, with pauses of up to a second. The last try begins at most
    /// `timeout` after the call. A try takes the [connect timeout](Self::connect_timeout) at most. Zero, the default,
    /// means one try. A URL may set it, as in `redis://localhost?startup_timeout=30s` (`ms`, `s` or `m`).
    pub const fn startup_timeout(mut self, timeout: Duration) -> Self {
        self.startup = timeout;
        self
    }

    /// If the connection for commands carries no byte for this time, the backend checks that the server is there. 1 s
    /// to 24 h, 6 s by default.
    ///
    /// So [`RedisBackend::health`] shows an outage even if no call is made. If the connection ends, it shows that at
    /// once. If the server falls silent, it shows that after this interval and twice the [response
    /// timeout](Self::response_timeout). If the server is silent, the other connection is tested as well. An idle
    /// backend sends one small `EVAL` each interval (to each node of a cluster); a busy backend sends none.
    pub const fn keep_alive(mut self, interval: Duration) -> Self {
        self.keep_alive = interval;
        self
    }

    /// How long opening a connection may take. 5 s by default.
    pub const fn connect_timeout(mut self, timeout: Duration) -> Self {
        self.timeouts.connect = timeout;
        self
    }

    /// How long a call waits while the backend receives nothing from the server. 3 s by default.
    ///
    /// The time counts from the call, and includes waiting for a connection and for other callers' calls. A call that
    /// was not sent by then is never sent. A call that was sent goes on waiting for as long as bytes move on its
    /// connection, so a slow network may take its time. The backend cannot count the bytes of a [`Connector`] of your
    /// own; there the time starts again when the connection opens. So while the server is silent, no call takes longer
    /// than this, however many calls there are. A call made while the server still replies takes less than twice as
    /// long.
    ///
    /// After a call without a reply, the backend tests all its connections. It reopens each connection that stays
    /// silent for the same time again.
    pub const fn response_timeout(mut self, timeout: Duration) -> Self {
        self.timeouts.response = timeout;
        self
    }

    /// How often a waiting consumer polls, in case a wake-up was lost. 5 s by default.
    pub const fn fall_back(mut self, interval: Duration) -> Self {
        self.fall_back = interval;
        self
    }

    /// Accepts a server with an `allkeys-*` eviction policy, which drops messages when its memory
    /// runs out. [`Health::warnings`](crate::Health::warnings) then says so.
    pub const fn allow_eviction(mut self) -> Self {
        self.allow_eviction = true;
        self
    }

    /// Size of headers plus body, in bytes, from which a message or a ring's item is large. The body of a large message
    /// is transferred in its own round trip. 16,384 by default.
    ///
    /// A large body costs one more round trip in each direction, and some 200 bytes of the server's memory. But no
    /// script handles it. While a script runs, the server does nothing else. Since Redis 7.0 a script takes about 3.5
    /// ms for each MiB that is pushed, and half of that for each MiB that is leased. For a ring it takes about 2.5 ms
    /// for each MiB that is inserted or visited. Backends with different settings can share a queue.
    pub const fn large_bodies_from(mut self, bytes: usize) -> Self {
        self.large = bytes;
        self
    }

    /// Number of messages in one call from which a push to a reliable queue stores packs. A pack is up to 16 plain
    /// messages of at most 1 KiB each, stored as two elements of a list. 32 by default; fewer than 4 are never packed.
    /// Concurrent pushes share a call.
    ///
    /// A push of 100 messages in packs takes the server half the time, and so does a lease of 100 that is acked as a
    /// whole. A worker that takes 16 or more at a time handles a fifth to a third more. But a consumer that takes
    /// single messages out of a pack, or settles some other than by an ack, costs the server up to a sixth more.
    /// [`usize::MAX`] makes no packs. Backends with different settings can share a queue.
    pub const fn packs_from(mut self, messages: usize) -> Self {
        self.packs = messages;
        self
    }

    /// For a user who may only read, such as an operator's: [`read_only_rules`](crate::read_only_rules) has the rights.
    /// Calls that show something work: the list of queues, counters, peeks, finds, dead letters and groups. All others
    /// fail, and no call reclaims. Needs Redis 7.0, or Valkey.
    pub const fn read_only(mut self) -> Self {
        self.only_reads = true;
        self
    }

    /// Runs the background tasks on this spawner instead of on the runtime that called [`connect`](Self::connect).
    ///
    /// The tasks keep connections open, drive them, and send batches of several callers. When the spawner's runtime has
    /// ended, the backend has ended, too.
    pub fn spawn(mut self, spawn: impl Spawn) -> Self {
        self.spawn = Some(Arc::new(spawn));
        self
    }

    /// A clock for every queue, in place of the server's clock.
    ///
    /// Use it only in tests and simulations: the clocks of two processes never agree, and leases are safe only if all
    /// processes use one clock.
    pub fn clock(mut self, now: impl Fn() -> Timestamp + Send + Sync + 'static) -> Self {
        self.clock = Clock::Replaced(Arc::new(now));
        self
    }

    /// Puts a number into each call, in the place of the time, for a simulated wire that replaces it by the time.
    #[doc(hidden)]
    pub fn tag_calls(mut self, tag: impl Fn() -> u64 + Send + Sync + 'static) -> Self {
        self.clock = Clock::Tagged(Arc::new(tag));
        self
    }

    /// Makes the jitter of reconnects repeatable, for tests and simulations.
    pub const fn jitter_seed(mut self, seed: u64) -> Self {
        self.seed = Some(seed);
        self
    }

    /// Connects, and checks the server.
    ///
    /// # Errors
    ///
    /// The errors of [`RedisBackend::connect`]; `Invalid` for a setting beyond its limits;
    /// `Configuration` if the runtime of [`spawn`](Self::spawn) has ended.
    pub async fn connect(self) -> Result<RedisBackend> {
        self.check()?;
        // Connecting needs the timers of a runtime, wherever the tasks run.
        let here = TokioSpawn::current()?;
        let spawn = match self.spawn {
            Some(spawn) => spawn,
            None => Arc::new(here),
        };
        let tls = self.tls.as_ref();
        let has_own = self.credentials.is_some() || self.client_name.is_some();
        let mut opening = Opening::by(Arc::clone(&spawn));
        opening.limit = self.timeouts.connect;
        opening.credentials = self.credentials;
        if let Some(name) = self.client_name {
            opening.client_name = name.into();
        }
        let to = self.server.reached_by(tls, has_own, &opening)?;
        let prefix: Arc<str> = self.prefix.into();
        let seed = self.seed.unwrap_or_else(|| RandomState::new().hash_one(()));
        let connecting = Connecting {
            settings: Settings {
                timeouts: self.timeouts,
                keep_alive: self.keep_alive,
                allow_eviction: self.allow_eviction,
                needs: Arc::new(match self.only_reads {
                    true => rights::reading_needs(&prefix),
                    false => rights::needs(&prefix),
                }),
                meanings: refusals::meaning,
                clock: self.clock,
                spawn: Arc::clone(&spawn),
                seed,
                in_cluster: matches!(to, To::Cluster(_)),
                confirmation: None,
            },
            to,
            prefix: Arc::clone(&prefix),
            fall_back: self.fall_back,
            times: AtomicU64::new(0),
        };
        let client = startup::wait(self.startup, seed, || connecting.connect(None)).await?;
        Ok(RedisBackend {
            context: Context {
                client,
                prefix,
                spawn,
                large: self.large,
                packs: self.packs,
            },
            drawn: Arc::default(),
            connecting: ErasedArc::new(connecting),
        })
    }

    fn check(&self) -> Result<()> {
        let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
        if self.prefix.is_empty()
            || self.prefix.len() > MAX_PREFIX
            || !self.prefix.chars().all(allowed)
        {
            let shown: String = self.prefix.chars().take(MAX_PREFIX).collect();
            return Err(Error::invalid(format!(
                "the prefix {shown:?}: use 1 to {MAX_PREFIX} of A-Z a-z 0-9 . _ -"
            )));
        }
        check_setting("connect_timeout", self.timeouts.connect)?;
        check_setting("response_timeout", self.timeouts.response)?;
        check_setting("fall_back", self.fall_back)?;
        if let Some(name) = &self.client_name {
            connection::check_client_name(name)?;
        }
        startup::check(self.startup)?;
        check_keep_alive(self.keep_alive)
    }
}

fn check_keep_alive(interval: Duration) -> Result<()> {
    if (SHORTEST_KEEP_ALIVE..=LONGEST_KEEP_ALIVE).contains(&interval) {
        return Ok(());
    }
    Err(Error::invalid(format!(
        "a keep_alive of {}: between {} and {} is allowed",
        in_millis(interval),
        in_millis(SHORTEST_KEEP_ALIVE),
        in_millis(LONGEST_KEEP_ALIVE)
    )))
}

fn check_setting(name: &str, value: Duration) -> Result<()> {
    if value < Duration::from_millis(1) || value > LONGEST_SETTING {
        return Err(Error::invalid(format!(
            "a {name} of {}: between 1 ms and {} is allowed",
            in_millis(value),
            in_millis(LONGEST_SETTING)
        )));
    }
    Ok(())
}

impl fmt::Debug for Builder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Leaves out the URL, which may contain a password.
        f.debug_struct("Builder")
            .field("prefix", &self.prefix)
            .field("timeouts", &self.timeouts)
            .field("fall_back", &self.fall_back)
            .field("keep_alive", &self.keep_alive)
            .field("startup_timeout", &self.startup)
            .field("client_name", &self.client_name)
            .field("allow_eviction", &self.allow_eviction)
            .field("large_bodies_from", &self.large)
            .field("packs_from", &self.packs)
            .finish_non_exhaustive()
    }
}
