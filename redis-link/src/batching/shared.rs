//! The state that decides who may send.

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
    SendBatch,
    backlog::{Backlog, QueuedRequests},
};

/// A call that its caller and the task both poll; either of them can complete it.
pub(super) type SharedCall<A> = future::Shared<BoxFuture<'static, Result<Vec<A>>>>;

/// The state that callers and the task share.
pub(super) struct BatcherState<V: SendBatch> {
    pub(super) sender: V,
    // A std mutex: a call holds it briefly, and never across an await.
    state: Mutex<SharedState<V>>,
    /// Notified when the task has something to do or to check again.
    work: Notify,
    /// Notified when the backlog has room again.
    room: Notify,
}

struct SharedState<V: SendBatch> {
    sending: SendState<V::Reply>,
    line: Backlog<V>,
    /// The number of calls that callers made themselves.
    direct_calls: u64,
    /// Replies whose callers are gone.
    unwanted: Vec<V::Reply>,
}

enum SendState<A: Clone> {
    /// No call is in progress: the next caller sends at once.
    Idle,
    /// A lone caller is sending. This state ends with its call, also if the call is dropped.
    Direct {
        number: u64,
        call: WeakShared<BoxFuture<'static, Result<Vec<A>>>>,
    },
    /// The task sends, for as long as a caller waits.
    InTask,
    /// Every caller sends its own entries: the task has ended, with its runtime.
    Stopped,
}

impl<V: SendBatch> SharedState<V> {
    fn is_sending(&self, caller: u64) -> bool {
        matches!(self.sending, SendState::Direct { number, .. } if number == caller)
    }
}

/// The task's next step.
pub(super) enum TaskStep<A: Clone> {
    /// Nothing, until somebody wakes the task.
    Sleep,
    /// Wait for the end of a caller's call, and poll it.
    Await(u64, SharedCall<A>),
    /// Send the waiting entries.
    Send,
}

/// How a caller's entries are sent.
pub(super) enum Join<'a, V: SendBatch> {
    /// In this call, at once.
    Direct(DirectCall<'a, V>),
    /// By the task, when it reaches them.
    Queued(QueuedCall<'a, V>),
    /// By the caller, because the task has ended.
    NoTask(Vec<V::Request>),
    /// Not yet, because the backlog has no room.
    Full(Vec<V::Request>),
}

impl<V: SendBatch> BatcherState<V> {
    /// A state whose backlog has room for `room` bytes.
    pub(super) fn new(sender: V, room: usize) -> Self {
        Self {
            sender,
            state: Mutex::new(SharedState {
                sending: SendState::Idle,
                line: Backlog::new(room),
                direct_calls: 0,
                unwanted: Vec::new(),
            }),
            work: Notify::new(),
            room: Notify::new(),
        }
    }

    /// Waits until the backlog has room, counting from this call even if it is not polled yet. No room is reserved for
    /// the caller, because it may never poll the notified future.
    pub(super) fn room(&self) -> Notified<'_> {
        self.room.notified()
    }

    pub(super) fn join(self: &Arc<Self>, entries: Vec<V::Request>) -> Join<'_, V> {
        let mut state = self.lock();
        match state.sending {
            SendState::Stopped => return Join::NoTask(entries),
            SendState::Idle => {
                let shared = Arc::clone(self);
                let call = async move { shared.sender.send_batch(&entries).await };
                let call = call.boxed().shared();
                state.direct_calls += 1;
                let number = state.direct_calls;
                if let Some(weak) = call.downgrade() {
                    state.sending = SendState::Direct { number, call: weak };
                }
                return Join::Direct(DirectCall {
                    shared: self,
                    number,
                    call,
                });
            }
            SendState::Direct { .. } | SendState::InTask => {}
        }
        let (sender, answer) = oneshot::channel();
        let was_empty = state.line.is_empty();
        let joined = state.line.join(QueuedRequests {
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
                Join::Queued(QueuedCall {
                    shared: self,
                    number,
                    answer,
                    answered: false,
                })
            }
            Err(refused) => Join::Full(refused.entries),
        }
    }

    /// Whether a call is in progress.
    pub(super) fn is_busy(&self) -> bool {
        matches!(
            self.lock().sending,
            SendState::Direct { .. } | SendState::InTask
        )
    }

    /// The number of callers in the backlog.
    #[cfg(test)]
    pub(super) fn waiting(&self) -> usize {
        self.lock().line.len()
    }

    fn leave(&self, place: u64) -> bool {
        // Dropped after the lock is released: the drop wakes the caller that waits for it.
        let left = self.lock().line.leave(place);
        if left.is_some() {
            step!();
            self.room.notify_waiters();
        }
        left.is_some()
    }

    /// Keeps replies whose callers are gone, for the task to give back.
    pub(super) fn keep_unwanted(&self, answers: Vec<V::Reply>) {
        if !answers.is_empty() {
            self.lock().unwanted.extend(answers);
            step!();
            self.work.notify_one();
        }
    }

    pub(super) fn take_unwanted(&self) -> Vec<V::Reply> {
        std::mem::take(&mut self.lock().unwanted)
    }

    /// The task's next step.
    pub(super) fn step(&self) -> TaskStep<V::Reply> {
        let mut state = self.lock();
        if state.line.is_empty() {
            return TaskStep::Sleep;
        }
        if let SendState::Direct { number, call } = &state.sending
            && let Some(call) = call.upgrade()
        {
            return TaskStep::Await(*number, call);
        }
        state.sending = SendState::InTask;
        TaskStep::Send
    }

    /// Waits until the task may have something else to do.
    pub(super) fn work(&self) -> Notified<'_> {
        self.work.notified()
    }

    /// Removes the next callers from the backlog, as many as fit one call.
    pub(super) fn next_batch(&self) -> Vec<QueuedRequests<V>> {
        let batch = self.lock().line.next_batch();
        if !batch.is_empty() {
            step!();
            self.room.notify_waiters();
        }
        batch
    }

    /// Returns to idle, unless a caller waits.
    pub(super) fn go_idle(&self) -> bool {
        let mut state = self.lock();
        let rests = state.line.is_empty();
        if rests {
            state.sending = SendState::Idle;
        }
        rests
    }

    /// Fails all waiting callers with this error: nothing was sent.
    pub(super) fn refuse_all(&self, error: &Error) {
        let refused = self.lock().line.clear();
        step!();
        for waiting in refused {
            // A caller that is gone does not need its reply.
            let _ = waiting.answer.send(Err(error.clone()));
        }
        self.room.notify_waiters();
    }

    /// From now on, callers send their own entries and never wait.
    pub(super) fn close(&self) {
        self.lock().sending = SendState::Stopped;
    }

    /// Whether the direct call of this caller is still in progress.
    pub(super) fn is_sending(&self, caller: u64) -> bool {
        self.lock().is_sending(caller)
    }

    /// Ends the direct call of this caller, if it has not ended yet.
    pub(super) fn end_direct(&self, caller: u64) {
        let mut state = self.lock();
        if state.is_sending(caller) {
            state.sending = if state.line.is_empty() {
                SendState::Idle
            } else {
                SendState::InTask
            };
            drop(state);
            step!();
            self.work.notify_one();
        }
    }

    fn lock(&self) -> MutexGuard<'_, SharedState<V>> {
        step!();
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The call of a lone caller.
pub(super) struct DirectCall<'a, V: SendBatch> {
    shared: &'a BatcherState<V>,
    number: u64,
    call: SharedCall<V::Reply>,
}

impl<V: SendBatch> Future for DirectCall<'_, V> {
    type Output = Result<Vec<V::Reply>>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        Pin::new(&mut self.call).poll(context)
    }
}

impl<V: SendBatch> Drop for DirectCall<'_, V> {
    fn drop(&mut self) {
        self.shared.end_direct(self.number);
    }
}

/// A place in the backlog. Dropping it leaves the backlog.
pub(super) struct QueuedCall<'a, V: SendBatch> {
    shared: &'a BatcherState<V>,
    number: u64,
    answer: Receiver<Result<Vec<V::Reply>>>,
    answered: bool,
}

impl<V: SendBatch> QueuedCall<'_, V> {
    /// Waits for the replies; `None` if the task was stopped half-way.
    pub(super) async fn answer(&mut self) -> Option<Result<Vec<V::Reply>>> {
        let answer = (&mut self.answer).await.ok();
        self.answered = true;
        answer
    }

    /// Leaves the backlog; `false` if it is too late, because the entries are being sent.
    pub(super) fn leave(&self) -> bool {
        self.shared.leave(self.number)
    }
}

impl<V: SendBatch> Drop for QueuedCall<'_, V> {
    fn drop(&mut self) {
        // A caller that has its replies has left already.
        if !self.answered && !self.leave() {
            // The entries are being sent, or the replies are there, and nobody will read them.
            self.answer.close();
            if let Ok(Ok(answers)) = self.answer.try_recv() {
                self.shared.keep_unwanted(answers);
            }
        }
    }
}
