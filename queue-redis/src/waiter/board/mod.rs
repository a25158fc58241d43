//! The waiting callers of this process, and the markers at which they wait.

#[cfg(test)]
mod tests;

use std::{
    collections::{BTreeMap, VecDeque},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use bytes::Bytes;
use queue_core::Error;
use tokio::{
    sync::{Notify, oneshot},
    time::Instant,
};

/// The board looks for lines of markers at which nobody waits any more when it has this many lines.
const SWEEP: usize = 1024;

/// The cause of a wake-up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Wake {
    /// A change, which the waiter passes on if it does not use it.
    Told,
    /// The board may have missed changes.
    Look,
}

/// A request to the server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Order {
    /// So many wait at this marker: register the process.
    Join { marker: Bytes, waiting: usize },
    /// Nobody here can use so many changes: tell other processes.
    PassOn { marker: Bytes, changes: usize },
}

/// The lines of waiters at each marker, in the order of coming, and the requests to the server.
#[derive(Debug)]
pub(super) struct Board {
    // A std mutex: a call holds it briefly, and never across an await.
    state: Mutex<State>,
    changed: Notify,
    /// How long the board trusts a registration.
    trusted: Duration,
}

#[derive(Debug, Default)]
struct State {
    // In order, so that the board wakes all in the same order each time.
    lines: BTreeMap<Bytes, Line>,
    /// The markers that need a registration, each once, in the order of coming.
    to_join: VecDeque<Bytes>,
    /// Changes that nobody here can use.
    unclaimed: BTreeMap<Bytes, usize>,
    next_place: u64,
    sweep_at: usize,
    trouble: Option<(Bytes, Arc<Error>)>,
}

/// The callers that wait at one marker.
#[derive(Debug, Default)]
struct Line {
    waiting: BTreeMap<u64, oneshot::Sender<Wake>>,
    registration: Registration,
}

/// What the board knows of this process's registration at a marker.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Registration {
    #[default]
    None,
    /// It is in `to_join`.
    Wanted,
    /// The board is asking the server. If the server has `told` of a change since, the registration
    /// may have ended again.
    Asked { told: bool },
    /// The server has it, and the board trusts it until then.
    Until(Instant),
}

/// A place in the line at a marker. Dropping it leaves the line; if it was told of a change that it
/// did not notice, it passes the change on.
#[derive(Debug)]
pub(super) struct Place {
    board: Arc<Board>,
    marker: Bytes,
    number: u64,
    wake: oneshot::Receiver<Wake>,
}

impl Board {
    pub(super) fn new(trusted: Duration) -> Self {
        Self {
            state: Mutex::default(),
            changed: Notify::new(),
            trusted,
        }
    }

    /// Joins the line at a marker.
    pub(super) fn join(self: &Arc<Self>, marker: &Bytes) -> Place {
        let (sender, wake) = oneshot::channel();
        let mut state = self.lock();
        let number = state.next_place;
        state.next_place += 1;
        state.sweep();
        let line = state.lines.entry(marker.clone()).or_default();
        line.waiting.insert(number, sender);
        if let Some(changes) = state.unclaimed.remove(marker) {
            state.hand(marker, changes);
        }
        state.want(marker);
        drop(state);
        self.changed.notify_one();
        Place {
            board: Arc::clone(self),
            marker: marker.clone(),
            number,
            wake,
        }
    }

    /// Takes the server's message: so many changes, which ended the process's registration.
    pub(super) fn tell(&self, marker: &Bytes, changes: usize) {
        let mut state = self.lock();
        state.end_registration(marker);
        state.hand(marker, changes);
        state.want(marker);
        drop(state);
        self.changed.notify_one();
    }

    /// Wakes everybody at a marker to look, since its queue was removed. There is nothing to pass on.
    pub(super) fn gone(&self, marker: &Bytes) {
        let mut state = self.lock();
        state.end_registration(marker);
        state.have_all_look(marker);
    }

    /// Takes the server's answer to a registration that another node has the queue, or will soon: who waits
    /// there looks, and finds the other. Whoever comes here again is registered anew.
    pub(super) fn moved(&self, marker: &Bytes) {
        let mut state = self.lock();
        if let Some(line) = state.lines.get_mut(marker) {
            line.registration = Registration::None;
        }
        state.have_all_look(marker);
    }

    /// Passes on one change that a waiter here was told of and does not use.
    pub(super) fn give_up(&self, marker: &Bytes) {
        self.lock().hand(marker, 1);
        self.changed.notify_one();
    }

    /// Takes the server's answer to a registration: the number of changes that it had told nobody
    /// of. The marker's trouble before that is over.
    pub(super) fn joined(&self, marker: &Bytes, asked_for: usize, changes: usize) {
        let mut state = self.lock();
        state.trouble.take_if(|(minded, _)| minded == marker);
        if let Some(line) = state.lines.get_mut(marker) {
            let sure = line.registration == Registration::Asked { told: false };
            line.registration = if sure && changes < asked_for {
                Registration::Until(Instant::now() + self.trusted)
            } else {
                Registration::None
            };
        }
        // A waiter that looks and leaves something behind tells others, so telling one here is
        // enough for all changes beyond the waiters here.
        let here = state.waiting_at(marker).max(1);
        state.hand(marker, changes.min(here));
        state.want(marker);
        drop(state);
        self.changed.notify_one();
    }

    /// Takes the server's refusal to register. The marker's waiters look by a timer until the next
    /// try.
    pub(super) fn refused(&self, marker: &Bytes, reason: Error) {
        let mut state = self.lock();
        if let Some(line) = state.lines.get_mut(marker) {
            line.registration = Registration::Until(Instant::now() + self.trusted / 4);
        }
        state.trouble = Some((marker.clone(), Arc::new(reason)));
    }

    /// Puts requests back that the server has not answered.
    pub(super) fn unanswered(&self, orders: Vec<Order>) {
        let mut state = self.lock();
        for order in orders {
            match order {
                Order::Join { marker, .. } => {
                    state.forget(&marker);
                    state.want(&marker);
                }
                Order::PassOn { marker, changes } => {
                    *state.unclaimed.entry(marker).or_default() += changes;
                }
            }
        }
    }

    /// Forgets a registration that the server has lost.
    pub(super) fn forget(&self, marker: &Bytes) {
        let mut state = self.lock();
        state.forget(marker);
        state.want(marker);
        drop(state);
        self.changed.notify_one();
    }

    /// Wakes everybody to look, since changes and registrations may be lost.
    pub(super) fn wake_all(&self) {
        let mut state = self.lock();
        state.to_join.clear();
        for (_, mut line) in std::mem::take(&mut state.lines) {
            line.have_all_look();
        }
    }

    /// The requests to the server now, at most `most`.
    pub(super) fn orders(&self, most: usize) -> Vec<Order> {
        let mut state = self.lock();
        let mut orders = Vec::new();
        while orders.len() < most
            && let Some((marker, changes)) = state.unclaimed.pop_first()
        {
            orders.push(Order::PassOn { marker, changes });
        }
        while orders.len() < most
            && let Some(marker) = state.to_join.pop_front()
        {
            let Some(line) = state.lines.get_mut(&marker) else {
                continue;
            };
            let waiting = line.waiting.len();
            if waiting == 0 {
                state.lines.remove(&marker);
            } else {
                line.registration = Registration::Asked { told: false };
                orders.push(Order::Join { marker, waiting });
            }
        }
        orders
    }

    /// Waits until there may be a request to the server.
    pub(super) async fn changed(&self) {
        self.changed.notified().await;
    }

    /// The reason why the server last refused to register, if it has not accepted that marker
    /// since.
    pub(super) fn trouble(&self) -> Option<Arc<Error>> {
        let state = self.lock();
        state.trouble.as_ref().map(|(_, reason)| Arc::clone(reason))
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        step!();
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn waiting_at(&self, marker: &Bytes) -> usize {
        self.lines.get(marker).map_or(0, |line| line.waiting.len())
    }

    /// Tells as many waiters as there are changes, the first in the line first. Changes beyond the
    /// waiters here stay unclaimed.
    fn hand(&mut self, marker: &Bytes, mut changes: usize) {
        let line = self.lines.get_mut(marker);
        let waiting = line.map(|line| &mut line.waiting);
        if let Some(waiting) = waiting {
            while changes > 0
                && let Some((_, waiter)) = waiting.pop_first()
            {
                // A waiter that is gone cannot use it.
                if waiter.send(Wake::Told).is_ok() {
                    changes -= 1;
                }
            }
        }
        if changes > 0 {
            *self.unclaimed.entry(marker.clone()).or_default() += changes;
        }
    }

    /// Wakes everybody at a marker to look. There is nothing to pass on.
    fn have_all_look(&mut self, marker: &Bytes) {
        self.unclaimed.remove(marker);
        if let Some(line) = self.lines.get_mut(marker) {
            line.have_all_look();
        }
        self.want(marker);
    }

    /// Has the process registered if somebody waits and no registration is certain.
    fn want(&mut self, marker: &Bytes) {
        let Some(line) = self.lines.get_mut(marker) else {
            return;
        };
        let registered = match line.registration {
            Registration::None => false,
            Registration::Wanted | Registration::Asked { .. } => true,
            Registration::Until(end) => end > Instant::now(),
        };
        if line.waiting.is_empty() {
            if !registered {
                self.lines.remove(marker);
            }
        } else if !registered {
            line.registration = Registration::Wanted;
            self.to_join.push_back(marker.clone());
        }
    }

    /// Notes that the server has used up the process's registration.
    fn end_registration(&mut self, marker: &Bytes) {
        if let Some(line) = self.lines.get_mut(marker) {
            line.registration = match line.registration {
                Registration::Asked { .. } => Registration::Asked { told: true },
                Registration::Wanted => Registration::Wanted,
                Registration::None | Registration::Until(_) => Registration::None,
            };
        }
    }

    fn forget(&mut self, marker: &Bytes) {
        if let Some(line) = self.lines.get_mut(marker)
            && line.registration != Registration::Wanted
        {
            line.registration = Registration::None;
        }
    }

    /// Drops lines without waiters and with no live registration.
    fn sweep(&mut self) {
        if self.lines.len() >= self.sweep_at.max(SWEEP) {
            let now = Instant::now();
            self.lines.retain(|_, line| {
                let over = matches!(line.registration, Registration::Until(end) if end <= now);
                !(over && line.waiting.is_empty())
            });
            self.sweep_at = 2 * self.lines.len();
        }
    }
}

impl Line {
    fn have_all_look(&mut self) {
        for (_, waiter) in std::mem::take(&mut self.waiting) {
            // A waiter that is gone needs no wake-up.
            let _ = waiter.send(Wake::Look);
        }
    }
}

impl Place {
    /// Waits to be woken.
    pub(super) async fn woken(&mut self) {
        // An error means that the board is gone; looking again is right then, too.
        let _ = (&mut self.wake).await;
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        {
            let mut state = self.board.lock();
            if let Some(line) = state.lines.get_mut(&self.marker) {
                line.waiting.remove(&self.number);
                state.want(&self.marker);
            }
        }
        // Nobody can send from now on; a change that was sent before and not received is passed on.
        self.wake.close();
        if let Ok(Wake::Told) = self.wake.try_recv() {
            self.board.give_up(&self.marker);
        }
    }
}
