//! From a URL to a backend.

#[cfg(not(all(feature = "memory", feature = "file", feature = "redis")))]
use queue_core::ErrorKind;
use queue_core::{Error, Queues, Result};

const KNOWN: &str = "known are memory:, file:, redis://, redis+sentinel://, redis+cluster://, the same with rediss, and unix://";

/// The URL for a program that was given none: `memory:` if that backend is compiled in, else a
/// Redis server on this machine, `redis://127.0.0.1:6379`.
///
/// ```
/// # #[cfg(feature = "memory")]
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> queue_kit::Result<()> {
/// let url = std::env::var("SHOP_QUEUES").unwrap_or_else(|_| queue_kit::DEFAULT_URL.to_owned());
/// let queues = queue_kit::connect(&url).await?;
/// # queues.reliable("orders").open::<u64>().await?;
/// # Ok(())
/// # }
/// # #[cfg(not(feature = "memory"))]
/// # fn main() {}
/// ```
pub const DEFAULT_URL: &str = if cfg!(feature = "memory") {
    "memory:"
} else {
    "redis://127.0.0.1:6379"
};

/// Opens the backend that a URL names.
///
/// | URL | backend | feature |
/// | --- | --- | --- |
/// | `memory:` | a new one in this process, which clones of the returned [`Queues`] share | `memory` |
/// | `file:PATH[?sync=always\|50ms\|never]` | the queues in this folder, which is made if there is none | `file` |
/// | `redis://[[user]:password@]host[:port][/db][?prefix=…&client_name=…&startup_timeout=…]` | the Redis server there | `redis` |
/// | `rediss://…`, written as `redis://` | the same through TLS | `tls` |
/// | `redis+sentinel://[user:password@]host[:port][,host…]/service[/db]` | the primary that these sentinels name | `redis` |
/// | `rediss+sentinel://…` | the same through TLS | `tls` |
/// | `redis+cluster://[user:password@]host[:port][,host…]` | the cluster that these servers belong to | `redis` |
/// | `rediss+cluster://…` | the same through TLS | `tls` |
/// | `unix:///path/to/socket[?db=…&user=…&pass=…&prefix=…]` | the Redis server at that socket | `redis` |
/// | `valkey://…`, `valkeys://…` and the like | the same as `redis://…`, `rediss://…` | |
///
/// Through TLS, this trusts the system's roots, or the roots in the file that `SSL_CERT_FILE` names. `Tls` has more
/// settings, such as a certificate of your own.
///
/// A folder belongs to one process at a time. With `sync=always`, the default, an answered call is on the disk; the other
/// settings may lose the last calls in a loss of power.
///
/// On Redis, all keys begin with the prefix, `qk` by default: programs with different ones have no queue in common.
/// `CLIENT LIST` shows the connections by `client_name`, the program and its process by default. This waits until
/// `startup_timeout` is over (`500ms`, `30s`, `5m`) for a server that is not up yet, by default not at all. URLs of
/// every form take these three. Parts of a URL that would have no effect are refused: an unknown or repeated parameter,
/// a user without a password, or a stray sign. [`DEFAULT_URL`] serves programs that are given no URL.
///
/// With the feature `tracing`, the backend's warnings, such as a server that keeps nothing on disk, are logged once, at
/// the level `WARN` under the target `queue_kit`. [`Queues::warnings`] returns them in any case.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> queue_kit::Result<()> {
/// let queues = queue_kit::connect("memory:").await?;
/// let mails = queues.reliable("mails").open::<String>().await?;
/// mails.push("to: everybody").await?;
///
/// let error = queue_kit::connect("rabbit://localhost").await.unwrap_err();
/// assert!(error.to_string().contains("unknown scheme `rabbit`"));
/// # Ok(())
/// # }
/// ```
///
/// # Errors
///
/// `Invalid` for a malformed URL, for an unknown scheme or parameter, and for anything after `memory:`; `Configuration`
/// for a backend whose feature was not compiled in; and the backend's own. No error shows a possible password: of a
/// refused URL, it shows at most the scheme.
pub async fn connect(url: &str) -> Result<Queues> {
    let (scheme, rest) = split(url)?;
    let queues = match scheme.to_ascii_lowercase().as_str() {
        "memory" => open_memory(rest)?,
        "file" => open_file(url)?,
        "redis" | "rediss" | "redis+sentinel" | "rediss+sentinel" | "redis+cluster"
        | "rediss+cluster" | "unix" | "redis+unix" | "valkey" | "valkeys" | "valkey+sentinel"
        | "valkeys+sentinel" | "valkey+cluster" | "valkeys+cluster" | "valkey+unix" => {
            open_redis(scheme, url).await?
        }
        // `localhost:6379`, though the number may also be somebody's password.
        _ if rest.parse::<u16>().is_ok() => {
            return Err(Error::invalid(
                "the backend URL has a host and a port, it seems, and no scheme: write redis:// in front of it",
            ));
        }
        _ => {
            return Err(Error::invalid(format!(
                "unknown scheme `{scheme}` in a backend URL: {KNOWN}"
            )));
        }
    };
    #[cfg(feature = "tracing")]
    log_warnings(&queues);
    Ok(queues)
}

/// Logs the warnings about the backend's setup.
#[cfg(feature = "tracing")]
fn log_warnings(queues: &Queues) {
    for warning in queues.warnings() {
        tracing::warn!(target: "queue_kit", "{warning}");
    }
}

/// The scheme and what follows its colon.
///
/// Errors show only what looks like a scheme: anything else may be part of a user's name and
/// password.
fn split(url: &str) -> Result<(&str, &str)> {
    let is_scheme = |text: &str| {
        text.starts_with(|c: char| c.is_ascii_alphabetic())
            && text
                .chars()
                .all(|c| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.'))
    };
    match url.split_once(':') {
        Some((scheme, rest)) if is_scheme(scheme) => Ok((scheme, rest)),
        _ if url.is_empty() => Err(Error::invalid(format!("the backend URL is empty: {KNOWN}"))),
        _ => Err(Error::invalid(format!(
            "the backend URL has no scheme to start with: {KNOWN}"
        ))),
    }
}

#[cfg(feature = "memory")]
fn open_memory(rest: &str) -> Result<Queues> {
    if rest.is_empty() {
        return Ok(Queues::new(queue_memory::MemoryBackend::new()));
    }
    Err(Error::invalid(
        "the backend URL has something after `memory:`, which takes nothing: each is a new \
         backend, shared by cloning what `connect` returns",
    ))
}

#[cfg(not(feature = "memory"))]
fn open_memory(_rest: &str) -> Result<Queues> {
    Err(not_compiled_in("memory", "memory"))
}

#[cfg(feature = "file")]
fn open_file(url: &str) -> Result<Queues> {
    Ok(Queues::new(queue_file::FileBackend::connect(url)?))
}

#[cfg(not(feature = "file"))]
fn open_file(_url: &str) -> Result<Queues> {
    Err(not_compiled_in("file", "file"))
}

#[cfg(feature = "redis")]
async fn open_redis(_scheme: &str, url: &str) -> Result<Queues> {
    let backend = queue_redis::RedisBackend::connect(url).await?;
    Ok(Queues::new(backend))
}

#[cfg(not(feature = "redis"))]
async fn open_redis(scheme: &str, _url: &str) -> Result<Queues> {
    let asks_for_tls = ["rediss", "valkeys"].map(|secure| scheme.starts_with(secure));
    let feature = if asks_for_tls.contains(&true) {
        "tls"
    } else {
        "redis"
    };
    Err(not_compiled_in(scheme, feature))
}

#[cfg(not(all(feature = "memory", feature = "file", feature = "redis")))]
fn not_compiled_in(scheme: &str, feature: &str) -> Error {
    Error::new(
        ErrorKind::Configuration,
        format!(
            "the scheme `{scheme}` needs the feature `{feature}`, which was not compiled in: \
             enable it with queue-kit = {{ …, features = [\"{feature}\"] }}"
        ),
    )
}

#[cfg(all(test, feature = "tracing"))]
mod tests {
    use std::{
        fmt::Debug,
        num::NonZeroUsize,
        sync::{Arc, Mutex},
    };

    use async_trait::async_trait;
    use queue_core::{AnyQueue, Backend, QueueConfig, QueueInfo, QueueName};
    use tracing::{
        Event, Subscriber,
        field::{Field, Visit},
    };
    use tracing_subscriber::{
        Layer, Registry,
        layer::{Context, SubscriberExt},
    };

    use super::*;

    /// A backend without queues that has warnings.
    #[derive(Debug)]
    struct Wary;

    #[async_trait]
    impl Backend for Wary {
        async fn open(&self, name: &QueueName, config: &QueueConfig) -> Result<AnyQueue> {
            Err(config.kind().missing(name))
        }

        fn warnings(&self) -> Vec<String> {
            vec!["its disk is of paper".to_owned()]
        }

        async fn queues(&self, _: Option<&QueueName>, _: NonZeroUsize) -> Result<Vec<QueueInfo>> {
            Ok(Vec::new())
        }
    }

    /// Keeps a line for each event.
    #[derive(Clone, Default)]
    struct Lines(Arc<Mutex<Vec<String>>>);

    /// Adds each field's value to a line.
    struct Told<'a>(&'a mut String);

    impl Visit for Told<'_> {
        fn record_debug(&mut self, _: &Field, value: &dyn Debug) {
            self.0.push_str(&format!(" {value:?}"));
        }
    }

    impl<S: Subscriber> Layer<S> for Lines {
        fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
            let metadata = event.metadata();
            let mut line = format!("{} {}:", metadata.level(), metadata.target());
            event.record(&mut Told(&mut line));
            self.0.lock().expect("no test panics").push(line);
        }
    }

    #[test]
    fn each_warning_of_the_backend_is_logged_once() {
        let lines = Lines::default();
        let subscriber = Registry::default().with(lines.clone());
        tracing::subscriber::with_default(subscriber, || log_warnings(&Queues::new(Wary)));
        let lines = lines.0.lock().expect("no test panics");
        assert_eq!(*lines, ["WARN queue_kit: its disk is of paper"]);
    }
}
