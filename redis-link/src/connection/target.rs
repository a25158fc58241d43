//! The server that a URL names, and how to greet it.

use queue_core::{Error, Result};
use redis::{
    ConnectionAddr, ConnectionInfo, IntoConnectionInfo, ProtocolVersion, RedisConnectionInfo,
};

use super::{
    parameters::{OF_HOSTS, OF_SOCKETS, Parameters},
    tls::{self, Tls, TlsClient},
    written,
};

/// A server, and how to greet it.
#[derive(Clone)]
pub(super) struct UrlTarget {
    pub(super) server: ConnectionAddr,
    pub(super) handshake: RedisConnectionInfo,
    /// Whether the URL asks for TLS.
    pub(super) is_secure: bool,
}

impl UrlTarget {
    /// Reads a URL. Checks everything that can be checked without a server.
    pub(super) fn parse(url: &str) -> Result<Self> {
        let scheme = &*scheme_of(url);
        let plain = scheme_without_tls(scheme, url)?;
        let is_secure = plain != scheme;
        if is_secure {
            tls::check_is_built_in(scheme)?;
        }
        let Some((_, rest)) = url.split_once(':') else {
            return Err(malformed(scheme, "no :// follows its scheme"));
        };
        // The text after a # may be the rest of a password, which no error may show.
        if is_secure && rest.contains('#') {
            return Err(Error::invalid(format!(
                "the {scheme} URL has a # in it: certificates are always checked, so there is no \
                 #insecure, and a # in a user's name or password is written as %23"
            )));
        }
        let is_socket = names_socket(url);
        let query = rest.split_once('?').map_or("", |(_, query)| query);
        let known = if is_socket { OF_SOCKETS } else { OF_HOSTS };
        Parameters::read(query, known)?;
        if let Some(flaw) = written::flaw(rest, is_socket) {
            return Err(malformed(scheme, flaw));
        }
        let (rest, zone) = written::without_zone(rest);
        let info: ConnectionInfo = format!("{plain}:{rest}")
            .into_connection_info()
            // The parser's message without the URL, which may contain a password.
            .map_err(|error| malformed(scheme, &error.to_string()))?;
        let server = match (info.addr().clone(), zone) {
            (ConnectionAddr::Tcp(host, port), Some(zone)) => {
                ConnectionAddr::Tcp(format!("{host}%{zone}"), port)
            }
            (server, _) => server,
        };
        Ok(Self {
            server,
            handshake: handshake(scheme, info.redis_settings())?,
            is_secure,
        })
    }

    /// The TLS client of the connections, if the URL asks for TLS.
    pub(super) fn security(&self, settings: Option<&Tls>) -> Result<Option<TlsClient>> {
        match settings {
            Some(_) if !self.is_secure => Err(Error::invalid(
                "there are settings of TLS, but the URL does not ask for it: write it with \
                 rediss://, or leave out Builder::tls",
            )),
            _ if self.is_secure => TlsClient::new(settings).map(Some),
            _ => Ok(None),
        }
    }
}

/// The scheme of the same server without TLS. The redis crate reads no URL with TLS, unless the crate itself provides
/// TLS.
fn scheme_without_tls<'a>(scheme: &'a str, url: &str) -> Result<&'a str> {
    let text = match scheme {
        "redis" | "valkey" | "unix" | "redis+unix" | "valkey+unix" => return Ok(scheme),
        "rediss" => return Ok("redis"),
        "valkeys" => return Ok("valkey"),
        _ if scheme.ends_with("+cluster") => format!(
            "a {scheme} URL names a cluster: RedisBackend::connect reads it, and no connector to one \
             server"
        ),
        _ if scheme.ends_with("+sentinel") => {
            format!("a {scheme} URL names sentinels: a SentinelConnector reads it")
        }
        _ => format!(
            "a Redis URL starts with redis://, rediss://, redis+sentinel://, redis+cluster:// or \
             unix://{}",
            but_with(url)
        ),
    };
    Err(Error::invalid(text))
}

/// How to greet the server, by these settings of a URL with this scheme.
fn handshake(scheme: &str, settings: &RedisConnectionInfo) -> Result<RedisConnectionInfo> {
    let database = settings.db();
    // No server has other databases.
    if !(0..=i64::from(i32::MAX)).contains(&database) {
        return Err(Error::invalid(format!(
            "the {scheme} URL asks for the database {database}: 0 to {} can be named",
            i32::MAX
        )));
    }
    let handshake = settings
        .clone()
        .set_protocol(ProtocolVersion::RESP3)
        // Before 7.2 a server replies to this with two errors, which its statistics count.
        .set_skip_set_lib_name();
    // The parser drops an empty password, but without it the user is not logged in.
    match (handshake.username(), handshake.password()) {
        (Some(_), None) => Ok(handshake.set_password("")),
        _ => Ok(handshake),
    }
}

/// Whether a URL names a socket.
pub(super) fn names_socket(url: &str) -> bool {
    let scheme = scheme_of(url);
    scheme == "unix" || scheme.ends_with("+unix")
}

/// The scheme of a URL in lower case: the URL may have it in upper case.
pub(super) fn scheme_of(url: &str) -> String {
    let scheme = url.split(':').next().unwrap_or_default();
    scheme.to_ascii_lowercase()
}

fn malformed(scheme: &str, what: &str) -> Error {
    Error::invalid(format!(
        "the {scheme} URL is not understood: {what}; write it as redis://user:password@host:port/db, \
         rediss://user:password@host:port/db or unix:///path/to/socket?db=0"
    ))
}

/// The beginning of a URL, for errors; nothing if it may be part of a password.
fn but_with(url: &str) -> String {
    match url.split_once("://") {
        Some((scheme, _))
            if scheme
                .chars()
                .all(|c| c.is_ascii_alphanumeric() || c == '+') =>
        {
            format!(", not with {scheme:?}")
        }
        _ => String::new(),
    }
}
