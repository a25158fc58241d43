//! The parameters of a URL, behind its question mark.

use queue_core::{Error, Result};

use crate::connection;

/// The prefix that a URL sets, if it sets one.
///
/// # Errors
///
/// `Invalid` for a parameter that nothing reads: a mistyped one would be without effect.
pub(super) fn prefix(url: &str) -> Result<Option<String>> {
    let (read, known) = connection::parameters(url);
    let Some(url) = redis::parse_redis_url(&read) else {
        return Ok(None);
    };
    let of_socket = url.scheme().ends_with("unix");
    // What looks like a parameter may be the rest of a password, which no error may show.
    if !of_socket && url.query().is_some_and(|query| query.contains('@')) {
        return Err(Error::invalid(
            "the Redis URL has an @ behind its ?: write a ? in a user's name or password as %3F",
        ));
    }
    let mut behind_password = false;
    let mut prefix = None;
    for (name, value) in url.query_pairs() {
        if !known.contains(&&*name) {
            let shown = !behind_password && is_plain(&name);
            return Err(unknown(shown.then_some(&*name), known));
        }
        behind_password |= matches!(&*name, "pass" | "sentinel_password");
        if name == "prefix" {
            prefix = Some(value.into_owned());
        }
    }
    Ok(prefix)
}

/// Whether this is a name that somebody mistyped, and not a password behind a mistyped sign.
fn is_plain(name: &str) -> bool {
    let has_more = |secret: &str| name.starts_with(secret) && name != secret;
    name.len() <= 24
        && (name == "password" || !has_more("pass"))
        && !has_more("sentinel_password")
        && name.chars().all(|c| c.is_ascii_lowercase() || c == '_')
}

fn unknown(name: Option<&str>, known: &[&str]) -> Error {
    let known = known.join(", ");
    Error::invalid(match name {
        Some(name) => format!(
            "the Redis URL has an unknown parameter {name:?}: known are {known}; the settings of \
             RedisBackend::builder are no parameters"
        ),
        None => format!(
            "the Redis URL has an unknown parameter, which may be part of a password: known are \
             {known}; write an & in a password as %26"
        ),
    })
}

#[cfg(test)]
mod tests {
    use queue_core::ErrorKind;

    use super::*;

    #[test]
    fn the_prefix_is_read_beside_what_the_crate_reads() {
        for (url, read) in [
            ("redis://localhost", None),
            ("redis://localhost/3?", None),
            ("redis://u:p@localhost/3?protocol=resp3", None),
            ("redis://localhost:6379?prefix=shop", Some("shop")),
            ("valkey://localhost/3?protocol=3&prefix=a%2Eb", Some("a.b")),
            ("rediss://localhost/3?prefix=shop", Some("shop")),
            ("redis+sentinel://a,b:1/orders/3", None),
            (
                "redis+sentinel://a,b/orders?sentinel_password=p&prefix=shop",
                Some("shop"),
            ),
            ("unix:///run/redis.sock?db=1&user=u&pass=p", None),
            ("unix:///run/redis.sock?pass=p@q&prefix=shop", Some("shop")),
            ("redis+unix:///run/redis.sock?prefix=", Some("")),
        ] {
            assert_eq!(prefix(url).expect(url).as_deref(), read, "{url}");
        }
    }

    #[test]
    fn a_parameter_that_nothing_reads_is_named_beside_the_known_ones() {
        for (url, name) in [
            ("redis://localhost?perfix=shop", "perfix"),
            ("redis://localhost?db=3", "db"),
            ("unix:///run/redis.sock?database=3", "database"),
            ("redis+sentinel://a,b/orders?pass=3", "pass"),
        ] {
            let error = prefix(url).expect_err(url);
            assert_eq!(error.kind(), ErrorKind::Invalid);
            for part in [&*format!("{name:?}"), "known are", ", prefix"] {
                assert!(error.to_string().contains(part), "{url}: {error}");
            }
        }
    }

    #[test]
    fn no_rest_of_a_password_is_shown() {
        for url in [
            "redis://user:6379?hunter2@localhost",
            "unix:///run/redis.sock?pass=a&hunter2=b",
            "unix:///run/redis.sock?pass/hunter2&db=1",
            "unix:///run/redis.sock?passhunter&db=1",
            "redis+sentinel://a/orders?sentinel_password=a&hunter2=b",
        ] {
            let error = prefix(url).expect_err(url);
            assert_eq!(error.kind(), ErrorKind::Invalid);
            assert!(!error.to_string().contains("hunter"), "{error}");
        }
    }
}
