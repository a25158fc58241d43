//! The registry and the task that sends its requests, in many interleavings of threads, on a server that is only one
//! marker. Time stands still, so no timer makes up for a lost wake-up.

use std::sync::{
    Arc, Mutex,
    atomic::{AtomicUsize, Ordering::SeqCst},
};

use bytes::Bytes;
use queue_testing::interleave::{JoinHandle, block_on, sampled, spawn, step};
use redis_link::ScriptCall;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use super::{
    caller::{HandedOver, HandoffTerms, ReleaseUnwanted, Wake},
    registry::{ServerRequest, WaiterRegistry},
};

const MARKER: Bytes = Bytes::from_static(b"marker");

/// A message of the server.
enum Event {
    Changes(usize),
    /// A message that was leased for the registration of this number.
    HandedOver(u64),
    End,
}

/// A marker with the behaviour of `lua/lib/wake_up.lua` and `lua/waiting/marker.lua`, and the
/// number of messages in its queue.
#[derive(Debug)]
struct FakeServer {
    ready: AtomicUsize,
    marker: Mutex<Marker>,
    says: UnboundedSender<Event>,
}

#[derive(Debug, Default)]
struct Marker {
    armed: usize,
    /// The registration, with its number if it has terms.
    registered: Option<Option<u64>>,
}

impl FakeServer {
    fn arm(&self, changes: usize) {
        step();
        let mut marker = self.marker.lock().unwrap();
        if marker.armed == 0 && marker.registered.take().is_some() {
            // The task that receives this exists until the end.
            let _ = self.says.send(Event::Changes(changes));
        } else {
            marker.armed += changes;
        }
    }

    fn join(&self, waiting: usize, terms: &str) -> usize {
        step();
        let mut marker = self.marker.lock().unwrap();
        let changes = std::mem::take(&mut marker.armed);
        if changes < waiting {
            let serial = terms.split_whitespace().next();
            marker.registered = Some(serial.map(|serial| serial.parse().unwrap()));
        }
        changes
    }

    fn push(&self) {
        step();
        {
            let mut marker = self.marker.lock().unwrap();
            if let (0, 0, Some(Some(serial))) =
                (marker.armed, self.ready.load(SeqCst), marker.registered)
            {
                marker.registered = None;
                let _ = self.says.send(Event::HandedOver(serial));
                return;
            }
            self.ready.fetch_add(1, SeqCst);
        }
        self.arm(1);
    }

    /// A released message is ready again.
    fn release(&self) {
        step();
        self.ready.fetch_add(1, SeqCst);
        self.arm(1);
    }

    /// Takes a message if there is one, and notifies the next consumer if messages are left.
    fn take(&self) -> bool {
        step();
        let less = |ready: usize| ready.checked_sub(1);
        let Ok(before) = self.ready.fetch_update(SeqCst, SeqCst, less) else {
            return false;
        };
        if before > 1 {
            self.arm(1);
        }
        true
    }
}

/// A queue whose messages the task releases itself.
#[derive(Debug)]
struct FakeQueue;

impl ReleaseUnwanted for FakeQueue {
    fn release(&self, _handed: Bytes, _now: &str) -> Option<ScriptCall> {
        None
    }
}

struct Scene {
    registry: Arc<WaiterRegistry>,
    server: Arc<FakeServer>,
    watch: JoinHandle<()>,
}

impl Scene {
    fn new() -> Self {
        let (says, said) = unbounded_channel();
        let server = Arc::new(FakeServer {
            ready: AtomicUsize::new(0),
            marker: Mutex::default(),
            says,
        });
        let registry = Arc::new(WaiterRegistry::new(std::time::Duration::from_secs(60), 0));
        let watch = {
            let (registry, server) = (Arc::clone(&registry), Arc::clone(&server));
            spawn(move || block_on(watch(&registry, &server, said)))
        };
        Self {
            registry,
            server,
            watch,
        }
    }

    fn thread(
        &self,
        run: impl FnOnce(&Arc<WaiterRegistry>, &Arc<FakeServer>) + Send + 'static,
    ) -> JoinHandle<()> {
        let (registry, server) = (Arc::clone(&self.registry), Arc::clone(&self.server));
        spawn(move || run(&registry, &server))
    }

    /// A consumer that takes one message, and waits while there is none.
    fn consumer(&self) -> JoinHandle<()> {
        self.consumer_by(|| None)
    }

    /// A consumer that takes one message, and waits with a handoff request while there is none.
    fn consumer_by_terms(&self) -> JoinHandle<()> {
        self.consumer_by(|| Some(terms()))
    }

    fn consumer_by(&self, terms: fn() -> Option<HandoffTerms>) -> JoinHandle<()> {
        self.thread(move |registry, server| {
            while !server.take() {
                let mut place = registry.join(&MARKER, terms(), None);
                if let Wake::HandedOver(_) = block_on(place.woken()) {
                    return;
                }
            }
        })
    }

    fn producer(&self, messages: usize) -> JoinHandle<()> {
        self.thread(move |_, server| (0..messages).for_each(|_| server.push()))
    }

    /// Waits for all threads, then ends the task, and returns how many messages are left.
    fn end(self, threads: impl IntoIterator<Item = JoinHandle<()>>) -> usize {
        for thread in threads {
            thread.join().unwrap();
        }
        self.server.says.send(Event::End).unwrap();
        self.watch.join().unwrap();
        self.server.ready.load(SeqCst)
    }
}

/// Runs these threads in many interleavings, each of which must leave `left` messages.
#[track_caller]
fn leaves<const N: usize>(left: usize, threads: fn(&Scene) -> [JoinHandle<()>; N]) {
    sampled(move || {
        let scene = Scene::new();
        let threads = threads(&scene);
        assert_eq!(scene.end(threads), left);
    });
}

fn terms() -> HandoffTerms {
    HandoffTerms {
        text: "30".into(),
        queue: Arc::new(FakeQueue),
    }
}

fn notify(registry: &WaiterRegistry, said: &Event) {
    match said {
        Event::Changes(changes) => registry.notify(&MARKER, *changes),
        Event::HandedOver(serial) => {
            let handed = HandedOver {
                serial: *serial,
                age: std::time::Duration::ZERO,
                lease: Bytes::new(),
            };
            registry.hand_over(&MARKER, handed);
        }
        Event::End => {}
    }
}

/// The work of the task of `watch.rs`, with this server.
async fn watch(registry: &WaiterRegistry, server: &FakeServer, mut said: UnboundedReceiver<Event>) {
    let mut over = false;
    loop {
        for request in registry.requests(usize::MAX) {
            match request {
                ServerRequest::Forward { changes, .. } => server.arm(changes),
                ServerRequest::Release(_) => server.release(),
                ServerRequest::Register { waiting, terms, .. } => {
                    let changes = server.join(waiting, &terms);
                    step();
                    // The task may read messages before the reply even if the server sent them after it.
                    while let Ok(said) = said.try_recv() {
                        over |= matches!(said, Event::End);
                        notify(registry, &said);
                    }
                    registry.registered(&MARKER, waiting, changes);
                }
            }
        }
        if over {
            return;
        }
        tokio::select! {
            biased;
            said = said.recv() => match said {
                None | Some(Event::End) => return,
                Some(said) => notify(registry, &said),
            },
            () = registry.has_requests.notified() => {}
        }
    }
}

#[test]
fn nobody_sleeps_while_there_is_a_message_for_each() {
    leaves(0, |scene| {
        [scene.consumer(), scene.consumer(), scene.producer(2)]
    });
}

#[test]
fn two_pushes_wake_two_waiters() {
    leaves(0, |scene| {
        [
            scene.consumer(),
            scene.producer(1),
            scene.consumer(),
            scene.producer(1),
        ]
    });
}

#[test]
fn a_dropped_waiter_loses_no_hint() {
    leaves(0, |scene| {
        let dropped = scene.thread(|registry, _| {
            let place = registry.join(&MARKER, None, None);
            step();
            drop(place);
        });
        [dropped, scene.consumer(), scene.producer(1)]
    });
}

#[test]
fn a_waiter_that_gives_up_its_hint_wakes_another() {
    leaves(1, |scene| {
        let fails = scene.thread(|registry, _| {
            let mut place = registry.join(&MARKER, None, None);
            block_on(place.woken());
            // This consumer's call fails.
            step();
            registry.forward(&MARKER);
        });
        // Two messages, so that the server notifies this consumer, whichever the other consumer takes.
        [fails, scene.consumer(), scene.producer(2)]
    });
}

#[test]
fn nobody_sleeps_while_there_is_a_message_to_hand_over_to_each() {
    leaves(0, |scene| {
        [
            scene.consumer_by_terms(),
            scene.consumer_by_terms(),
            scene.producer(2),
        ]
    });
}

#[test]
fn a_hint_waiter_and_a_message_waiter_get_one_each() {
    leaves(0, |scene| {
        [
            scene.consumer_by_terms(),
            scene.consumer(),
            scene.producer(1),
            scene.producer(1),
        ]
    });
}

#[test]
fn a_dropped_waiter_loses_no_message() {
    leaves(0, |scene| {
        let dropped = scene.thread(|registry, _| {
            let place = registry.join(&MARKER, Some(terms()), None);
            step();
            drop(place);
        });
        [dropped, scene.consumer_by_terms(), scene.producer(1)]
    });
}

#[test]
fn a_leaving_waiter_keeps_its_message_or_another_gets_it() {
    leaves(0, |scene| {
        let leaver = scene.thread(|registry, server| {
            let mut place = registry.join(&MARKER, Some(terms()), None);
            step();
            if place.leave().is_some() {
                server.release();
            }
        });
        [leaver, scene.consumer_by_terms(), scene.producer(1)]
    });
}
