//! Simulations of inputs that proptest generates: the inputs and the plan shrink together.

use std::{
    cell::Cell,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use proptest::{
    collection::vec,
    strategy::{Just, Strategy},
    test_runner::{
        Config, RngAlgorithm, TestCaseError, TestCaseResult, TestError, TestRng, TestRunner,
    },
};
use queue_core::ReliableConfig;
use queue_sim::sim::{Case, Drained, Effects, Run, Sim, sim};
use queue_worker::Context;

use crate::jobs::harmful;

/// The amount of each order.
type Orders = Vec<u32>;

/// With each of these seeds, the first case that fails has five orders.
const FIVE: [u8; 3] = [3, 5, 6];

/// Orders whose payments go to a ledger that does not deduplicate. Counts its runs.
fn payments(orders: Orders, runs: Arc<AtomicU64>) -> Sim {
    sim("payments")
        .reliable::<u32>("orders", ReliableConfig::default())
        .producer(move |queue| {
            runs.fetch_add(1, Ordering::Relaxed);
            let orders = orders.clone();
            async move {
                for order in orders {
                    queue.push(&order).await?;
                }
                Ok(())
            }
        })
        .workers(2)
        .handler(|run: &Run| {
            let paid = run.ledger("payment");
            move |order: u32, _cx: Context| {
                let paid = paid.clone();
                async move { paid.apply(order).await }
            }
        })
        .check(Drained::within(Duration::from_secs(3600)))
}

fn runner(seed: u8, mut config: Config) -> TestRunner {
    config.failure_persistence = None;
    TestRunner::new_with_rng(
        config,
        TestRng::from_seed(RngAlgorithm::ChaCha, &[seed; 32]),
    )
}

#[derive(Debug)]
struct Shrunk {
    orders: Orders,
    case: Case,
    /// The orders of the first failure.
    from: Orders,
    /// The number of runs, including cases that passed.
    runs: u64,
}

/// Generates orders, and a run of their simulation, until one fails; proptest shrinks both.
fn shrunk(
    mut runner: TestRunner,
    simulation: fn(Sim) -> Sim,
    test: impl Fn(&Orders, &Case) -> TestCaseResult,
) -> Shrunk {
    let runs = Arc::new(AtomicU64::new(0));
    let counted = Arc::clone(&runs);
    let orders = vec(1_u32..1_000_000, 1..=5);
    let orders = orders.prop_flat_map(move |orders| {
        let payments = payments(orders.clone(), Arc::clone(&counted));
        (Just(orders), simulation(payments).cases())
    });
    let first = Cell::new(None);
    let failure = runner.run(&orders, |(orders, case)| {
        test(&orders, &case).inspect_err(|_| {
            let from = first.take().unwrap_or_else(|| orders.clone());
            first.set(Some(from));
        })
    });
    let Err(TestError::Fail(_, (orders, case))) = failure else {
        panic!("it pays twice: {failure:?}");
    };
    Shrunk {
        orders,
        case,
        from: first.take().expect("one failed"),
        runs: runs.load(Ordering::Relaxed),
    }
}

fn at_most_once(payments: Sim) -> Sim {
    payments.check(Effects::at_most_once())
}

#[test]
fn five_orders_by_flat_map_shrink_to_one() {
    for seed in FIVE {
        let shrunk = shrunk(runner(seed, Config::default()), at_most_once, |_, case| {
            case.check()
        });
        assert_eq!(shrunk.from.len(), 5, "choose another seed: {shrunk:?}");
        assert_eq!(shrunk.orders, [1], "{shrunk:?}");
        assert!(shrunk.case.play().plan.len() <= 8, "{shrunk:?}");
        assert!(shrunk.runs < 2_000, "{shrunk:?}");
    }
}

/// The simulation's own checks hold.
#[test]
fn orders_shrink_with_a_failure_that_only_the_test_sees() {
    let pays_once = |orders: &Orders, case: &Case| match case.play().effects.len() {
        payments if payments <= orders.len() => Ok(()),
        _ => Err(TestCaseError::fail("paid twice")),
    };
    for seed in FIVE {
        let shrunk = shrunk(
            runner(seed, Config::default()),
            |payments| payments,
            pays_once,
        );
        assert_eq!(shrunk.from.len(), 5, "choose another seed: {shrunk:?}");
        assert!(shrunk.orders.len() <= 2, "{shrunk:?}");
    }
}

/// The search for each order's least amount takes some twenty steps, half of which pass.
#[test]
fn shrinking_is_bounded_where_most_simpler_inputs_pass() {
    let config = Config {
        max_shrink_iters: 50_000,
        ..Config::default()
    };
    let shrunk = shrunk(runner(3, config), at_most_once, |orders, case| match orders
        .iter()
        .any(|amount| *amount >= 100_000)
    {
        true => case.check(),
        false => Ok(()),
    });
    assert_eq!(shrunk.orders, [100_000], "{shrunk:?}");
    assert!(shrunk.runs < 11_000, "{shrunk:?}");
}

#[test]
fn values_beside_a_case_shrink_after_it() {
    let cases = (harmful("beside").cases(), 0_u32..1_000_000);
    let failure = runner(0, Config::default()).run(&cases, |(case, other)| match other {
        1_000.. => case.check(),
        _ => Ok(()),
    });
    let Err(TestError::Fail(_, (_, other))) = failure else {
        panic!("it is harmful: {failure:?}");
    };
    assert_eq!(other, 1_000);
}
