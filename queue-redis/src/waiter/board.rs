//! Who waits for what, in this process.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use bytes::Bytes;
use queue_core::Error;
use tokio::sync::{Notify, oneshot};

/// An armed marker that was popped: what stood in it, so that it can be armed the same way again.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Arrival {
    pub(super) marker: Bytes,
    pub(super) member: Bytes,
    pub(super) score: f64,
}

impl Arrival {
    /// What a script arms a marker with.
    pub(super) fn at(marker: &Bytes) -> Self {
        Self {
            marker: marker.clone(),
            member: Bytes::from_static(b"armed"),
            score: 0.0,
        }
    }
}

/// What wakes a waiter: an arrival, which it passes on if it is gone, or only a reason to look.
type Wake = Option<Arrival>;

/// Who waits for which marker, in the order of coming, and which arrivals found nobody.
#[derive(Debug, Default)]
pub(super) struct Board {
    // A std mutex: it is never held across an await, and by nobody for long.
    state: Mutex<State>,
    changed: Notify,
}

#[derive(Debug, Default)]
struct State {
    waiting: BTreeMap<Bytes, BTreeMap<u64, oneshot::Sender<Wake>>>,
    next_place: u64,
    unclaimed: Vec<Arrival>,
    trouble: Option<Arc<Error>>,
}

/// A place in the line for a marker; dropping it leaves the line, and passes on an arrival that
/// came too late to be noticed.
#[derive(Debug)]
pub(super) struct Place {
    board: Arc<Board>,
    marker: Bytes,
    number: u64,
    wake: oneshot::Receiver<Wake>,
}

impl Board {
    /// Joins the line for a marker.
    pub(super) fn join(self: &Arc<Self>, marker: &Bytes) -> Place {
        let (sender, wake) = oneshot::channel();
        let mut state = self.lock();
        let number = state.next_place;
        state.next_place += 1;
        let line = state.waiting.entry(marker.clone()).or_default();
        line.insert(number, sender);
        let unclaimed = state.unclaimed.iter();
        let found = unclaimed
            .clone()
            .position(|arrival| arrival.marker == marker);
        if let Some(index) = found {
            let arrival = state.unclaimed.remove(index);
            state.hand(arrival);
        }
        drop(state);
        self.changed.notify_one();
        Place {
            board: Arc::clone(self),
            marker: marker.clone(),
            number,
            wake,
        }
    }

    /// Wakes the first in the line of the arrival's marker; if there is none, keeps it until it
    /// is put back.
    pub(super) fn arrive(&self, arrival: Arrival) {
        if !self.lock().hand(arrival) {
            self.changed.notify_one();
        }
    }

    /// Has everybody look, since arrivals may have been missed.
    pub(super) fn wake_all(&self) {
        for (_, line) in std::mem::take(&mut self.lock().waiting) {
            for (_, waiter) in line {
                // One that is gone needs to be told nothing.
                let _ = waiter.send(None);
            }
        }
    }

    /// The markers that somebody waits for, in a fixed order.
    pub(super) fn markers(&self) -> Vec<Bytes> {
        self.lock().waiting.keys().cloned().collect()
    }

    /// Whether somebody waits for a marker that is not among these, which are in order.
    pub(super) fn wants_other_than(&self, markers: &[Bytes]) -> bool {
        let state = self.lock();
        let mut waiting = state.waiting.keys();
        waiting.any(|marker| markers.binary_search(marker).is_err())
    }

    /// An arrival that found nobody; it stays until [`put_back`](Self::put_back).
    pub(super) fn unclaimed(&self) -> Option<Arrival> {
        self.lock().unclaimed.first().cloned()
    }

    /// The arrival is on the server again.
    pub(super) fn put_back(&self, arrival: &Arrival) {
        self.lock().unclaimed.retain(|kept| kept != arrival);
    }

    /// Waits until somebody joined, or an arrival found nobody.
    pub(super) async fn changed(&self) {
        self.changed.notified().await;
    }

    pub(super) fn trouble(&self) -> Option<Arc<Error>> {
        self.lock().trouble.clone()
    }

    pub(super) fn set_trouble(&self, trouble: Option<Error>) {
        self.lock().trouble = trouble.map(Arc::new);
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Hands an arrival to the first in its line who is still there, or keeps it as unclaimed.
    fn hand(&mut self, arrival: Arrival) -> bool {
        let mut wake = Some(arrival.clone());
        while let Some(line) = self.waiting.get_mut(&arrival.marker) {
            let first = line.pop_first();
            if line.is_empty() {
                self.waiting.remove(&arrival.marker);
            }
            match first.map(|(_, waiter)| waiter.send(wake.take())) {
                Some(Ok(())) => return true,
                Some(Err(refused)) => wake = refused,
                None => {}
            }
        }
        // One is as good as many: a marker is armed or not.
        if !self
            .unclaimed
            .iter()
            .any(|kept| kept.marker == arrival.marker)
        {
            self.unclaimed.push(arrival);
        }
        false
    }
}

impl Place {
    /// Waits to be woken.
    pub(super) async fn arrival(&mut self) {
        // An error means that the board is gone, and then looking again is right, too.
        let _ = (&mut self.wake).await;
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        {
            let mut state = self.board.lock();
            if let Some(line) = state.waiting.get_mut(&self.marker) {
                line.remove(&self.number);
                if line.is_empty() {
                    state.waiting.remove(&self.marker);
                }
            }
        }
        // Nobody can send to it any more; what was sent before and not received is passed on.
        self.wake.close();
        if let Ok(Some(arrival)) = self.wake.try_recv() {
            self.board.arrive(arrival);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::future::Future;

    use super::*;

    fn marker(name: &'static str) -> Bytes {
        Bytes::from_static(name.as_bytes())
    }

    fn arrival(name: &'static str) -> Arrival {
        Arrival {
            marker: marker(name),
            member: marker("m"),
            score: 0.0,
        }
    }

    fn is_woken(place: &mut Place) -> bool {
        let mut context = std::task::Context::from_waker(std::task::Waker::noop());
        std::pin::pin!(place.arrival())
            .poll(&mut context)
            .is_ready()
    }

    #[test]
    fn an_arrival_wakes_the_first_in_its_line_alone() {
        let board = Arc::new(Board::default());
        let (mut first, mut second) = (board.join(&marker("a")), board.join(&marker("a")));
        let mut other = board.join(&marker("b"));
        board.arrive(arrival("a"));
        assert!(is_woken(&mut first));
        assert!(!is_woken(&mut second) && !is_woken(&mut other));
        assert_eq!(board.markers(), [marker("a"), marker("b")]);
        assert_eq!(board.unclaimed(), None);
    }

    #[test]
    fn one_that_was_dropped_unnoticed_passes_its_arrival_on() {
        let board = Arc::new(Board::default());
        let (first, mut second) = (board.join(&marker("a")), board.join(&marker("a")));
        board.arrive(arrival("a"));
        drop(first);
        assert!(is_woken(&mut second));
        drop(second);
        assert_eq!(board.unclaimed(), None);
        assert!(board.markers().is_empty());
    }

    #[test]
    fn the_last_to_be_dropped_gives_its_arrival_back() {
        let board = Arc::new(Board::default());
        let place = board.join(&marker("a"));
        board.arrive(arrival("a"));
        drop(place);
        assert_eq!(board.unclaimed(), Some(arrival("a")));
        board.put_back(&arrival("a"));
        assert_eq!(board.unclaimed(), None);
    }

    #[test]
    fn who_joins_takes_an_arrival_that_has_not_been_put_back() {
        let board = Arc::new(Board::default());
        board.arrive(arrival("a"));
        board.arrive(arrival("a"));
        let mut other = board.join(&marker("b"));
        assert!(!is_woken(&mut other));
        let mut place = board.join(&marker("a"));
        assert!(is_woken(&mut place));
        assert_eq!(board.unclaimed(), None);
    }

    #[test]
    fn nothing_stays_of_those_who_left() {
        let board = Arc::new(Board::default());
        for _ in 0..1_000 {
            drop(board.join(&marker("a")));
        }
        assert!(board.lock().waiting.is_empty());
        let mut place = board.join(&marker("a"));
        board.wake_all();
        assert!(is_woken(&mut place));
        drop(place);
        assert_eq!(board.unclaimed(), None);
    }
}
