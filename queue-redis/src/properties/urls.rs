//! URLs that a user wrote.

use proptest::{collection::vec, prelude::*};

use queue_testing::property::check_property;
use redis_link::connection::SentinelConnector;

use super::{assert_clear, damage};
use crate::RedisBackend;

const CASES: u32 = 4_000;
const PASSWORD: &str = "hunter2Aa";

/// A URL as intended, with a password in one of its possible places.
fn meant() -> impl Strategy<Value = String> {
    let scheme = "(redis|rediss|valkey|valkeys|(redis|rediss)\\+(sentinel|cluster))";
    let login = prop_oneof![
        Just(format!("user:{PASSWORD}@")),
        Just(format!(":{PASSWORD}@")),
        Just(String::new()),
    ];
    let hosts = "(localhost|127\\.0\\.0\\.1|\\[::1\\])(:6379)?(,b:1)?";
    let path = "(/[0-3]|/orders|/orders/[0-3])?";
    let query = prop_oneof![
        Just("?prefix=shop".to_owned()),
        Just(format!("?sentinel_username=a&sentinel_password={PASSWORD}")),
        Just(String::new()),
    ];
    let of_hosts =
        (scheme, login, hosts, path, query).prop_map(|(scheme, login, hosts, path, query)| {
            format!("{scheme}://{login}{hosts}{path}{query}")
        });
    let of_sockets = Just(format!(
        "unix:///run/redis.sock?user=u&pass={PASSWORD}&db=1&prefix=shop"
    ));
    prop_oneof![4 => of_hosts, 1 => of_sockets]
}

/// The same with typing errors: characters that are missing, doubled or wrong.
fn written() -> impl Strategy<Value = String> {
    let sign = prop::sample::select(vec![
        "@", ":", "/", "?", "#", "&", "=", "%", "[", ",", " ", "\n", "é",
    ]);
    let slip = (any::<prop::sample::Index>(), sign, any::<(bool, bool)>());
    (meant(), vec(slip, 0..4)).prop_map(|(mut url, slips)| {
        for (at, sign, (replaces, beside)) in slips {
            // Half of the errors are next to a delimiter, where they change the meaning of the URL.
            let signs: Vec<usize> = url
                .char_indices()
                .filter(|(_, c)| beside && !c.is_alphanumeric())
                .map(|(at, _)| at)
                .collect();
            let at = match signs.is_empty() {
                true => at.index(url.len()),
                false => signs[at.index(signs.len())],
            };
            if !url.is_char_boundary(at) {
                continue;
            }
            let length = url[at..].chars().next().map_or(0, char::len_utf8);
            // The password stays intact; otherwise the test could not find it in a text.
            let is_password = |at: usize| {
                url.find(PASSWORD)
                    .is_some_and(|p| (p..p + PASSWORD.len()).contains(&at))
            };
            if !is_password(at) {
                let end = if replaces { at + length } else { at };
                url.replace_range(at..end, sign);
            }
        }
        url
    })
}

#[track_caller]
fn assert_tells_no_password(url: &str) {
    let mut texts = Vec::new();
    match RedisBackend::builder(url) {
        Ok(builder) => texts.push(format!("{builder:?}")),
        Err(error) => {
            assert_clear(&error);
            texts.push(error.to_string());
            texts.push(format!("{error:?}"));
        }
    }
    let spawn = std::sync::Arc::new(queue_core::TokioSpawn::default());
    match SentinelConnector::new(url, spawn) {
        Ok(connector) => texts.push(format!("{connector:?}")),
        Err(error) => {
            assert_clear(&error);
            texts.push(format!("{error:?}"));
        }
    }
    for text in texts {
        assert!(!text.contains("unter2"), "{url:?}: {text}");
    }
}

#[test]
fn a_url_with_slips_is_read_or_refused_without_its_password() {
    check_property(CASES, written(), |url| assert_tells_no_password(&url));
}

#[test]
fn any_text_is_read_or_refused() {
    let bytes = (meant(), vec(damage(), 0..6)).prop_map(|(url, damages)| {
        let mut bytes = url.into_bytes();
        for damage in damages {
            damage.done_to(&mut bytes);
        }
        String::from_utf8_lossy(&bytes).into_owned()
    });
    let any = prop_oneof![bytes, any::<String>(), "[a-z+]{0,12}://?.{0,40}"];
    check_property(CASES, any, |url| {
        if let Err(error) = RedisBackend::builder(&url) {
            assert_clear(&error);
        }
    });
}
