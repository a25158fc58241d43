use queue_core::{MessageId, Token};

use super::*;

fn receipt(id: u64, token: u64) -> Receipt {
    Receipt::new(MessageId::new(id), Token::new(token))
}

fn lease(id: u64, token: u64, count: usize) -> BatchLease {
    let ids = (id..).map(MessageId::new).take(count);
    BatchLease::new(Token::new(token), ids).expect("some messages")
}

fn acks(receipts: impl IntoIterator<Item = (u64, u64)>) -> Vec<Settlement> {
    let acks = receipts.into_iter();
    acks.map(|(id, token)| Settlement::ack(receipt(id, token)))
        .collect()
}

fn leases(known: &[BatchLease]) -> BatchLeases {
    let leases = BatchLeases::default();
    known.iter().for_each(|lease| leases.note(lease.clone()));
    leases
}

fn part(lease: BatchLease, places: impl IntoIterator<Item = usize>) -> Part {
    let places = places.into_iter().collect();
    Part { lease, places }
}

fn is_paused(leases: &BatchLeases) -> bool {
    let paused = (0..PAUSE).map(|_| !leases.may_lease(4)).collect::<Vec<_>>();
    assert!(leases.may_lease(4), "a pause has an end");
    paused.iter().all(|paused| *paused)
}

#[test]
fn acks_of_a_run_go_first_whatever_their_order_and_the_answers_come_back_in_the_callers() {
    let leases = leases(&[lease(5, 100, 4), lease(20, 104, 4)]);
    let settlements = acks([(9, 50), (7, 102), (5, 100), (8, 103), (9, 51), (6, 101)]);
    let split = leases.split(&settlements);
    assert_eq!(split.parts, [part(lease(5, 100, 4), 0..4)]);
    assert_eq!(split.numbers, [2, 5, 1, 3, 0, 4]);
    assert_eq!(
        split.restore(vec!["5", "6", "7", "8", "a", "b"]),
        ["a", "7", "5", "8", "b", "6"]
    );
    assert!(
        !is_paused(&leases),
        "a batch lease that is acked at once is no part"
    );
    assert_eq!(
        leases.split(&settlements).parts,
        [],
        "it is not known any more"
    );
}

#[test]
fn a_part_of_a_run_names_its_places() {
    let whole = lease(5, 100, 20);
    let leases = leases(std::slice::from_ref(&whole));
    let split = leases.split(&acks([(7, 102), (24, 119), (9, 103), (5, 100), (6, 102)]));
    let some = part(whole.clone(), [0, 2, 19]);
    assert_eq!(split.parts, [some], "another id, another token");
    assert_eq!(split.numbers, [3, 0, 1, 2, 4]);
    let argument = split.parts[0].argument();
    assert_eq!(argument[..1], *b"A");
    assert_eq!(argument[15..], [20, 128, 130, 147]);
    let rest = part(
        whole.clone(),
        (0..20).filter(|place| ![0, 2, 19].contains(place)),
    );
    assert_eq!(
        leases
            .split(&acks(
                (5..25)
                    .map(|id| (id, id + 95))
                    .filter(|(id, _)| ![5, 7, 24].contains(id))
            ))
            .parts,
        [rest]
    );
    assert!(
        !is_paused(&leases),
        "ten messages at a time gain more than they cost"
    );
    assert_eq!(
        part(whole, 0..20).argument().len(),
        16,
        "all need no places"
    );
}

#[test]
fn a_run_of_other_ids_names_them() {
    let ids = [9, 3, 20, 4].map(MessageId::new);
    let lease = BatchLease::new(Token::new(100), ids.into_iter()).expect("some messages");
    let leases = leases(std::slice::from_ref(&lease));
    let split = leases.split(&acks([(4, 103), (20, 102), (3, 100), (9, 101), (9, 100)]));
    assert_eq!(split.parts, [part(lease, [0, 2, 3])]);
    assert_eq!(split.numbers, [4, 1, 0, 2, 3]);
    let ids = ids.map(|id| frame::wide(id.get())).concat();
    let least = frame::lease(receipt(3, 100));
    let expected = [&b"B"[..], &least, &[4], &ids, &[128, 130, 131]].concat();
    assert_eq!(split.parts[0].argument(), expected);
}

#[test]
fn runs_that_are_acked_one_by_one_pause_runs() {
    let leases = leases(&[lease(5, 100, 8)]);
    for (id, paused) in [(5, false), (6, false), (7, true)] {
        assert_eq!(leases.split(&acks([(id, id + 95)])).parts.len(), 1);
        assert_eq!(is_paused(&leases), paused, "{id}");
    }
}

#[test]
fn any_other_operation_on_a_run_forgets_it_and_pauses_runs() {
    let release = || vec![Settlement::release(receipt(8, 103))];
    let others = [
        release(),
        [acks([(5, 100), (6, 101), (7, 102)]), release()].concat(),
    ];
    for settlements in others {
        let leases = leases(&[lease(5, 100, 4)]);
        assert_eq!(leases.split(&settlements).parts, [], "{settlements:?}");
        assert!(is_paused(&leases));
        assert_eq!(leases.split(&acks([(5, 100)])).parts, []);
    }
    let leases = leases(&[lease(5, 100, 4), lease(9, 104, 4)]);
    leases.break_up([receipt(6, 101), receipt(1, 1)].into_iter());
    assert!(is_paused(&leases));
    let settlements = acks((0..8).map(|k| (5 + k, 100 + k)));
    assert_eq!(
        leases.split(&settlements).parts,
        [part(lease(9, 104, 4), 0..4)]
    );
}

#[test]
fn a_repeated_receipt_is_sent_singly() {
    let leases = leases(&[lease(5, 100, 4)]);
    let settlements = acks([(5, 100), (6, 101), (6, 101), (7, 102), (8, 103)]);
    let split = leases.split(&settlements);
    assert_eq!(split.parts, [part(lease(5, 100, 4), 0..4)]);
    assert_eq!(
        split.numbers,
        [0, 1, 3, 4, 2],
        "the first of the two counts"
    );
}

#[test]
fn a_run_whose_acks_may_not_have_been_done_is_known_again() {
    let leases = leases(&[lease(5, 100, 4)]);
    let settlements = acks((0..4).map(|k| (5 + k, 100 + k)));
    let split = leases.split(&settlements);
    leases.note_again(&split);
    assert_eq!(leases.split(&settlements), split);
}

#[test]
fn no_more_runs_are_known_than_the_limit() {
    let many: Vec<BatchLease> = (0..1025).map(|k| lease(4 * k + 1, 4 * k + 1, 4)).collect();
    let leases = leases(&many);
    assert_eq!(leases.split(&acks((1..5).map(|k| (k, k)))).parts, []);
    let second = part(many[1].clone(), 0..4);
    assert_eq!(leases.split(&acks((5..9).map(|k| (k, k)))).parts, [second]);
}

#[test]
fn few_messages_make_no_run() {
    assert!(!BatchLeases::default().may_lease(3));
    assert!(BatchLeases::default().may_lease(4));
}
