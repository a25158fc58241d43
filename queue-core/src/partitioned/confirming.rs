//! Confirms calls by partitions: each partition that a call goes to confirms it, and the weakest result
//! counts.
//!
//! A partition's confirmer has to begin before the call, and the partitions of a call are not known
//! beforehand. So the confirmers of all partitions begin. Confirmers of partitions without a call are dropped
//! before they wait for anything. A call that is confirmed waits until its partition's confirmer has begun;
//! other calls of the handle do not wait.

use std::{
    cell::RefCell,
    future::{Future, poll_fn},
    pin::Pin,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    task::{Context, Poll, Waker},
};

use async_trait::async_trait;
use futures_util::stream::{FuturesUnordered, StreamExt};

use crate::{Confirmer, Copies, Result, with_sources};

/// The confirmations under way on one handle.
#[derive(Debug, Default)]
pub(super) struct Confirmations {
    /// The length of `all`, so that calls without a confirmation take no lock.
    count: AtomicUsize,
    all: Mutex<Vec<Arc<Confirmation>>>,
}

impl Confirmations {
    /// Notes a call to the partition in all confirmations. If a confirmation covers the call, this waits
    /// until the partition's confirmer has begun.
    pub(super) async fn called(&self, partition: usize) {
        if self.count.load(Ordering::Acquire) == 0 {
            return;
        }
        let all = lock(&self.all).clone();
        for confirmation in all {
            poll_fn(|context| confirmation.poll_called(partition, context)).await;
        }
    }

    fn enter(&self, partitions: usize) -> Entered<'_> {
        let confirmation = Arc::new(Confirmation::of(partitions));
        lock(&self.all).push(Arc::clone(&confirmation));
        self.count.fetch_add(1, Ordering::AcqRel);
        Entered {
            confirmations: self,
            confirmation,
        }
    }
}

/// A confirmation under way, until this is dropped.
struct Entered<'a> {
    confirmations: &'a Confirmations,
    confirmation: Arc<Confirmation>,
}

impl Drop for Entered<'_> {
    fn drop(&mut self) {
        self.confirmation.end();
        let mut all = lock(&self.confirmations.all);
        all.retain(|one| !Arc::ptr_eq(one, &self.confirmation));
        self.confirmations.count.fetch_sub(1, Ordering::AcqRel);
    }
}

#[derive(Debug, Default)]
struct Partition {
    /// Its confirmer has begun, or has failed to begin.
    has_begun: bool,
    is_called: bool,
    /// A call went there before the confirmer had begun.
    was_early: bool,
    /// Its confirmer, which waits for the end of the calls.
    confirmer: Option<Waker>,
    /// Calls that wait for its confirmer.
    calls: Vec<Waker>,
}

#[derive(Debug)]
struct CallStates {
    partitions: Vec<Partition>,
    /// All calls are made.
    is_over: bool,
}

#[derive(Debug)]
struct Confirmation(Mutex<CallStates>);

impl Confirmation {
    fn of(partitions: usize) -> Self {
        Self(Mutex::new(CallStates {
            partitions: std::iter::repeat_with(Partition::default)
                .take(partitions)
                .collect(),
            is_over: false,
        }))
    }

    /// Ready once a call to the partition may go on.
    fn poll_called(&self, partition: usize, context: &Context<'_>) -> Poll<()> {
        let mut state = lock(&self.0);
        if state.is_over {
            return Poll::Ready(());
        }
        let partition = &mut state.partitions[partition];
        if !partition.has_begun && Making::is_of(self) {
            partition.calls.push(context.waker().clone());
            return Poll::Pending;
        }
        partition.is_called = true;
        partition.was_early |= !partition.has_begun;
        Poll::Ready(())
    }

    /// Notes that the partition's confirmer has begun or has failed to, and wakes the calls that wait for it.
    fn begun(&self, partition: usize) {
        let mut state = lock(&self.0);
        state.partitions[partition].has_begun = true;
        let calls = std::mem::take(&mut state.partitions[partition].calls);
        drop(state);
        calls.into_iter().for_each(Waker::wake);
    }

    /// The future that a partition's confirmer gets as its call. It ends when all calls are made, if one of
    /// them went to the partition.
    fn poll_calls(&self, partition: usize, context: &Context<'_>) -> Poll<Result<()>> {
        self.begun(partition);
        let mut state = lock(&self.0);
        if state.is_over && state.partitions[partition].is_called {
            return Poll::Ready(Ok(()));
        }
        state.partitions[partition].confirmer = Some(context.waker().clone());
        Poll::Pending
    }

    /// Notes that all calls are made, and wakes the calls and confirmers that wait.
    fn end(&self) {
        let mut state = lock(&self.0);
        state.is_over = true;
        let partitions = state.partitions.iter_mut();
        let wakers: Vec<Waker> = partitions
            .flat_map(|partition| partition.calls.drain(..).chain(partition.confirmer.take()))
            .collect();
        drop(state);
        wakers.into_iter().for_each(Waker::wake);
    }

    /// The copies in all partitions that were called; `None` while a partition has not confirmed.
    fn copies(&self, confirmed: &[Option<Result<Copies>>]) -> Option<Copies> {
        let state = lock(&self.0);
        let mut copies = None;
        for (partition, confirmed) in state.partitions.iter().zip(confirmed) {
            if !partition.is_called {
                continue;
            }
            let confirmed = match confirmed.as_ref()? {
                // A confirmer that failed to begin says nothing of the call, which was made all the same.
                Err(error) => Copies::Unknown(with_sources(error)),
                Ok(_) if partition.was_early => Copies::Unknown(
                    "another call went to a partition before it was confirmed".to_owned(),
                ),
                Ok(copies) => copies.clone(),
            };
            copies = Some(weakest(copies, confirmed));
        }
        let nothing = || Copies::Unknown("no partition of the queue was called".to_owned());
        Some(copies.unwrap_or_else(nothing))
    }
}

thread_local! {
    /// The confirmations whose calls this thread is polling.
    static MAKING: RefCell<Vec<*const Confirmation>> = const { RefCell::new(Vec::new()) };
}

/// While this lives, the thread polls the calls of a confirmation.
struct Making;

impl Making {
    fn of(confirmation: &Confirmation) -> Self {
        MAKING.with_borrow_mut(|making| making.push(confirmation));
        Self
    }

    fn is_of(confirmation: &Confirmation) -> bool {
        MAKING.with_borrow(|making| making.iter().any(|one| std::ptr::eq(*one, confirmation)))
    }
}

impl Drop for Making {
    fn drop(&mut self) {
        MAKING.with_borrow_mut(Vec::pop);
    }
}

/// Confirms the calls of one handle to a queue of several partitions.
#[derive(Debug)]
pub(super) struct ByParts {
    /// The confirmers of the partitions.
    pub(super) confirmers: Vec<Arc<dyn Confirmer>>,
    pub(super) confirmations: Arc<Confirmations>,
}

#[async_trait]
impl Confirmer for ByParts {
    async fn confirm<'a>(
        &'a self,
        mut call: Pin<Box<dyn Future<Output = Result<()>> + Send + 'a>>,
    ) -> Result<Copies> {
        let entered = self.confirmations.enter(self.confirmers.len());
        let confirmation = &entered.confirmation;
        let mut confirmed: Vec<Option<Result<Copies>>> = Vec::new();
        confirmed.resize_with(self.confirmers.len(), || None);
        let partitions = self.confirmers.iter().enumerate();
        let confirming = partitions.map(|(partition, confirmer)| {
            let confirmation = Arc::clone(confirmation);
            let calls = poll_fn(move |context| confirmation.poll_calls(partition, context));
            let confirming = confirmer.confirm(Box::pin(calls));
            async move { (partition, confirming.await) }
        });
        let mut confirming: FuturesUnordered<_> = confirming.collect();
        let mut is_made = false;
        poll_fn(|context| {
            loop {
                while let Poll::Ready(Some((partition, copies))) =
                    confirming.poll_next_unpin(context)
                {
                    confirmation.begun(partition);
                    confirmed[partition] = Some(copies);
                }
                if is_made {
                    let copies = confirmation.copies(&confirmed);
                    return copies.map_or(Poll::Pending, |copies| Poll::Ready(Ok(copies)));
                }
                let making = Making::of(confirmation);
                let polled = call.as_mut().poll(context);
                drop(making);
                match polled {
                    Poll::Ready(Ok(())) => {
                        is_made = true;
                        confirmation.end();
                    }
                    Poll::Ready(Err(error)) => return Poll::Ready(Err(error)),
                    Poll::Pending => return Poll::Pending,
                }
            }
        })
        .await
    }
}

/// The weaker of two results.
fn weakest(one: Option<Copies>, other: Copies) -> Copies {
    match (one, other) {
        (None | Some(Copies::Enough), other) => other,
        (Some(one @ Copies::Unknown(_)), _) => one,
        (_, other @ Copies::Unknown(_)) => other,
        (Some(one), Copies::Enough) => one,
        (
            Some(Copies::Fewer { replicas, flushed }),
            Copies::Fewer {
                replicas: fewer,
                flushed: is_flushed,
            },
        ) => Copies::Fewer {
            replicas: replicas.min(fewer),
            flushed: flushed && is_flushed,
        },
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // No code panics while it holds the lock.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_weakest_answer_counts() {
        let fewer = |replicas, flushed| Copies::Fewer { replicas, flushed };
        let unknown = || Copies::Unknown("it ended".to_owned());
        let of = |all: Vec<Copies>| {
            let all = all.into_iter();
            all.fold(None, |one, other| Some(weakest(one, other)))
        };
        assert_eq!(
            of(vec![Copies::Enough, Copies::Enough]),
            Some(Copies::Enough)
        );
        assert_eq!(
            of(vec![Copies::Enough, fewer(1, true)]),
            Some(fewer(1, true))
        );
        assert_eq!(
            of(vec![fewer(1, true), Copies::Enough]),
            Some(fewer(1, true))
        );
        assert_eq!(
            of(vec![fewer(2, false), fewer(1, true)]),
            Some(fewer(1, false))
        );
        assert_eq!(of(vec![unknown(), fewer(1, true)]), Some(unknown()));
        assert_eq!(
            of(vec![Copies::Enough, unknown(), Copies::Enough]),
            Some(unknown())
        );
    }
}
