use super::*;

#[test]
fn foreign_bytes_are_not_read_as_frames() {
    for bytes in [
        &b""[..],
        b"\x02",
        b"\x01",
        b"\x01\0\0\0\x01\0\0\0\x09\0\0\0\0a",
    ] {
        assert_eq!(payload(Bytes::from_static(bytes)), None);
    }
    assert_eq!(Frame::read(Bytes::from_static(b"short"), HEAD), None);
    assert_eq!(Dead::read(Bytes::from_static(b"short"), HEAD), None);
    let damaged = Bytes::from_static(b"\x02\0\0\0\x05short");
    assert_eq!(Content::read(damaged.clone()), Content::Damaged(damaged));
}

#[test]
fn a_frame_holds_few_attempts_or_a_past() {
    let mut few = vec![3];
    few.extend_from_slice(&wide(258));
    few.extend_from_slice(&wide(5));
    let past = |failure: &str| {
        let mut past = few.clone();
        past[0] = WITH_PAST;
        past.extend_from_slice(&70_000_u32.to_be_bytes());
        past.extend_from_slice(&wide(4));
        past.extend_from_slice(&(failure.len() as u16).to_be_bytes());
        past.extend_from_slice(failure.as_bytes());
        past
    };
    let (silent, told) = (past(""), past("no paper"));
    let told_why = Some("no paper".to_owned());
    for (mut bytes, attempts, pushed, failure) in [
        (few, 3, 5, None),
        (silent, 70_000, 4, None),
        (told, 70_000, 4, told_why),
    ] {
        bytes.extend_from_slice(b"\0body");
        let read = Frame::read(bytes.into(), HEAD).unwrap();
        assert_eq!((read.id.get(), read.attempts), (258, attempts));
        assert_eq!((read.pushed.as_millis(), &read.failure), (pushed, &failure));
        assert_eq!(read.message().unwrap().body, "body");
    }
}

/// A message and a pack differ in their first byte alone.
#[test]
fn each_first_byte_has_one_meaning() {
    for first in 0..=u8::MAX {
        let mut bytes = vec![first];
        bytes.extend_from_slice(&wide(258));
        bytes.extend_from_slice(&wide(5));
        // A message with headers, one without, and one of a pack, each in the same bytes.
        for rest in [&b"\x01\0\0\0\0body"[..], b"\0body", b"\x01\0\x05\0body"] {
            let bytes = Bytes::from([&bytes, rest].concat());
            let mut several = Vec::new();
            let as_several = Frame::read_all(bytes.clone(), || None, HEAD, &mut several);
            let single = Frame::read(bytes, HEAD);
            if first < 253 {
                let attempts = single.as_ref().map(|frame| frame.attempts);
                assert_eq!(attempts, Some(first.into()), "{rest:?}");
                assert_eq!(several.first(), single.as_ref(), "{first}: {rest:?}");
            } else {
                assert_eq!(single, None, "{first} is no number of attempts");
                assert_eq!(as_several.is_some(), first == PACK, "{first}: {rest:?}");
            }
        }
    }
}

#[test]
fn an_out_of_line_body_is_named_by_its_reference() {
    let told = apart(70_000, &[7; REFERENCE]);
    assert_eq!(told[..5], [2, 0, 1, 17, 112]);
    let read = Content::read(Bytes::copy_from_slice(&told));
    assert_eq!(read, Content::Apart(Bytes::from_static(&[7; REFERENCE])));
}

#[test]
fn a_number_beyond_seven_bytes_becomes_the_largest() {
    assert_eq!(wide(u64::MAX), [255; 7]);
    assert_eq!(wide(1), [0, 0, 0, 0, 0, 0, 1]);
}

/// Few payloads are not packed, and neither are any if one of them is long.
#[test]
fn packs_are_few_and_of_about_one_size() {
    let (headers, short, long) = (Headers::new(), Bytes::from("short"), vec![0; 1024].into());
    let short = Payload {
        headers: &headers,
        body: &short,
    };
    let sizes = |payloads: &[Payload<'_>]| {
        let packs = Pack::several(payloads)?.map(|Pack(payloads)| payloads.len());
        Some(packs.collect::<Vec<_>>())
    };
    let of = |count| sizes(&vec![short; count]);
    assert_eq!((of(0), of(3)), (None, None));
    assert_eq!((of(4), of(16)), (Some(vec![4]), Some(vec![16])));
    assert_eq!((of(17), of(33)), (Some(vec![9, 8]), Some(vec![11, 11, 11])));
    let mut several = vec![short; 5];
    several[4].body = &long;
    assert_eq!(sizes(&several), None);
}
