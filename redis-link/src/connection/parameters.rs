//! The parameters of a URL, after its question mark. The URL is refused if one has no effect, because it may be
//! mistyped.

use std::time::Duration;

use queue_core::{Error, Result};

use super::written::is_number;

/// The parameters that URLs of one form may have.
pub(super) type ParameterNames = &'static [&'static str];

pub(super) const OF_SOCKETS: ParameterNames = &[
    "db",
    "user",
    "pass",
    "protocol",
    "prefix",
    "client_name",
    "startup_timeout",
];
/// In a URL of a host, the other settings are not parameters.
pub(super) const OF_HOSTS: ParameterNames =
    &["protocol", "prefix", "client_name", "startup_timeout"];
pub(super) const OF_SENTINELS: ParameterNames = &[
    "sentinel_username",
    "sentinel_password",
    "prefix",
    "client_name",
    "startup_timeout",
];
pub(super) const OF_CLUSTERS: ParameterNames = &["prefix", "client_name", "startup_timeout"];

/// Pairs of a user's name and its password. A name without a password would have no effect.
const LOGINS: [(&str, &str); 2] = [("user", "pass"), ("sentinel_username", "sentinel_password")];

/// The parameters of one URL, each once.
#[derive(Debug, Default)]
pub(super) struct Parameters(Vec<(String, String)>);

impl Parameters {
    /// Reads the text after the question mark of a URL.
    ///
    /// # Errors
    ///
    /// `Invalid` for a parameter that is unknown, duplicated, or without effect.
    pub(super) fn read(query: &str, known: ParameterNames) -> Result<Self> {
        // The apparent parameter may be the rest of a password, which no error may show.
        if known != OF_SOCKETS && query.contains('@') {
            return Err(Error::invalid(
                "the Redis URL has an @ behind its ?: write a ? in a user's name or password as %3F",
            ));
        }
        if query.contains('+') {
            return Err(Error::invalid(
                "the Redis URL has a + behind its ?, which means a blank to some: write a + as %2B, and a \
                 blank as %20",
            ));
        }
        let url = redis::parse_redis_url(&format!("redis://localhost?{query}"));
        let mut read = Self::default();
        let mut behind_password = false;
        for (name, value) in url.iter().flat_map(|url| url.query_pairs()) {
            if !known.contains(&&*name) {
                let shown = !behind_password && is_plain(&name);
                return Err(unknown(shown.then_some(&*name), known));
            }
            behind_password |= matches!(&*name, "pass" | "sentinel_password");
            if value.contains(char::REPLACEMENT_CHARACTER) {
                let reason = "is no text: write its characters in UTF-8";
                return Err(Error::invalid(format!(
                    "the parameter {name} of the Redis URL {reason}"
                )));
            }
            if read.get(&name).is_some() {
                let reason = "stands there twice: leave one out";
                return Err(Error::invalid(format!(
                    "the parameter {name} of the Redis URL {reason}"
                )));
            }
            read.0.push((name.into_owned(), value.into_owned()));
        }
        read.check_values()?;
        Ok(read)
    }

    /// The value of a parameter, if the URL has it.
    pub(super) fn get(&self, name: &str) -> Option<&str> {
        let found = self.0.iter().find(|(own, _)| own == name);
        found.map(|(_, value)| &**value)
    }

    /// The value of a time parameter, such as `500ms`, `30s` or `5m`.
    pub(super) fn time(&self, name: &str) -> Result<Option<Duration>> {
        let Some(text) = self.get(name) else {
            return Ok(None);
        };
        let number = text.trim_end_matches(|c: char| c.is_ascii_lowercase());
        let unit = match &text[number.len()..] {
            "ms" => Some(1),
            "s" => Some(1_000),
            "m" => Some(60_000),
            _ => None,
        };
        // `parse` would also accept a plus sign.
        let is_number = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
        let number: Option<u64> = number.parse().ok().filter(|_| is_number);
        let millis = number.zip(unit);
        let millis = millis.and_then(|(number, unit)| number.checked_mul(unit));
        let time = millis.map(Duration::from_millis).ok_or_else(|| {
            Error::invalid(format!(
                "the parameter {name} of the Redis URL is no time: write a number and its unit, as in 500ms, \
                 30s or 5m"
            ))
        });
        time.map(Some)
    }

    fn check_values(&self) -> Result<()> {
        for (user, password) in LOGINS {
            if self.get(user).is_some() && self.get(password).is_none() {
                return Err(Error::invalid(format!(
                    "the Redis URL has the parameter {user} without {password}: nobody would be logged in"
                )));
            }
        }
        if self
            .get("protocol")
            .is_some_and(|named| !matches!(named, "3" | "resp3"))
        {
            return Err(Error::invalid(
                "the parameter protocol of the Redis URL can be 3 alone: queue-kit speaks RESP3, so leave it out",
            ));
        }
        if self.get("db").is_some_and(|named| !is_number(named)) {
            return Err(Error::invalid(
                "the parameter db of the Redis URL is not understood: it is the number of a database",
            ));
        }
        self.time("startup_timeout").map(drop)
    }
}

/// Whether this may be a mistyped name, instead of a password after a mistyped delimiter.
fn is_plain(name: &str) -> bool {
    let has_more = |secret: &str| name.starts_with(secret) && name != secret;
    name.len() <= 24
        && (name == "password" || !has_more("pass"))
        && !has_more("sentinel_password")
        && name.chars().all(|c| c.is_ascii_lowercase() || c == '_')
}

fn unknown(name: Option<&str>, known: ParameterNames) -> Error {
    // Where a URL of this form has what was meant by the parameter.
    let place = match name {
        Some("db" | "database") if known == OF_HOSTS => {
            "; the database stands behind the host: redis://host:6379/3"
        }
        Some("user" | "username" | "pass" | "password") if known != OF_SOCKETS => {
            "; the login stands in front of the host: redis://user:password@host"
        }
        _ => "; the settings of RedisBackend::builder are no parameters",
    };
    let known = known.join(", ");
    Error::invalid(match name {
        Some(name) => {
            format!("the Redis URL has an unknown parameter {name:?}: known are {known}{place}")
        }
        None => format!(
            "the Redis URL has an unknown parameter, which may be part of a password: known are \
             {known}; write an & in a password as %26"
        ),
    })
}
