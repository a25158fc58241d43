//! Whose turn it is to send.

use std::{
    future::Future,
    pin::Pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::{Context, Poll},
};

use futures_util::{
    FutureExt,
    future::{self, BoxFuture, WeakShared},
};
use queue_core::{Error, Result};
use tokio::sync::{
    Notify,
    futures::Notified,
    oneshot::{self, Receiver},
};

use super::{
    Verb,
    line::{Line, Waiting},
};

/// A call that its caller and the task both see to, whoever of them is polled.
pub(super) type Call<A> = future::Shared<BoxFuture<'static, Result<Vec<A>>>>;

/// What callers and the task share.
pub(super) struct Shared<V: Verb> {
    pub(super) verb: V,
    // A std mutex: it is never held across an await, and by nobody for long.
    state: Mutex<State<V>>,
    /// Told when the task has something to do, or to look at anew.
    work: Notify,
    /// Told when there is room in the line again.
    room: Notify,
}

struct State<V: Verb> {
    turn: Turn<V::Answer>,
    line: Line<V>,
    /// How many calls were made by callers themselves.
    firsts: u64,
}

enum Turn<A: Clone> {
    /// Nobody's: who comes sends at once.
    Free,
    /// A caller's who came alone. It is over with the call, also when that is dropped.
    First {
        number: u64,
        call: WeakShared<BoxFuture<'static, Result<Vec<A>>>>,
    },
    /// The task's, for as long as somebody waits.
    Task,
    /// Everybody sends by themselves: the task has ended, with its runtime.
    Over,
}

impl<V: Verb> State<V> {
    fn is_turn_of(&self, caller: u64) -> bool {
        matches!(self.turn, Turn::First { number, .. } if number == caller)
    }
}

/// What the task does next.
pub(super) enum Step<A: Clone> {
    /// Nothing, until it is told.
    Rest,
    /// See to the end of a caller's call.
    Await(u64, Call<A>),
    /// Send what waits.
    Send,
}

/// How a caller's entries are sent.
pub(super) enum Join<'a, V: Verb> {
    /// By this call, at once.
    First(First<'a, V>),
    /// By the task, when it is their turn.
    Later(Place<'a, V>),
    /// By the caller: there is no task any more.
    Alone(Vec<V::Entry>),
    /// Not yet: there is no room in the line.
    Full(Vec<V::Entry>),
}

impl<V: Verb> Shared<V> {
    /// With room for so many bytes in the line.
    pub(super) fn new(verb: V, room: usize) -> Self {
        Self {
            verb,
            state: Mutex::new(State {
                turn: Turn::Free,
                line: Line::new(room),
                firsts: 0,
            }),
            work: Notify::new(),
            room: Notify::new(),
        }
    }

    /// Waits until there is room in the line, from now on, whether polled by then or not. Room
    /// is kept for nobody: who is told may not be polled.
    pub(super) fn room(&self) -> Notified<'_> {
        self.room.notified()
    }

    pub(super) fn join(self: &Arc<Self>, entries: Vec<V::Entry>) -> Join<'_, V> {
        let mut state = self.lock();
        match state.turn {
            Turn::Over => return Join::Alone(entries),
            Turn::Free => {
                let shared = Arc::clone(self);
                let call = async move { shared.verb.send(&entries).await };
                let call = call.boxed().shared();
                state.firsts += 1;
                let number = state.firsts;
                if let Some(weak) = call.downgrade() {
                    state.turn = Turn::First { number, call: weak };
                }
                return Join::First(First {
                    shared: self,
                    number,
                    call,
                });
            }
            Turn::First { .. } | Turn::Task => {}
        }
        let (sender, answer) = oneshot::channel();
        let was_empty = state.line.is_empty();
        let joined = state.line.join(Waiting {
            entries,
            answer: sender,
        });
        drop(state);
        match joined {
            Ok(number) => {
                if was_empty {
                    step!();
                    self.work.notify_one();
                }
                Join::Later(Place {
                    shared: self,
                    number,
                    answer,
                    answered: false,
                })
            }
            Err(refused) => Join::Full(refused.entries),
        }
    }

    /// How many wait in the line.
    #[cfg(test)]
    pub(super) fn waiting(&self) -> usize {
        self.lock().line.len()
    }

    fn leave(&self, place: u64) -> bool {
        // Dropped after the lock: it wakes who waits for it.
        let left = self.lock().line.leave(place);
        if left.is_some() {
            step!();
            self.room.notify_waiters();
        }
        left.is_some()
    }

    /// What the task is to do now.
    pub(super) fn step(&self) -> Step<V::Answer> {
        let mut state = self.lock();
        if state.line.is_empty() {
            return Step::Rest;
        }
        if let Turn::First { number, call } = &state.turn
            && let Some(call) = call.upgrade()
        {
            return Step::Await(*number, call);
        }
        state.turn = Turn::Task;
        Step::Send
    }

    /// Waits until there may be something else for the task to do.
    pub(super) fn work(&self) -> Notified<'_> {
        self.work.notified()
    }

    /// Takes the next out of the line, as many as go in one call.
    pub(super) fn next_batch(&self) -> Vec<Waiting<V>> {
        let batch = self.lock().line.next_batch();
        if !batch.is_empty() {
            step!();
            self.room.notify_waiters();
        }
        batch
    }

    /// Ends the task's turn, unless somebody waits.
    pub(super) fn rest(&self) -> bool {
        let mut state = self.lock();
        let rests = state.line.is_empty();
        if rests {
            state.turn = Turn::Free;
        }
        rests
    }

    /// Tells all who wait that nothing was sent.
    pub(super) fn refuse_all(&self, error: &Error) {
        let refused = self.lock().line.clear();
        step!();
        for waiting in refused {
            // A caller that is gone does not want its answer.
            let _ = waiting.answer.send(Err(error.clone()));
        }
        self.room.notify_waiters();
    }

    /// Lets nobody wait from now on.
    pub(super) fn close(&self) {
        self.lock().turn = Turn::Over;
    }

    /// Whether this caller, who came alone, is still at it.
    pub(super) fn is_turn_of(&self, caller: u64) -> bool {
        self.lock().is_turn_of(caller)
    }

    /// Ends the turn of a caller who came alone, if it is not over yet.
    pub(super) fn end_first(&self, caller: u64) {
        let mut state = self.lock();
        if state.is_turn_of(caller) {
            state.turn = if state.line.is_empty() {
                Turn::Free
            } else {
                Turn::Task
            };
            drop(state);
            step!();
            self.work.notify_one();
        }
    }

    fn lock(&self) -> MutexGuard<'_, State<V>> {
        step!();
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The call of one who came alone.
pub(super) struct First<'a, V: Verb> {
    shared: &'a Shared<V>,
    number: u64,
    call: Call<V::Answer>,
}

impl<V: Verb> Future for First<'_, V> {
    type Output = Result<Vec<V::Answer>>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        Pin::new(&mut self.call).poll(context)
    }
}

impl<V: Verb> Drop for First<'_, V> {
    fn drop(&mut self) {
        self.shared.end_first(self.number);
    }
}

/// A place in the line; dropping it leaves the line.
pub(super) struct Place<'a, V: Verb> {
    shared: &'a Shared<V>,
    number: u64,
    answer: Receiver<Result<Vec<V::Answer>>>,
    answered: bool,
}

impl<V: Verb> Place<'_, V> {
    /// Waits for the answer; there is none if the task was stopped in the middle.
    pub(super) async fn answer(&mut self) -> Option<Result<Vec<V::Answer>>> {
        let answer = (&mut self.answer).await.ok();
        self.answered = true;
        answer
    }

    /// Leaves the line; false if it is too late, since the entries are on their way.
    pub(super) fn leave(&self) -> bool {
        self.shared.leave(self.number)
    }
}

impl<V: Verb> Drop for Place<'_, V> {
    fn drop(&mut self) {
        // Who is answered has left.
        if !self.answered {
            self.leave();
        }
    }
}
