//! Replies of a server, or of a proxy in between.

use proptest::{collection::vec, prelude::*};
use queue_core::Error;
use queue_testing::property::check_property;
use redis::{Value, VerbatimFormat};
use redis_link::{connection, error::Failure};

use super::{assert_clear, bytes};
use crate::{refusals, reply::Reply, script::Script};

const CASES: u32 = 2_000;

static SCRIPT: Script = Script::new("", "test", "lib/call");

/// A reply of any shape.
fn value() -> impl Strategy<Value = Value> {
    let number = prop_oneof![any::<i64>(), Just(i64::MIN), Just(i64::MAX), -2..3_i64];
    let leaf = prop_oneof![
        Just(Value::Nil),
        Just(Value::Okay),
        number.prop_map(Value::Int),
        bytes().prop_map(Value::BulkString),
        vec(any::<u8>(), 20_000).prop_map(Value::BulkString),
        vec("[a-z_]{1,9}\": ?-?[0-9]{1,30}", 0..4).prop_map(|fields| {
            let fields: Vec<_> = fields.iter().map(|field| format!("\"{field}")).collect();
            Value::BulkString(format!("{{{}}}", fields.join(",")).into_bytes())
        }),
        ".{0,40}".prop_map(Value::SimpleString),
        any::<f64>().prop_map(Value::Double),
        any::<bool>().prop_map(Value::Boolean),
        ".{0,9}".prop_map(|text| Value::VerbatimString {
            format: VerbatimFormat::Text,
            text,
        }),
    ];
    leaf.prop_recursive(3, 24, 6, |inner| {
        prop_oneof![
            4 => vec(inner.clone(), 0..6).prop_map(Value::Array),
            1 => vec(inner.clone(), 0..3).prop_map(Value::Set),
            1 => vec((inner.clone(), inner.clone()), 0..3).prop_map(Value::Map),
            1 => (inner.clone(), vec((inner.clone(), inner.clone()), 0..2)).prop_map(
                |(data, attributes)| Value::Attribute { data: Box::new(data), attributes },
            ),
            1 => vec(inner, 0..3).prop_map(|data| Value::Push {
                kind: redis::PushKind::Message,
                data,
            }),
        ]
    })
}

fn told<T>(read: Result<T, Error>) {
    if let Err(error) = read {
        assert_clear(&error);
        assert!(error.to_string().contains("test"), "{error}");
    }
}

#[test]
fn an_answer_is_read_or_is_an_error_that_names_the_script() {
    check_property(CASES, (value(), 0..200_usize), |(value, entries)| {
        let reply = || Reply::new(&SCRIPT, value.clone());
        told(reply().number());
        told(reply().count());
        told(reply().time());
        told(reply().bytes());
        told(reply().text());
        told(reply().counters());
        told(reply().statuses(entries, Some));
        told(reply().ids(entries));
        told(reply().rest(crate::frame::id));
        let mut reply = reply();
        reply.is_status("FEW");
        while reply.len() > 0 {
            told(reply.count());
        }
    });
}

#[test]
fn any_server_information_is_accepted_or_refused() {
    let words =
        "(redis_version|role|loading|maxmemory_policy|master_host|cluster_enabled)?:?.{0,30}";
    let info = vec(words, 0..8).prop_map(|lines| lines.join("\r\n"));
    check_property(CASES, (info, value()), |(info, hello)| {
        for info in [info, connection::as_info(&hello)] {
            if let Err(error) = connection::check_info(&info, true, false) {
                assert_clear(&error);
            }
        }
    });
}

/// Errors as servers and proxies send them, and errors that nobody sends.
fn refusal() -> impl Strategy<Value = String> {
    let code = "(ERR|OOM|QKCONFIG|QKUPLOAD|NOSCRIPT|NOPERM|[A-Z]{0,9})";
    let place = "( script: [0-9a-f]{0,6}, on @user_script:[0-9]{0,30}\\.?)?";
    let wrapped =
        "(Error running script \\(call to f_[0-9a-f]{0,5}\\)?: @user_script:[0-9]{0,30}:? ?)?";
    let long = prop_oneof![4 => Just(0_usize), 1 => Just(20_000)];
    (code, wrapped, "[^\r\n]{0,40}", place, long).prop_map(|(code, wrapped, text, place, long)| {
        format!("-{code} {wrapped}{text}{}{place}\r\n", "x".repeat(long))
    })
}

#[test]
fn any_refusal_is_shown_in_one_line() {
    check_property(CASES, refusal(), |line| {
        let Ok(Value::ServerError(refusal)) = redis::parse_redis_value(line.as_bytes()) else {
            return;
        };
        let refused = Failure::Refused(refusal.clone());
        assert_clear(&refused.into_error_of("redis://here", refusals::meaning));
        assert_clear(&redis_link::error::cannot_connect(
            refusal.into(),
            "redis://here",
        ));
    });
}
