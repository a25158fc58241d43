//! The page for operators, as a router of axum: served by `qk web`, or by a program of yours.
//!
//! It works without script. Reading changes nothing, and costs the backend a page of anything at most. Actions are off
//! unless [`Web::writes`] gives a token.

mod access;
mod actions;
mod adding;
mod api;
mod asked;
mod attempts;
mod audit;
mod body;
mod chart;
mod dead;
mod filter;
mod frame;
mod group_table;
mod groups;
mod guard;
mod hex;
mod hosts;
mod list;
mod listed;
mod messages;
mod metrics;
mod pages;
mod public_url;
mod queue;
#[cfg(feature = "schedules")]
mod schedules;
mod sessions;
mod show;
mod times;
mod token;
mod watch;
mod workers;

use std::{sync::Arc, time::Duration};

use axum::{
    Router, middleware,
    routing::{get, post},
};
use queue_core::{Backend, Bytes, Error, QueueName};

use self::{access::Access, audit::Audit, public_url::PublicUrl, watch::Watch};
pub use self::{
    audit::AuditEntry,
    metrics::{BUSIEST_GROUP_SHARE, GROUPS, STANDSTILL_SECONDS},
};

type OnAction = dyn Fn(&AuditEntry) + Send + Sync;

/// The page, before it is a router.
#[must_use = "it serves nothing until `router`"]
#[derive(Clone)]
pub struct Web {
    backend: Arc<dyn Backend>,
    access: Option<Access>,
    hosts: Arc<[String]>,
    public_url: Option<Arc<PublicUrl>>,
    on_action: Option<Arc<OnAction>>,
    audit: Arc<Audit>,
    watch: Option<Watch>,
    schedules: Arc<str>,
}

impl Web {
    /// The page of a backend's queues: read-only, for whoever reaches it.
    pub fn new(backend: Arc<dyn Backend>) -> Self {
        Self {
            backend,
            access: None,
            hosts: Arc::default(),
            public_url: None,
            on_action: None,
            audit: Arc::default(),
            watch: None,
            schedules: "schedules".into(),
        }
    }

    /// Allows actions to whoever has this token: as `Authorization: Bearer`, or by signing in on the page.
    ///
    /// Signing in begins a session of 12 hours, whose random name is in a cookie; the token is not. Sessions end with the
    /// process. Some wrong tokens from an address make the next one wait, up to 8 s. The address is axum's `ConnectInfo`;
    /// without it, all wait together.
    ///
    /// # Errors
    ///
    /// `Invalid` for a token that is easily guessed, or that no header carries: it has 16 characters at least, 6 of them
    /// different, all of them visible ASCII.
    pub fn writes(mut self, token: impl Into<Arc<str>>) -> Result<Self, Error> {
        self.access = Some(Access::new(token.into())?);
        Ok(self)
    }

    /// The address under which browsers reach the page, behind a proxy: `https://ops.example.com/queues`. Its host is
    /// served. If it has `https`, cookies are sent over TLS alone, and forms are taken from there alone. Its path precedes
    /// each link, for a proxy that takes the path away. Without it, the page finds the path at which a router of yours
    /// has it nested.
    ///
    /// # Errors
    ///
    /// `Invalid` for a text that is no such address.
    pub fn public_url(mut self, url: &str) -> Result<Self, Error> {
        self.public_url = Some(Arc::new(PublicUrl::new(url)?));
        Ok(self)
    }

    /// Answers requests to these hosts alone, so that no other name that leads here (DNS rebinding) makes a browser
    /// send any: `ops.example.com` with any port, `10.0.0.7:7700` with this one. By default only this machine's own names
    /// and addresses are answered: `localhost`, `127.0.0.1`, `[::1]`.
    pub fn hosts(mut self, hosts: impl IntoIterator<Item = String>) -> Self {
        self.hosts = hosts.into_iter().collect();
        self
    }

    /// Shows of each body and result what this function returns, and nothing of it if that is `None`. It hides the other
    /// texts of users, too: reasons, progress and keys of groups, see [`redacted`](crate::redacted). All is shown by default,
    /// of a body up to 4 KiB.
    pub fn redact(
        mut self,
        redact: impl Fn(&QueueName, &Bytes) -> Option<Bytes> + Send + Sync + 'static,
    ) -> Self {
        self.backend = crate::redacted(self.backend, redact);
        self
    }

    /// Calls this function after each action. The page itself keeps the last hundred.
    pub fn on_action(mut self, on_action: impl Fn(&AuditEntry) + Send + Sync + 'static) -> Self {
        self.on_action = Some(Arc::new(on_action));
        self
    }

    /// Samples the queues at this interval (100 ms at least), from [`router`](Self::router) on until the router is gone:
    /// 1,000 queues at a time, by one listing, and up to 10,000 in turns. Then the list of queues is searched, sorted and
    /// added up without a call to the backend; the pages show rates and charts of the last 360 samples of an hour, and
    /// read themselves again after each; and `/metrics` tells for how long each queue stands still. Off by default. It
    /// needs a tokio runtime.
    pub fn sample_every(mut self, interval: Duration) -> Self {
        self.watch = Some(Watch::new(interval));
        self
    }

    /// The name with which programs open their schedules: `schedules` by default.
    pub fn schedules(mut self, ring: impl Into<Arc<str>>) -> Self {
        self.schedules = ring.into();
        self
    }

    /// The router, for a host of its own, or nested in a router of yours. Put layers of yours around it, such as a login.
    ///
    /// A request has 64 KiB at most, and 10 s to arrive. Your server bounds the connections, and the time for headers.
    pub fn router(self) -> Router {
        if let Some(watch) = &self.watch {
            watch.start(Arc::clone(&self.backend));
        }
        let router = Router::new()
            .route("/", get(list::queues))
            .route("/queues", get(list::queues))
            .route("/style.css", get(pages::style))
            .route("/live.js", get(pages::script))
            .route("/events", get(watch::events))
            .route("/dead", get(dead::all_dead))
            .route("/workers", get(workers::list).post(workers::act))
            .route("/sign-in", get(pages::sign_in).post(access::sign_in))
            .route("/sign-out", post(access::sign_out))
            .route("/server", get(pages::server))
            .route("/audit", get(pages::audit))
            .route("/queues/{queue}", get(queue::queue).post(actions::on_queue))
            .route(
                "/queues/{queue}/dead",
                get(dead::dead).post(actions::on_dead),
            )
            .route("/queues/{queue}/in/{place}", get(messages::place))
            .route(
                "/queues/{queue}/groups",
                get(groups::list).post(actions::on_groups),
            )
            .route("/queues/{queue}/messages", post(adding::add))
            .route(
                "/queues/{queue}/messages/{id}",
                get(messages::message).post(actions::on_message),
            )
            .route("/api/queues", get(api::queues))
            .route("/api/queues/{queue}", get(api::queue))
            .route("/api/queues/{queue}/messages/{id}", get(api::message))
            .route("/api/queues/{queue}/groups", get(api::groups))
            .route("/api/queues/{queue}/actions", post(actions::by_api))
            .route("/metrics", get(metrics::metrics))
            .route("/scale/{queue}", get(metrics::scale))
            .route("/healthz", get(|| async { "well" }))
            .route("/readyz", get(metrics::ready));
        #[cfg(feature = "schedules")]
        let router = router.route("/schedules", get(schedules::list).post(schedules::act));
        router
            .layer(middleware::from_fn_with_state(self.clone(), guard::guard))
            .with_state(self)
    }
}

impl std::fmt::Debug for Web {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Web")
            .field("backend", &self.backend)
            .field("writes", &self.access.is_some())
            .field("hosts", &self.hosts)
            .finish_non_exhaustive()
    }
}
