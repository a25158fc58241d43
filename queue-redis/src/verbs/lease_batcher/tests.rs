use queue_core::{MessageId, Receipt, Token};

use super::*;

const LEASE_TIME: Duration = Duration::from_secs(1);

fn ack() -> Settlement {
    Settlement::ack(Receipt::new(MessageId::new(1), Token::new(1)))
}

fn settle_and_lease(settlements: &[Settlement], max: usize) -> LeaseCall<'_> {
    LeaseCall {
        settlements,
        max,
        lease_time: LEASE_TIME,
        holder: None,
    }
}

fn request(acks: usize, max: usize) -> BatchedCall {
    BatchedCall::of(settle_and_lease(&vec![ack(); acks], max)).expect("is small")
}

#[test]
fn few_acks_and_a_small_lease_are_batched() {
    let may = |settlements: &[Settlement], max| {
        BatchedCall::of(settle_and_lease(settlements, max)).is_some()
    };
    assert!(may(&vec![ack(); SMALL], SMALL));
    assert!(!may(&vec![ack(); SMALL + 1], 1));
    assert!(!may(&[ack()], SMALL + 1));
    assert!(!may(&[ack(), Settlement::release(ack().receipt)], 1));
}

#[test]
fn calls_with_equal_leases_agree_and_so_do_all_that_only_ack() {
    let longer = BatchedCall {
        lease_time: 2 * LEASE_TIME,
        ..request(0, 1)
    };
    let named = BatchedCall {
        holder: Holder::new("somebody").ok(),
        ..request(0, 1)
    };
    assert!(request(1, 1).agrees_with(&request(0, 2)));
    for other in [longer, named] {
        assert!(!request(0, 1).agrees_with(&other));
        assert!(!other.agrees_with(&request(0, 1)));
        assert!(request(1, 0).agrees_with(&other));
        assert!(other.agrees_with(&request(1, 0)));
    }
}

#[test]
fn a_call_acks_a_batch_and_leases_one_at_most() {
    let full = limits::MAX_BATCH / SMALL;
    let (acks, leases) = (request(SMALL, 0), request(0, SMALL));
    for (some, one) in [(&acks, &request(1, 0)), (&leases, &request(0, 1))] {
        let mut call = CombinedCall::default();
        for _ in 0..full {
            assert!(call.fits(some));
            call.add(some);
        }
        assert!(!call.fits(one));
        let mut nearly = CombinedCall::default();
        for _ in 0..full - 1 {
            nearly.add(some);
        }
        for _ in 0..SMALL {
            assert!(nearly.fits(one));
            nearly.add(one);
        }
        assert!(!nearly.fits(one));
    }
    let mut call = CombinedCall::default();
    for _ in 0..full {
        call.add(&acks);
    }
    assert!(call.fits(&leases), "each counts by itself");
}

#[test]
fn a_call_leases_by_the_terms_of_one() {
    let longer = BatchedCall {
        lease_time: 2 * LEASE_TIME,
        ..request(0, 1)
    };
    let (acks, leases) = (request(1, 0), request(0, 1));
    let mut call = CombinedCall::of(&acks);
    call.add(&leases);
    assert!(
        !call.fits(&longer),
        "whoever came between them does not lease"
    );
    assert!(call.fits(&acks));
}
