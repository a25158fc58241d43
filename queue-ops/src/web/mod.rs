//! The page for operators, as a router of axum: served by `qk web`, or by a program of yours.
//!
//! It works without script. Reading changes nothing, and costs the backend a page of anything at most. Actions are off
//! unless [`Web::writes`] gives a token.

mod actions;
mod api;
mod audit;
mod group_table;
mod groups;
mod guard;
mod metrics;
mod pages;
#[cfg(feature = "schedules")]
mod schedules;
mod show;
mod watch;

use std::{sync::Arc, time::Duration};

use axum::{
    Router, middleware,
    routing::{get, post},
};
use queue_core::{Backend, Bytes, QueueName};

use self::{audit::Audit, watch::Watch};
pub use self::{
    audit::AuditEntry,
    metrics::{BUSIEST_GROUP_SHARE, GROUPS, STANDSTILL_SECONDS},
};

type Redact = dyn Fn(&QueueName, &Bytes) -> Option<Bytes> + Send + Sync;
type OnAction = dyn Fn(&AuditEntry) + Send + Sync;

/// The page, before it is a router.
#[must_use = "it serves nothing until `router`"]
#[derive(Clone)]
pub struct Web {
    backend: Arc<dyn Backend>,
    token: Option<Arc<str>>,
    hosts: Arc<[String]>,
    redact: Option<Arc<Redact>>,
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
            token: None,
            hosts: Arc::default(),
            redact: None,
            on_action: None,
            audit: Arc::default(),
            watch: None,
            schedules: "schedules".into(),
        }
    }

    /// Allows actions to whoever has this token: as `Authorization: Bearer`, or by signing in on the page.
    pub fn writes(mut self, token: impl Into<Arc<str>>) -> Self {
        self.token = Some(token.into());
        self
    }

    /// Answers requests to these hosts alone, so that no other name that leads here (DNS rebinding) makes a browser
    /// send any: `127.0.0.1:7700`, `localhost:7700`. All hosts are answered by default.
    pub fn hosts(mut self, hosts: impl IntoIterator<Item = String>) -> Self {
        self.hosts = hosts.into_iter().collect();
        self
    }

    /// Shows of each body what this function returns, and nothing of it if that is `None`. All of a body is shown by
    /// default, up to 4 KiB.
    pub fn redact(
        mut self,
        redact: impl Fn(&QueueName, &Bytes) -> Option<Bytes> + Send + Sync + 'static,
    ) -> Self {
        self.redact = Some(Arc::new(redact));
        self
    }

    /// Calls this function after each action. The page itself keeps the last hundred.
    pub fn on_action(mut self, on_action: impl Fn(&AuditEntry) + Send + Sync + 'static) -> Self {
        self.on_action = Some(Arc::new(on_action));
        self
    }

    /// Samples up to 1,000 queues at this interval (100 ms at least), by one listing, from [`router`](Self::router) on until the router is
    /// gone. Then the pages show rates and charts of the last 360 samples, and read themselves again after each; and
    /// `/metrics` tells for how long each queue stands still. Off by default. It needs a tokio runtime.
    pub fn sample_every(mut self, interval: Duration) -> Self {
        self.watch = Some(Watch::new(interval));
        self
    }

    /// The name with which programs open their schedules: `schedules` by default.
    pub fn schedules(mut self, ring: impl Into<Arc<str>>) -> Self {
        self.schedules = ring.into();
        self
    }

    /// The router, for the root of a host or a port of its own. Put layers of yours around it, such as a login.
    pub fn router(self) -> Router {
        if let Some(watch) = &self.watch {
            watch.start(Arc::clone(&self.backend));
        }
        let router = Router::new()
            .route("/", get(pages::queues))
            .route("/style.css", get(pages::style))
            .route("/live.js", get(pages::script))
            .route("/events", get(watch::events))
            .route("/dead", get(pages::all_dead))
            .route("/workers", get(pages::workers))
            .route("/sign-in", get(pages::sign_in).post(guard::sign_in))
            .route("/server", get(pages::server))
            .route("/audit", get(pages::audit))
            .route("/queues/{queue}", get(pages::queue).post(actions::on_queue))
            .route(
                "/queues/{queue}/dead",
                get(pages::dead).post(actions::on_dead),
            )
            .route("/queues/{queue}/in/{place}", get(pages::place))
            .route(
                "/queues/{queue}/groups",
                get(groups::list).post(actions::on_groups),
            )
            .route(
                "/queues/{queue}/messages/{id}",
                get(pages::message).post(actions::on_message),
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
            .field("writes", &self.token.is_some())
            .field("hosts", &self.hosts)
            .finish_non_exhaustive()
    }
}
