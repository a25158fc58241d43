//! The error for a refused URL says why, and never shows a password.

use queue_core::ErrorKind;

use crate::connection::by_url::check_url;

/// The error text for a refused URL. The passwords of these tests begin with `hunter`.
fn refused(url: &str) -> String {
    let error = check_url(url).expect_err(url);
    assert_eq!(error.kind(), ErrorKind::Invalid, "{url:?}");
    let message = error.to_string();
    assert!(!message.contains("hunter"), "{url:?}: {message}");
    message
}

const SEVERAL: &str = "one of its hosts or ports, the login or the database is wrong";
const HIDDEN: &str = "an unknown parameter, which may be part of a password";

/// Refused URLs, and a part of the error.
const REFUSED: &[(&str, &str)] = &[
    // An unknown scheme is shown, unless it may be part of a password.
    ("http://localhost", "not with \"http\""),
    ("nats+tls://localhost", "not with \"nats+tls\""),
    (
        "redis+cluster+x://localhost",
        "not with \"redis+cluster+x\"",
    ),
    (":hunter2@localhost", "starts with redis://"),
    ("hunter-2://localhost", "starts with redis://"),
    ("hunter_2@://a", "starts with redis://"),
    // URLs of one host.
    ("redis://local host", "as %20"),
    ("redis://localhost\n", "as %20"),
    ("redis://localhost/3#x", "as %23"),
    ("redis://localhost/#insecure", "a # in it: a # in"),
    ("redis:localhost", "no // follows"),
    ("redis://", "names no host"),
    ("redis://:6379", "names no host"),
    ("redis://localhost:", "1 to 65535"),
    ("redis://localhost:0", "1 to 65535"),
    ("redis://localhost:+1", "1 to 65535"),
    ("redis://localhost:65536", "1 to 65535"),
    ("redis://[::1]:x", "1 to 65535"),
    ("redis://user@localhost", "no password"),
    ("redis://[fe80::1%eth0]", "other characters"),
    ("redis://[fe80::1%25eth0", "1 to 65535"),
    ("redis://a,b:1", "several hosts"),
    ("redis://h%41", "other characters"),
    ("redis://localhost/3/", "number of a database"),
    ("redis://localhost//3", "number of a database"),
    ("redis://localhost/+3", "number of a database"),
    ("redis://localhost/x/../3", "number of a database"),
    // URLs of a socket.
    ("unix://localhost/run/redis.sock", "a path alone"),
    (
        "unix://me:hunter2@localhost:1/run/redis.sock",
        "a path alone",
    ),
    ("unix://run", "a path alone"),
    ("unix:///run/../redis.sock", "a . or .."),
    ("unix:/run/%2e/redis.sock", "a . or .."),
    // URLs of sentinels.
    ("redis+sentinel:one/orders", "no // follows"),
    ("redis+sentinel://one", "names no service"),
    ("redis+sentinel://one/", "names no service"),
    ("redis+sentinel://one//3", "names no service"),
    ("redis+sentinel:///orders", "names no hosts"),
    ("redis+sentinel://one,,two/orders", SEVERAL),
    ("redis+sentinel://one:port/orders", SEVERAL),
    ("redis+sentinel://one/orders/three", SEVERAL),
    ("redis+sentinel://me:hunter2@one:x/orders", SEVERAL),
    ("redis+sentinel://one/two*words", "two*words"),
    ("redis+sentinel://:hunter/2@one/orders", "as %2F"),
    ("redis+sentinel://:hunter?2@one/orders", "as %3F"),
    ("redis+sentinel://:hunter#2@one/orders", "as %23"),
    // URLs of a cluster.
    ("redis+cluster:one", "no // follows"),
    ("redis+cluster://", "names no hosts"),
    ("redis+cluster://one/3", "database 0 alone"),
    ("redis+cluster://one,,two", SEVERAL),
    ("redis+cluster://me:hunter2@one:x", SEVERAL),
    ("redis+cluster://:hunter/2@one", "as %2F"),
    ("redis+cluster://:hunter#2@one", "as %23"),
    // An unknown parameter is named beside the known ones, unless it may be part of a password.
    (
        "redis://a?perfix=shop",
        "\"perfix\": known are protocol, prefix",
    ),
    (
        "redis://a?db=3",
        "\"db\": known are protocol, prefix, client_name, startup_timeout; the database stands behind the host",
    ),
    ("redis://a?password=3", "the login stands in front"),
    ("redis://a?max_retries=3", "\"max_retries\": known are"),
    (
        "unix:///a?database=3",
        "\"database\": known are db, user, pass, protocol, prefix",
    ),
    (
        "redis+sentinel://a/b?pass=3",
        "\"pass\": known are sentinel_username, sentinel_password, prefix",
    ),
    ("redis://a?Hunter=a", HIDDEN),
    ("unix:///a?pass=a&hunter2=b", HIDDEN),
    ("unix:///a?pass=a&hunter=b", HIDDEN),
    ("unix:///a?pass/hunter2&db=1", HIDDEN),
    ("unix:///a?passhunter&db=1", HIDDEN),
    ("redis+sentinel://a/b?sentinel_password=a&hunter2=b", HIDDEN),
    // Parameters that would have no effect.
    (
        "redis://a?prefix=a&prefix=a",
        "prefix of the Redis URL stands there twice",
    ),
    (
        "unix:///a?db=1&db=2",
        "db of the Redis URL stands there twice",
    ),
    ("unix:///a?pass=hunter&pass=hunter", "stands there twice"),
    ("unix:///a?user=u&db=1", "user without pass:"),
    (
        "redis+sentinel://a/b?sentinel_username=u",
        "without sentinel_password",
    ),
    ("redis://a?protocol=2", "speaks RESP3"),
    ("redis://a?startup_timeout=30", "as in 500ms, 30s or 5m"),
    ("redis://a?startup_timeout=%2B3s", "as in 500ms, 30s or 5m"),
    ("redis://a?startup_timeout=s", "as in 500ms, 30s or 5m"),
    ("unix:///a?pass=a+b", "as %2B"),
    ("unix:///a?pass=%FF", "in UTF-8"),
    ("unix:///a?pass=hunter%FF", "in UTF-8"),
    ("redis://a?hunter2@localhost", "as %3F"),
    ("unix:///a?db=%2B1", "the parameter db"),
];

#[test]
fn url_errors_name_the_fault_without_a_password() {
    for (url, named) in REFUSED {
        let message = refused(url);
        assert!(message.contains(named), "{url:?}: {message}");
    }
}

#[test]
#[cfg(feature = "tls")]
fn a_number_sign_in_a_tls_url_names_the_fragments_it_may_mean() {
    let message = refused("rediss://localhost/#insecure");
    assert!(
        message.contains("certificates") && message.contains("%23"),
        "{message}"
    );
}
