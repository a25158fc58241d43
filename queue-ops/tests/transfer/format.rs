//! The lines of an export.

use queue_core::Outdated;
use queue_ops::{ExportedMessage, ExportedPlace};

fn read(line: &str) -> Result<ExportedMessage, String> {
    serde_json::from_str(line).map_err(|error| error.to_string())
}

#[test]
fn a_line_has_a_field_for_each_part_and_none_for_what_is_not_there() {
    for line in [
        r#"{"id":1,"place":"ready","body":""}"#,
        r#"{"id":1,"place":"dead","attempts":3,"failure":"why","body_hex":"ff00"}"#,
        r#"{"id":1,"place":"leased","group_hex":"ff","is_first_of_group":true,"body":"x"}"#,
        r#"{"id":1,"place":"delayed","priority":-7,"due_at_ms":5,"headers":[["a","b"],["a","c"]],"body":"x"}"#,
        r#"{"id":1,"place":"ready","group":"ff","time_to_live":{"ends_at_ms":9,"then":"bury"},"body":"x"}"#,
        r#"{"id":1,"place":"ready","time_to_live":{"ends_at_ms":9,"then":"drop"},"body":"x"}"#,
    ] {
        let message = read(line).unwrap();
        assert_eq!(serde_json::to_string(&message).unwrap(), line);
    }
    let message = read(
        r#"{"id":7,"place":"delayed","priority":5,"group_hex":"fF0a","is_first_of_group":true,"due_at_ms":8,"time_to_live":{"ends_at_ms":9,"then":"bury"},"attempts":2,"failure":"why","headers":[["a","b"]],"body_hex":"00ff"}"#,
    );
    let message = message.unwrap();
    assert_eq!(message.id.get(), 7);
    assert_eq!(message.place, ExportedPlace::Delayed);
    assert_eq!((message.priority, message.attempts), (5, 2));
    assert_eq!(message.group.unwrap().bytes().unwrap(), &b"\xff\x0a"[..]);
    assert!(message.is_first_of_group);
    assert_eq!(message.due_at_ms.unwrap().as_millis(), 8);
    let lives = message.time_to_live.unwrap();
    assert_eq!(
        (lives.ends_at_ms.as_millis(), lives.then),
        (9, Outdated::Bury)
    );
    assert_eq!(message.failure.as_deref(), Some("why"));
    assert_eq!(message.headers, [("a".to_owned(), "b".to_owned())]);
    assert_eq!(message.body.bytes().unwrap(), &b"\x00\xff"[..]);
}

#[test]
fn a_line_that_would_lose_a_part_is_refused() {
    let with = |part: &str| format!(r#"{{"id":1,"place":"ready","body":"x"{part}}}"#);
    assert!(read(&with("")).is_ok());
    for (part, why) in [
        (r#","group":5"#, "invalid type"),
        (
            r#","group":"a","group_hex":"aa""#,
            "both `group` and `group_hex`",
        ),
        (r#","group_hex":"a""#, "`group_hex` has bytes"),
        (r#","group_hex":"+f""#, "`group_hex` has bytes"),
        (r#","group_hex":"gg""#, "`group_hex` has bytes"),
        (r#","body_hex":"aa""#, "both `body` and `body_hex`"),
        (r#","grup":"a""#, "unknown field `grup`"),
        (r#","priority":40000"#, "i16"),
        (
            r#","time_to_live":{"ends_at_ms":9}"#,
            "missing field `then`",
        ),
        (
            r#","time_to_live":{"ends_at_ms":9,"then":"keep"}"#,
            "unknown variant `keep`",
        ),
        (
            r#","time_to_live":{"ends_at_ms":9,"then":"drop","x":1}"#,
            "unknown field `x`",
        ),
    ] {
        let error = read(&with(part)).unwrap_err();
        assert!(error.contains(why), "{part}: {error}");
    }
    for (line, why) in [
        (
            r#"{"id":1,"place":"ready"}"#,
            "neither `body` nor `body_hex`",
        ),
        (
            r#"{"id":1,"place":"ready","body_hex":"0"}"#,
            "`body_hex` has bytes",
        ),
        (r#"{"id":1,"place":"ready","body":7}"#, "invalid type"),
        (r#"{"id":1,"place":"gone","body":""}"#, "unknown variant"),
        (r#"{"place":"ready","body":""}"#, "missing field `id`"),
    ] {
        let error = read(line).unwrap_err();
        assert!(error.contains(why), "{line}: {error}");
    }
}
