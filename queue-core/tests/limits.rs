//! The limits at their edges: allowed values, refused values, and the refusals' messages.

use std::time::Duration;

use queue_core::{
    Distinct, Due, Error, ErrorKind, Headers, Insert, MessageId, Outcome, Overflow, Page, Push,
    QueueKind, QueueName, Receipt, Settlement, TimeToLive, Timestamp, Token, in_millis, limits,
    millis_ceil,
};

const MS: Duration = Duration::from_millis(1);

#[track_caller]
fn refused(result: Result<impl std::fmt::Debug, Error>, names: &str) {
    let error = result.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid);
    assert_eq!(error.outcome(), Outcome::NotApplied);
    assert!(!error.is_transient());
    let text = error.to_string();
    assert!(text.contains(names), "{text:?} does not name {names:?}");
}

#[test]
fn a_name_has_1_to_128_plain_characters() {
    assert!(QueueName::new("Az09._:-").is_ok());
    assert!(QueueName::new("x".repeat(128)).is_ok());
    refused(QueueName::new(""), "empty");
    refused(QueueName::new("x".repeat(129)), "129");
    for wrong in ["a b", "a\n", "a\u{0}", "ü", "{a}", "a/b", "a*"] {
        refused(QueueName::new(wrong), &format!("{wrong:?}"));
    }
    refused("".parse::<QueueName>(), "empty");
    refused(QueueName::try_from(" ".to_owned()), "\" \"");
}

#[test]
fn a_lease_is_1_ms_to_24_hours_in_whole_milliseconds() {
    assert_eq!(limits::lease_millis(Duration::from_nanos(1)).unwrap(), 1);
    assert_eq!(
        limits::lease_millis(MS + Duration::from_nanos(1)).unwrap(),
        2
    );
    assert_eq!(limits::lease_millis(limits::MAX_LEASE).unwrap(), 86_400_000);
    refused(limits::lease_millis(Duration::ZERO), "of 0 ms");
    refused(
        limits::lease_millis(limits::MAX_LEASE + MS),
        "of 86400001 ms",
    );
}

#[test]
fn a_delay_may_be_zero_and_ends_at_2_to_the_47() {
    assert_eq!(limits::delay_millis(Duration::ZERO).unwrap(), 0);
    assert_eq!(limits::delay_millis(limits::MAX_DELAY).unwrap(), 1 << 47);
    refused(limits::delay_millis(limits::MAX_DELAY + MS), "2^47");
    refused(limits::delay_millis(Duration::MAX), "2^47");
}

#[test]
fn a_dedup_window_is_1_ms_to_7_days() {
    assert_eq!(limits::window_millis(MS).unwrap(), 1);
    assert!(limits::window_millis(limits::MAX_DEDUP_WINDOW).is_ok());
    refused(limits::window_millis(Duration::ZERO), "of 0 ms");
    assert!(limits::unique_millis(limits::MAX_UNIQUE).is_ok());
    refused(limits::unique_millis(Duration::ZERO), "of 0 ms");
    refused(
        limits::unique_millis(limits::MAX_UNIQUE + MS),
        "of 140737488355329 ms",
    );
    refused(
        limits::window_millis(limits::MAX_DEDUP_WINDOW + MS),
        "window",
    );
}

#[test]
fn a_time_to_live_is_1_ms_to_2_to_the_47() {
    assert_eq!(limits::time_to_live_millis(MS).unwrap(), 1);
    let longest = limits::time_to_live_millis(limits::MAX_DELAY);
    assert_eq!(longest.unwrap(), 1 << 47);
    refused(limits::time_to_live_millis(Duration::ZERO), "of 0 ms");
    refused(
        limits::time_to_live_millis(limits::MAX_DELAY + MS),
        "a time to live of 140737488355329 ms",
    );
    refused(limits::time_to_live_millis(Duration::MAX), "a time to");
}

#[test]
fn a_time_to_live_is_longer_than_the_delay() {
    let lives = [
        TimeToLive::drop_after(10 * MS),
        TimeToLive::bury_after(10 * MS),
    ];
    for live in lives {
        assert!(live.check(None).is_ok());
        assert!(live.check(Some(Due::After(Duration::ZERO))).is_ok());
        assert!(live.check(Some(Due::After(9 * MS))).is_ok());
        let far = Timestamp::from_millis(limits::MAX_TIME - 1);
        assert!(live.check(Some(Due::At(far))).is_ok());
        for delay in [9 * MS + Duration::from_nanos(1), 10 * MS, Duration::MAX] {
            let checked = live.check(Some(Due::After(delay)));
            refused(checked, "a time to live of 10 ms and a delay of");
        }
    }
    let none = TimeToLive::drop_after(Duration::ZERO);
    refused(none.check(None), "of 0 ms");
}

#[test]
fn a_batch_is_checked_for_its_times_to_live() {
    let live = |limit| Push::new("x").with_time_to_live(TimeToLive::drop_after(limit));
    let check = |push| Push::check_all(&[Push::new("good"), push], QueueKind::Delay, 9);
    assert!(check(live(MS)).is_ok());
    refused(check(live(Duration::ZERO)), "of 0 ms");
    refused(check(live(MS).with_due(MS)), "a delay of 1 ms");
    assert!(check(live(MS).with_due(Duration::ZERO)).is_ok());
}

#[test]
fn durations_round_up_and_never_overflow() {
    assert_eq!(millis_ceil(Duration::ZERO), 0);
    assert_eq!(millis_ceil(Duration::from_micros(999)), 1);
    assert_eq!(millis_ceil(Duration::from_micros(1_000)), 1);
    assert_eq!(millis_ceil(Duration::from_micros(1_001)), 2);
    assert_eq!(millis_ceil(Duration::MAX), u64::MAX);
}

#[test]
fn durations_of_any_size_are_shown_in_milliseconds() {
    for (duration, shown) in [
        (Duration::ZERO, "0 ms"),
        (Duration::from_nanos(1), "1 ms"),
        (Duration::from_millis(1_500), "1500 ms"),
        (limits::MAX_LEASE, "86400000 ms"),
    ] {
        assert_eq!(in_millis(duration), shown);
    }
    refused(
        limits::lease_millis(limits::MAX_LEASE + MS),
        "a lease of 86400001 ms: between 1 ms and 86400000 ms",
    );
}

#[test]
fn a_due_time_is_before_the_year_10000_and_the_past_means_now() {
    let now = Timestamp::from_millis(1_000);
    assert_eq!(Due::from(MS).resolve(now), now.plus_millis(1));
    assert_eq!(Due::At(Timestamp::from_millis(5)).resolve(now), now);
    let later = Timestamp::from_millis(2_000);
    assert_eq!(Due::from(later).resolve(now), later);
    assert!(
        Due::At(Timestamp::from_millis(limits::MAX_TIME - 1))
            .check()
            .is_ok()
    );
    refused(
        Due::At(Timestamp::from_millis(limits::MAX_TIME)).check(),
        "before 253402300800000 ms",
    );
    refused(Due::After(Duration::MAX).check(), "2^47");
    assert_eq!(now.since(later), Duration::ZERO);
    assert_eq!(later.since(now), Duration::from_secs(1));
}

#[test]
fn a_due_time_in_another_unit_is_refused_with_the_unit_that_it_looks_like() {
    let second = Duration::from_secs(1_798_761_600);
    let micros = u64::try_from(second.as_micros()).unwrap();
    let nanos = u64::try_from(second.as_nanos()).unwrap();
    for (time, unit) in [
        (
            micros,
            "microseconds taken for milliseconds: divide by 1,000",
        ),
        (
            nanos,
            "nanoseconds taken for milliseconds: divide by 1,000,000",
        ),
        (u64::MAX, "nanoseconds"),
    ] {
        let checked = Due::At(Timestamp::from_millis(time)).check();
        refused(checked, &format!("due at {time} ms since 1970"));
        refused(Due::At(Timestamp::from_millis(time)).check(), unit);
    }
    let longest = Due::After(limits::MAX_DELAY);
    let this_century = Timestamp::from_millis(4_102_444_800_000);
    assert!(Due::At(longest.resolve(this_century)).check().is_ok());
}

#[test]
fn a_batch_has_1_to_128_entries_and_8_mib() {
    let batch = |entries: usize, bytes: usize| vec![Push::new(vec![0; bytes]); entries];
    let check =
        |batch: &[Push]| Push::check_all(batch, QueueKind::Reliable, limits::DEFAULT_MAX_BODY);
    assert!(check(&batch(128, 1)).is_ok());
    assert!(check(&batch(8, 1 << 20)).is_ok());
    refused(check(&[]), "empty batch");
    refused(check(&batch(129, 1)), "129");
    refused(check(&batch(9, 1 << 20)), &(9_usize << 20).to_string());
    refused(check(&batch(1, (1 << 20) + 1)), "1048577");
}

#[test]
fn only_a_batch_of_several_speaks_of_its_entries() {
    let said = |sizes: &[usize]| {
        let error = limits::check_sizes(sizes.iter().copied(), 10).unwrap_err();
        error.to_string()
    };
    assert!(said(&[11]).starts_with("a message of 11 bytes"));
    assert!(!said(&[11]).contains("entry"), "{}", said(&[11]));
    assert!(said(&[11, 1]).starts_with("entry 0 has 11 bytes"));
    assert!(said(&[1, 11]).starts_with("entry 1 has 11 bytes"));
}

#[test]
fn headers_count_towards_the_size() {
    let push = Push::new(vec![0; 10]).with_header("name", "value");
    assert_eq!(push.size(), 19);
    let check = |most| Push::check_all(std::slice::from_ref(&push), QueueKind::Reliable, most);
    assert!(check(19).is_ok());
    refused(check(18), "19 bytes");
}

#[test]
fn keys_have_1_to_256_bytes() {
    let check = |push: Push| Push::check_all(&[push], QueueKind::Grouped, 10);
    let body = || Push::new("body");
    assert!(check(body().with_distinct(vec![b'k'; 256])).is_ok());
    refused(check(body().with_distinct("")), "0 bytes");
    refused(check(body().with_distinct(vec![b'k'; 257])), "257");
    assert!(check(body().with_group(vec![b'k'; 256])).is_ok());
    refused(check(body().with_group("")), "0 bytes");
    refused(check(body().with_dedup("", MS)), "0 bytes");
    refused(check(body().with_dedup("key", Duration::ZERO)), "window");
    refused(check(body().with_due(Duration::MAX)), "delay");
    let item = [Insert::new("body").with_key("")];
    refused(Insert::check_all(&item, 10), "0 bytes");
}

#[test]
fn the_longest_wait_of_a_distinct_key_has_bounds() {
    let check = |longest| {
        let distinct = Distinct::new("key").at_latest(longest);
        Push::check_all(
            &[Push::new("x").with_distinct(distinct)],
            QueueKind::Delay,
            9,
        )
    };
    assert!(check(MS).is_ok() && check(limits::MAX_DELAY).is_ok());
    refused(check(Duration::ZERO), "longest wait");
    refused(check(Duration::MAX), "longest wait");
}

/// The error names the option, the kind of the queue, and the kind that has the option.
#[test]
fn an_option_of_another_kind_is_refused() {
    let options = [
        (
            Push::new("x").with_priority(0),
            "a priority",
            QueueKind::Priority,
        ),
        (
            Push::new("x").with_group("a"),
            "a group",
            QueueKind::Grouped,
        ),
        (
            Push::new("x").with_overflow(Overflow::DropOldest),
            "an overflow policy",
            QueueKind::Bounded,
        ),
    ];
    for kind in QueueKind::LEASING {
        for (push, option, of) in options.clone() {
            let checked = Push::check_all(&[push], kind, 9);
            if kind == of {
                assert!(checked.is_ok());
                continue;
            }
            let error = checked.unwrap_err().to_string();
            for part in [option, &format!("a {kind} queue"), &format!("a {of} queue")] {
                assert!(error.contains(part), "{error}");
            }
        }
    }
}

#[test]
fn a_priority_is_an_i16() {
    assert_eq!(limits::priority(-32_768).unwrap(), i16::MIN);
    assert_eq!(limits::priority(32_767).unwrap(), i16::MAX);
    refused(limits::priority(32_768), "32768");
}

#[test]
fn settlements_may_be_none_but_not_too_many_nor_too_late() {
    let receipt = Receipt::new(MessageId::new(1), Token::new(1));
    assert!(Settlement::check_all(&[]).is_ok());
    refused(
        Settlement::check_all(&vec![Settlement::ack(receipt); 129]),
        "129",
    );
    refused(
        Settlement::check_all(&[Settlement::retry(receipt, Duration::MAX)]),
        "2^47",
    );
    refused(
        Settlement::check_all(&[Settlement::defer(receipt, Duration::MAX)]),
        "2^47",
    );
}

#[test]
fn a_page_has_1_to_1000_entries() {
    assert!(Page::first(1).check().is_ok());
    assert!(Page::first(1_000).check().is_ok());
    refused(Page::first(0).check(), "0 entries");
    refused(Page::first(1_001).check(), "1001");
}

#[test]
fn a_reason_is_cut_between_characters() {
    assert_eq!(limits::cut_reason("short"), "short");
    let long = format!("{}ü", "x".repeat(limits::MAX_REASON - 1));
    assert_eq!(limits::cut_reason(&long), &long[..limits::MAX_REASON - 1]);
}

#[test]
fn a_delivery_stops_at_8_mib_but_has_always_one() {
    let half = limits::MAX_BATCH_BYTES / 2;
    assert_eq!(limits::fitting([half, half, 1], 3), 2);
    assert_eq!(limits::fitting([half, half + 1], 2), 1);
    assert_eq!(limits::fitting([usize::MAX, 1], 2), 1);
    assert_eq!(limits::fitting([], 2), 0);
    assert_eq!(limits::fitting([1, 1, 1], 2), 2);
}

#[test]
fn headers_keep_one_value_a_name() {
    let headers: Headers = [("b", "1"), ("a", "2"), ("b", "3")].into_iter().collect();
    assert_eq!(headers.iter().collect::<Vec<_>>(), [("a", "2"), ("b", "3")]);
    assert_eq!(headers.size(), 4);
    assert!(Headers::new().is_empty());
    assert_eq!(headers.get("c"), None);
}
