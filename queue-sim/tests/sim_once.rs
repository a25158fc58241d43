//! The guarantees of a once key, and their limits (O1, O2, O5), under hostile schedules: lost requests and
//! replies, handlers that die, and handlers that outlive their claims.

use std::{
    collections::BTreeSet,
    sync::{Arc, Mutex},
    time::Duration,
};

use async_trait::async_trait;
use queue_core::*;
use queue_memory::MemoryBackend;
use queue_sim::{
    engine::{End, Executor, in_virtual_time},
    plan::{Decisions, Process, What},
    world::EPOCH,
};
use tokio::time::{self, Instant};

const SEEDS: u64 = 2_000;
const HORIZON: Duration = Duration::from_secs(3600);
const CLAIM: u64 = 20;

const fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

/// The faults of a run.
#[derive(Debug, Clone, Copy)]
struct Faults {
    /// Handlers die, and requests and replies are lost.
    deaths: bool,
    /// Effects take longer than their claims.
    slowness: bool,
}

/// An event, in order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Event {
    Began(Token),
    /// The effect ended, or was dropped.
    Ended(Token),
    /// The sink was asked to apply the effect.
    Applied(Token),
    /// The store recorded that the key is done.
    Finished(Token),
    Saw(&'static str),
}

#[derive(Debug, Clone)]
struct Ledger(Arc<Mutex<Vec<(u64, Event)>>>, Instant);

impl Ledger {
    fn note(&self, event: Event) {
        let at = self.1.elapsed().as_millis() as u64;
        self.0.lock().expect("nobody panics").push((at, event));
    }
}

/// A store behind a network that is late and, with deaths, loses requests and replies.
#[derive(Debug)]
struct Far {
    store: Arc<dyn OnceStore>,
    process: Process,
    decisions: Decisions,
    faults: Faults,
    ledger: Ledger,
}

impl Far {
    fn draw(&self, what: What, options: u32, chance: u32) -> u32 {
        let point = self.decisions.choice_point(self.process, what);
        self.decisions.draw(point, options, chance)
    }

    async fn trip<T>(&self, call: impl Future<Output = Result<T>> + Send) -> Result<T> {
        let chance = if self.faults.deaths { 15 } else { 0 };
        let lost = || {
            let error = Error::new(ErrorKind::Unavailable, "lost on its way");
            Err(error.with_outcome(Outcome::Unknown))
        };
        time::sleep(ms(self.draw(What::Delay, 3, 30).into())).await;
        if self.draw(What::Request, 2, chance) == 1 {
            return lost();
        }
        let answer = call.await;
        time::sleep(ms(self.draw(What::Delay, 3, 30).into())).await;
        if self.draw(What::Reply, 2, chance) == 1 {
            return lost();
        }
        answer
    }
}

#[async_trait]
impl OnceStore for Far {
    async fn claim(&self, key: &[u8], claim_time: Duration) -> Result<Claim> {
        self.trip(self.store.claim(key, claim_time)).await
    }
    async fn extend(&self, key: &[u8], token: Token, claim_time: Duration) -> Result<()> {
        self.trip(self.store.extend(key, token, claim_time)).await
    }
    async fn finish(&self, key: &[u8], token: Token, keep: Duration) -> Result<()> {
        self.trip(async {
            self.store.finish(key, token, keep).await?;
            self.ledger.note(Event::Finished(token));
            Ok(())
        })
        .await
    }
    async fn release(&self, key: &[u8], token: Token) -> Result<()> {
        self.trip(self.store.release(key, token)).await
    }
    async fn counts(&self) -> Result<OnceCounts> {
        self.trip(self.store.counts()).await
    }
}

/// Records the end of an effect, also if it is dropped.
struct Running(Ledger, Token);

impl Drop for Running {
    fn drop(&mut self) {
        self.0.note(Event::Ended(self.1));
    }
}

/// A handler that gets the same message until it can ack it.
async fn handle(far: Arc<Far>) {
    let (process, decisions, ledger) = (far.process, far.decisions.clone(), far.ledger.clone());
    let faults = far.faults;
    let once = Once::new(far).with_claim(ms(CLAIM)).with_keep(HORIZON);
    for step in 0.. {
        decisions.enter(process, step);
        let draw =
            |options| decisions.choose(decisions.choice_point(process, What::Argument), options);
        let slow = [0, 1, CLAIM - 1, CLAIM, CLAIM + 1, 3 * CLAIM];
        let (before, after) = if faults.slowness {
            (slow[draw(6) as usize], slow[draw(6) as usize])
        } else {
            (u64::from(draw(4)), u64::from(draw(4)))
        };
        let fails = draw(8) == 7;
        let effect = |claim: Claimed| {
            let ledger = ledger.clone();
            async move {
                let token = claim.token();
                ledger.note(Event::Began(token));
                let _running = Running(ledger.clone(), token);
                time::sleep(ms(before)).await;
                if fails {
                    return Err(Error::new(ErrorKind::Unavailable, "the sink is away"));
                }
                ledger.note(Event::Applied(token));
                time::sleep(ms(after)).await;
                Ok(())
            }
        };
        // A death drops the future at any await.
        let chance = if faults.deaths { 30 } else { 0 };
        let death = decisions.draw(decisions.choice_point(process, What::Interrupt), 12, chance);
        let life = if death == 0 {
            HORIZON
        } else {
            ms(death.into())
        };
        let wait = match time::timeout(life, once.run("order-42", effect)).await {
            Ok(Ok(OnceRun::Busy { left })) => {
                ledger.note(Event::Saw("busy"));
                left
            }
            Ok(Ok(OnceRun::Ran(()))) => return ledger.note(Event::Saw("ran")),
            Ok(Ok(OnceRun::AlreadyDone)) => return ledger.note(Event::Saw("already done")),
            Ok(Ok(OnceRun::Unrecorded { error, .. })) => {
                let lost = error.kind() == ErrorKind::ClaimLost;
                ledger.note(Event::Saw(if lost { "outlived" } else { "unrecorded" }));
                // The ack may be lost, too.
                ms(1)
            }
            Ok(Err(_)) => ms(1),
            Err(_) => {
                ledger.note(Event::Saw("died"));
                ms(1)
            }
        };
        time::sleep(wait).await;
    }
}

/// Three handlers of one message.
fn play(seed: u64, faults: Faults) -> Vec<(u64, Event)> {
    in_virtual_time(async {
        let decisions = Decisions::seeded(seed);
        let executor = Executor::new(decisions.clone(), 40);
        let memory = MemoryBackend::starting_at(EPOCH);
        let name = QueueName::new("charges").expect("a good name");
        let store = memory.open_once(&name).await.expect("opens");
        let ledger = Ledger(Arc::default(), Instant::now());
        for process in 1..=3 {
            let far = Far {
                store: Arc::clone(&store),
                process: Process(process),
                decisions: decisions.clone(),
                faults,
                ledger: ledger.clone(),
            };
            executor.spawn(Process(process), Box::pin(handle(Arc::new(far))));
        }
        assert_eq!(executor.run(HORIZON).await, End::Finished, "seed {seed}");
        ledger.0.lock().expect("nobody panics").clone()
    })
}

/// The time of a claim, in ms since the beginning, from its token.
fn claimed_at(token: Token) -> u64 {
    token.get() / Token::PER_MILLI - EPOCH.as_millis()
}

/// Checks the properties that hold under all faults. Returns how often the sink applied the effect.
fn check(events: &[(u64, Event)]) -> usize {
    let mut running: Vec<Token> = Vec::new();
    let mut finished: BTreeSet<Token> = BTreeSet::new();
    let mut applied = 0;
    // A sink that stores the key together with the effect.
    let mut remembered = None;
    let mut effects = 0;
    for (at, event) in events {
        match *event {
            Event::Began(token) => {
                for other in &running {
                    assert!(
                        *at >= claimed_at(*other) + CLAIM,
                        "O1: {token} began while the claim {other} was live"
                    );
                }
                running.push(token);
                let known = finished.first();
                assert!(
                    known.is_none_or(|done| token < *done),
                    "O2: {token} was claimed after {known:?} was done"
                );
            }
            Event::Ended(token) => running.retain(|other| *other != token),
            Event::Applied(token) => {
                applied += 1;
                effects += usize::from(remembered.replace(token).is_none());
            }
            Event::Finished(token) => {
                finished.insert(token);
                assert_eq!(finished.len(), 1, "O2: one finished effect is recorded");
            }
            Event::Saw(_) => {}
        }
    }
    assert_eq!(finished.len(), 1, "all handlers came to an end");
    assert_eq!(effects, 1, "O5: exactly once at a sink that remembers");
    applied
}

/// Plays all seeds. Returns how many of them applied the effect more than once, and the events that
/// occurred.
fn play_all(faults: Faults) -> (u64, BTreeSet<&'static str>) {
    let (mut repeated, mut seen) = (0, BTreeSet::new());
    for seed in 0..SEEDS {
        let events = play(seed, faults);
        if seed < 50 {
            assert_eq!(events, play(seed, faults), "seed {seed} is not one history");
        }
        let applied = std::panic::catch_unwind(|| check(&events));
        let applied = applied.unwrap_or_else(|_| panic!("seed {seed}, {faults:?}: {events:#?}"));
        repeated += u64::from(applied > 1);
        seen.extend(events.iter().filter_map(|(_, event)| match event {
            Event::Saw(what) => Some(what),
            _ => None,
        }));
    }
    (repeated, seen)
}

#[test]
fn without_deaths_and_slowness_any_effect_happens_exactly_once() {
    let (repeated, seen) = play_all(Faults {
        deaths: false,
        slowness: false,
    });
    assert_eq!(repeated, 0);
    assert_eq!(seen, BTreeSet::from(["already done", "busy", "ran"]));
}

#[test]
fn a_death_between_effect_and_record_repeats_it_unless_the_sink_remembers() {
    let (repeated, seen) = play_all(Faults {
        deaths: true,
        slowness: false,
    });
    assert!(repeated > 0, "the limit that O5 states was not met");
    for what in ["already done", "busy", "ran", "unrecorded", "died"] {
        assert!(seen.contains(what), "never {what}: {seen:?}");
    }
}

#[test]
fn an_effect_that_outlives_its_claim_is_repeated_unless_the_sink_remembers() {
    let (repeated, seen) = play_all(Faults {
        deaths: false,
        slowness: true,
    });
    assert!(repeated > 0, "the limit that O5 states was not met");
    for what in ["already done", "busy", "ran", "outlived"] {
        assert!(seen.contains(what), "never {what}: {seen:?}");
    }
}

#[test]
fn with_both_it_still_happens_once_at_a_sink_that_remembers() {
    let (repeated, _) = play_all(Faults {
        deaths: true,
        slowness: true,
    });
    assert!(repeated > 0);
}
