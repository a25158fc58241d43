//! An accepted URL means what it says: an independent reader that shares no code with the parser finds the same.

mod refused;

use proptest::{collection::vec, option, prelude::*, sample::select};
use queue_core::ErrorKind;
use queue_testing::property::check_property;
use redis::{ConnectionAddr, RedisConnectionInfo};

use super::*;
use crate::connection::sentinel::Address;

const CASES: u32 = 6_000;

/// All information in a URL.
#[derive(Debug, Default, PartialEq, Eq)]
struct UrlMeaning {
    /// In order; a socket is a place without a port.
    places: Vec<(String, Option<u16>)>,
    is_secure: bool,
    login: Login,
    database: i64,
    service: Option<String>,
    login_to_sentinels: Login,
    settings: UrlSettings,
}

#[derive(Debug, Default, PartialEq, Eq)]
struct Login {
    user: Option<String>,
    password: Option<String>,
}

impl Login {
    /// Without a password the client does not log in, and the user name would have no effect.
    fn has_effect(&self) -> bool {
        self.user.is_none() || self.password.is_some()
    }
}

/// How this crate understands a URL; `None` if it refuses the URL.
fn taken(url: &str) -> Option<UrlMeaning> {
    let login = |handshake: &RedisConnectionInfo| Login {
        user: handshake.username().map(str::to_owned),
        password: handshake.password().map(str::to_owned),
    };
    let refused = |error: queue_core::Error| {
        assert_eq!(error.kind(), ErrorKind::Invalid, "{url:?}: {error}");
    };
    let settings = check_url(url)
        .and_then(|()| url_settings(url))
        .map_err(refused)
        .ok()?;
    let known = "it was checked";
    let (targets, first, service, of_sentinels) = if names_sentinels(url) {
        let address = Address::parse(url).expect(known);
        let of_sentinels = login(&address.sentinels[0].handshake);
        let mut databases = address.sentinels.iter().map(|each| each.handshake.db());
        assert!(
            databases.all(|database| database == 0),
            "sentinels have none"
        );
        (
            address.sentinels,
            address.primary,
            Some(address.service),
            of_sentinels,
        )
    } else {
        let targets = match names_cluster(url) {
            true => seeds::targets(url).expect(known),
            false => vec![UrlTarget::parse(url).expect(known)],
        };
        let first = targets[0].clone();
        (targets, first, None, Login::default())
    };
    let logins: Vec<Login> = targets.iter().map(|each| login(&each.handshake)).collect();
    assert!(logins.iter().all(|each| *each == logins[0]), "{logins:?}");
    let place = |target: &UrlTarget| match &target.server {
        ConnectionAddr::Tcp(host, port) => (host.clone(), Some(*port)),
        ConnectionAddr::Unix(path) => (path.display().to_string(), None),
        other => panic!("{other:?}"),
    };
    Some(UrlMeaning {
        places: targets.iter().map(place).collect(),
        is_secure: first.is_secure,
        login: login(&first.handshake),
        database: first.handshake.db(),
        service,
        login_to_sentinels: of_sentinels,
        settings,
    })
}

/// Turns `%41` into `A`.
fn plain(text: &str) -> String {
    let (mut bytes, mut rest) = (Vec::new(), text.as_bytes());
    while let [first, after @ ..] = rest {
        let coded = (*first == b'%').then(|| after.get(..2)).flatten();
        let coded = coded.filter(|two| two.iter().all(u8::is_ascii_hexdigit));
        let coded =
            coded.and_then(|two| u8::from_str_radix(std::str::from_utf8(two).ok()?, 16).ok());
        bytes.push(coded.unwrap_or(*first));
        rest = if coded.is_some() { &after[2..] } else { after };
    }
    String::from_utf8(bytes).expect("what is no text is refused")
}

impl UrlMeaning {
    /// Reads a parameter.
    fn set(&mut self, parameter: &str) {
        let (name, value) = parameter.split_once('=').unwrap_or((parameter, ""));
        let value = plain(value);
        let set = match &*plain(name) {
            "prefix" => &mut self.settings.prefix,
            "client_name" => &mut self.settings.client_name,
            "startup_timeout" => {
                let seconds = value.trim_end_matches('s').parse().expect("seconds");
                let time = Duration::from_secs(seconds);
                assert_eq!(self.settings.startup_timeout.replace(time), None);
                return;
            }
            "user" => &mut self.login.user,
            "pass" => &mut self.login.password,
            "sentinel_username" => &mut self.login_to_sentinels.user,
            "sentinel_password" => &mut self.login_to_sentinels.password,
            "db" => {
                self.database = value.parse().expect("a number");
                return;
            }
            "protocol" => {
                assert!(matches!(&*value, "3" | "resp3"), "nothing else is spoken");
                return;
            }
            other => panic!("{other:?} has no effect"),
        };
        assert_eq!(set.replace(value), None, "the first one has no effect");
    }
}

/// Reads a URL from left to right, as a person does, and assumes that it is valid.
fn read(url: &str) -> UrlMeaning {
    let mut parsed = UrlMeaning::default();
    let (scheme, rest) = url.split_once(':').expect("a scheme");
    let scheme = scheme.to_ascii_lowercase();
    let (place, query) = rest.split_once('?').unwrap_or((rest, ""));
    parsed.is_secure = scheme.starts_with("rediss") || scheme.starts_with("valkeys");
    for parameter in query.split('&').filter(|parameter| !parameter.is_empty()) {
        parsed.set(parameter);
    }
    if scheme.ends_with("unix") {
        let path = place.strip_prefix("//").unwrap_or(place);
        parsed.places.push((plain(path), None));
        return parsed;
    }
    let place = place.strip_prefix("//").expect("two of them");
    let (authority, path) = place.split_once('/').unwrap_or((place, ""));
    let (login, hosts) = authority.rsplit_once('@').unwrap_or(("", authority));
    let (user, password) = login.split_once(':').unwrap_or((login, ""));
    let some = |text: &str| (!text.is_empty()).then(|| plain(text));
    let is_empty = !user.is_empty() && login.contains(':') && password.is_empty();
    parsed.login = Login {
        user: some(user),
        password: if is_empty {
            Some(String::new())
        } else {
            some(password)
        },
    };
    let port = if scheme.ends_with("sentinel") {
        26379
    } else {
        6379
    };
    for host in hosts.split(',') {
        let (host, port) = match host.rsplit_once(':') {
            Some((host, own)) if !own.contains(']') => (host, own.parse().expect("a port")),
            _ => (host, port),
        };
        assert!(!host.is_empty() && port > 0, "{host}:{port}");
        let host = host.trim_matches(['[', ']']).replace("%25", "%");
        parsed.places.push((host, Some(port)));
    }
    let database = if scheme.ends_with("sentinel") {
        let (service, database) = path.split_once('/').unwrap_or((path, ""));
        parsed.service = Some(service.to_owned());
        database
    } else {
        path
    };
    if !database.is_empty() {
        parsed.database = database.parse().expect("a number");
    }
    parsed
}

/// Mostly one of the valid values, sometimes a wrong one.
fn one_of(good: &[&'static str], wrong: &[&'static str]) -> impl Strategy<Value = &'static str> {
    prop_oneof![9 => select(good.to_vec()), 1 => select(wrong.to_vec())]
}

fn scheme() -> impl Strategy<Value = &'static str> {
    const PLAIN: &[&str] = &[
        "redis:",
        "valkey:",
        "redis+sentinel:",
        "valkey+sentinel:",
        "redis+cluster:",
        "Redis:",
        "VALKEY+Sentinel:",
        "unix:",
        "redis+unix:",
        "valkey+unix:",
    ];
    const SECURE: &[&str] = &[
        "rediss:",
        "valkeys:",
        "rediss+sentinel:",
        "valkeys+cluster:",
    ];
    prop_oneof![
        4 => one_of(PLAIN, &["redis+sentinels:", "rediss+unix:"]),
        u32::from(cfg!(feature = "tls")) => select(SECURE),
    ]
}

fn login() -> impl Strategy<Value = &'static str> {
    let good = &[
        "",
        "",
        ":p@",
        "u:p@",
        ":@",
        ":p%40%23@",
        "u:p:q@",
        ":p@q@",
        "ü:%C3%BC@",
        "u:@",
        ":100%@",
        ":p+q@",
    ];
    one_of(
        good,
        &[
            "@", "u@", ":%FF@", ":p#@", ":p/q@", ":p?q@", "p q:r@", ":p\nq@",
        ],
    )
}

fn hosts() -> impl Strategy<Value = String> {
    let host = one_of(
        &[
            "localhost",
            "a.b-c_d",
            "127.0.0.1",
            "[::1]",
            "[fe80::1%25eth0]",
            "EXAMPLE.org",
        ],
        &[
            "",
            "0.0.0.0",
            "a b",
            "é.org",
            "a%41",
            "a%25b",
            "[fe80::1%eth0]",
            "[fe80::1%25]",
            "[%25eth0]",
            "::1",
            "[::1",
            "..",
            "a\\b",
        ],
    );
    let port = one_of(
        &["", "", ":1", ":06379", ":65535"],
        &[":", ":0", ":65536", ":-1", ":+1", ":x", ":1:2"],
    );
    let host = (host, port)
        .prop_map(|(host, port)| format!("{host}{port}"))
        .boxed();
    let more = prop_oneof![4 => Just(0), 1 => 1..3_usize];
    more.prop_flat_map(move |more| vec(host.clone(), more + 1))
        .prop_map(|hosts| hosts.join(","))
}

fn path() -> impl Strategy<Value = &'static str> {
    one_of(
        &[
            "",
            "/",
            "/3",
            "/03",
            "/orders",
            "/orders/",
            "/orders/3",
            "/run/redis.sock",
            "/run/a%20b",
        ],
        &[
            "//",
            "/3/",
            "//3",
            "/+3",
            "/-3",
            "/3x",
            "/./3",
            "/a/../3",
            "/run/%2e/a",
            "/9999999999",
            "/3;a",
            "/orders/3/",
        ],
    )
}

fn query() -> impl Strategy<Value = String> {
    let parameter = one_of(
        &[
            "prefix=shop",
            "db=3",
            "user=u",
            "pass=p",
            "pass=p%26",
            "protocol=3",
            "protocol=resp3",
            "sentinel_username=s",
            "sentinel_password=p",
            "%70refix=a",
            "client_name=web-1",
            "startup_timeout=30s",
            "prefix=",
            "pass",
        ],
        &[
            "perfix=a",
            "Prefix=a",
            "db=+3",
            "db=",
            "db=x",
            "protocol=2",
            "protocol=resp2",
            "pass=a+b",
            "pass=%FF",
            "=",
            "a",
            "&",
            "timeout=3",
            "prefix=a#b",
            "prefix=a@b",
            "prefix=a?b",
            "startup_timeout=30",
            "startup_timeout=-1s",
            "startup_timeout=99999999999999999999s",
        ],
    );
    option::of(vec(parameter, 0..4))
        .prop_map(|query| query.map_or_else(String::new, |all| format!("?{}", all.join("&"))))
}

fn url() -> impl Strategy<Value = String> {
    let slashes = one_of(&["//"], &["", "/", "///"]);
    (
        scheme(),
        slashes,
        login(),
        hosts(),
        path(),
        query(),
        any::<bool>(),
    )
        .prop_map(|(scheme, slashes, login, hosts, path, query, has_host)| {
            // A socket belongs to no host.
            let is_bare = scheme.ends_with("unix:") && has_host;
            let authority = if is_bare {
                String::new()
            } else {
                format!("{login}{hosts}")
            };
            format!("{scheme}{slashes}{authority}{path}{query}")
        })
}

#[test]
fn a_url_that_is_taken_says_what_it_means() {
    check_property(CASES, url(), |url| {
        if let Some(taken) = taken(&url) {
            assert_eq!(taken, read(&url), "{url:?}");
            let logins = [&taken.login, &taken.login_to_sentinels];
            assert!(logins.into_iter().all(Login::has_effect), "{url:?}");
        }
    });
}

#[test]
fn urls_of_every_form_are_taken() {
    let urls = [
        "redis://localhost",
        "redis://localhost/?",
        "redis://localhost/?prefix=shop",
        "redis://127.0.0.1?prefix=a/b",
        "redis://[::1]/0",
        "valkey://u:p@[::1]:1/3?protocol=3&prefix=a%2Eb",
        "redis://me:pa:ss@[::1]:1/0",
        "redis://:p%23w@localhost:06379/03",
        "redis://:100%@localhost",
        "redis://:@localhost",
        "redis://default:@localhost",
        "REDIS://LOCALHOST",
        "Redis+Cluster://a,b",
        "UNIX:/run/Redis.sock",
        "redis://u:p@[fe80::1%25eth0]:1/3",
        "redis+sentinel://[fe80::1%25eth0.7],b/orders",
        "redis+sentinel://u:p@a,b:1,[::1]/orders/3?sentinel_username=s&sentinel_password=q&prefix=shop",
        "redis+sentinel://me:p%40ss@one,two:5000,[::1],[::2]:7/orders.eu/3?sentinel_password=a%26b",
        "redis+sentinel://a/orders/",
        "valkey+sentinel://:secret@one/orders",
        "valkey+cluster://:p@a,b:1/0?prefix=shop",
        "redis+cluster://me:p%40ss@one,two:7000,[::1]/?prefix=shop",
        "unix:///",
        "unix:///run/a%20b.sock?db=3&user=u&pass=p%2B&prefix=shop",
        "unix:///run/redis.sock?pass=a@b%26c&db=1",
        "unix:///run/redis.sock?pass=a/../b",
        "unix:/run/.redis..sock",
        "redis+unix:/run/redis.sock",
    ];
    let secure = cfg!(feature = "tls").then_some("VALKEYS+cluster://one");
    for url in urls.into_iter().chain(secure) {
        let taken = taken(url).unwrap_or_else(|| panic!("{url} is refused"));
        assert_eq!(taken, read(url), "{url}");
    }
}
