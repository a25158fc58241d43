//! The meanings of refusals that only this crate knows: of its scripts' own errors, and of what is wrong with a queue.

use queue_core::ErrorKind;
use redis_link::error::{Meaning, Refusal};

/// The meaning of this refusal for a caller, unless it is the same for every user of Redis.
pub(crate) fn meaning(refusal: Refusal<'_>) -> Option<Meaning> {
    Some(match refusal.code {
        // A script sends it before it writes anything, and its message is complete.
        "QKCONFIG" if !refusal.message.is_empty() => Meaning::complete(ErrorKind::ConfigMismatch),
        // The call may have run before, if a proxy repeats requests.
        "QKUPLOAD" => Meaning::passing(
            "look whether it is there, or put it in again with its dedup key or item key",
        )
        .uncertain(),
        "QKDAMAGED" => Meaning::of_setup(
            "somebody else wrote to it: set it right by hand, or remove the queue; nothing was done",
        ),
        "OOM" => Meaning::passing("lease and settle to make room, or raise its maxmemory")
            .of_kind(ErrorKind::OutOfMemory),
        "WRONGTYPE" => Meaning::of_setup(
            "a key of this queue holds something that is not queue-kit's: delete it, or use another \
             name or prefix",
        ),
        "ERR" if is_of_a_number(refusal) => {
            Meaning::of_setup("a number that is stored of the queue is none: set it right by hand")
                .uncertain()
        }
        _ => return None,
    })
}

/// Whether a command met a stored value that should be a number.
fn is_of_a_number(refusal: Refusal<'_>) -> bool {
    let texts = ["not an integer", "not a valid float"];
    texts.iter().any(|text| refusal.message.contains(text))
}

#[cfg(test)]
mod tests {
    use queue_core::{Error, Outcome};
    use redis::Value;
    use redis_link::error::Failure;

    use super::*;

    fn read(answer: &str) -> Error {
        match redis::parse_redis_value(format!("-{answer}\r\n").as_bytes()) {
            Ok(Value::ServerError(refusal)) => {
                Failure::Refused(refusal).into_error_of("here", meaning)
            }
            other => panic!("{other:?} is no refusal"),
        }
    }

    #[test]
    fn errors_of_our_scripts_name_their_way_out() {
        use ErrorKind::{Configuration, OutOfMemory, Unavailable};
        let inside = "WRONGTYPE Operation script: 5e1c, on @user_script:3.";
        for (answer, kind, outcome, way_out) in [
            ("QKUPLOAD gone", Unavailable, Outcome::Unknown, "dedup key"),
            ("QKDAMAGED …", Configuration, Outcome::NotApplied, "by hand"),
            ("OOM …", OutOfMemory, Outcome::NotApplied, "settle"),
            ("WRONGTYPE …", Configuration, Outcome::NotApplied, "delete"),
            (inside, Configuration, Outcome::Unknown, "prefix"),
            (
                "ERR value is not an integer or out of range",
                Configuration,
                Outcome::Unknown,
                "by hand",
            ),
            (
                "ERR value is not a valid float",
                Configuration,
                Outcome::Unknown,
                "by hand",
            ),
        ] {
            let error = read(answer);
            assert_eq!(error.kind(), kind, "{error}");
            assert_eq!(error.outcome(), outcome, "{error}");
            assert!(error.to_string().contains(way_out), "{error}");
        }
    }

    #[test]
    fn the_message_of_a_mismatch_is_the_whole_error() {
        let text = "the queue is stored as [a], this handle was opened as [b]";
        let error = read(&format!("QKCONFIG {text}"));
        assert_eq!(error.kind(), ErrorKind::ConfigMismatch);
        assert_eq!(error.outcome(), Outcome::NotApplied);
        let alone = Error::new(ErrorKind::ConfigMismatch, text);
        assert_eq!(error.to_string(), alone.with_server("here").to_string());
    }
}
