//! The queue around a strategy: the parts that all strategies share.
//!
//! It refuses calls that the strategy does not support before anything is sent, makes receipts, and settles a batch one
//! by one.

use std::{
    collections::HashMap,
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use bytes::Bytes;
use queue_core::{
    Cursor, DeadLetter, Delivery, Depth, Error, ErrorKind, Extended, Extension, Guarantees,
    Headers, Insert, Inserted, Leased, Message, Outcome, Page, Paged, Push, Pushed, QueueName,
    Receipt, Result, Rotated, Settled, Settlement, Token,
    call::{Answer, Call, Service},
    limits,
};

use crate::{
    server::{Connection, TypedKey, id_of},
    strategy::{HeldMessage, NewEntry, Strategy, Taken},
};

/// A handle of a strategy's queue. Strategies with the same type of held messages share its code.
#[derive(Debug)]
pub(crate) struct Shell<H: HeldMessage> {
    name: QueueName,
    guarantees: Guarantees,
    max_body: usize,
    server: Connection,
    strategy: Box<dyn Strategy<Held = H>>,
    /// The messages that this handle has taken and not settled. No other handle can settle them.
    held: Mutex<HashMap<Receipt, H>>,
    last_token: AtomicU64,
}

#[async_trait]
impl<H: HeldMessage> Service for Shell<H> {
    async fn call(&self, call: Call) -> Result<Answer> {
        let answer = self.answer(call).await;
        answer.map_err(|error| error.with_queue(&self.name))
    }
}

impl<H: HeldMessage> Shell<H> {
    /// Opens a handle, after the slots and the types of the strategy's keys were checked.
    pub(crate) async fn open(
        name: &QueueName,
        guarantees: Guarantees,
        max_body: usize,
        server: Connection,
        strategy: Box<dyn Strategy<Held = H>>,
    ) -> Result<Self> {
        let keys = strategy.keys();
        check_distinct(&keys)?;
        server.check_slots(&keys, &strategy.beginnings())?;
        server.check_types(name, &keys).await?;
        strategy.prepare(&server).await?;
        Ok(Self {
            name: name.clone(),
            guarantees,
            max_body,
            server,
            strategy,
            held: Mutex::default(),
            last_token: AtomicU64::new(0),
        })
    }

    async fn answer(&self, call: Call) -> Result<Answer> {
        self.guarantees.check(&call)?;
        let (server, strategy) = (&self.server, &*self.strategy);
        Ok(match call {
            Call::Push(messages) => {
                Push::check_all(&messages, self.guarantees.kind, self.max_body)?;
                Answer::Pushed(self.put(&messages).await?)
            }
            Call::Insert(items) => Answer::Inserted(self.insert(items).await?),
            Call::Lease(max, lease_time) => {
                Answer::Leased(self.lease(max.get(), lease_time).await?)
            }
            Call::Settle(settlements) => {
                limits::check_batch(settlements.len())?;
                Settlement::check_all(&settlements)?;
                Answer::Settled(self.settle(&settlements).await?)
            }
            Call::SettleAndLease(settlements, max, lease_time, _) => {
                self.settle_and_lease(&settlements, max.get(), lease_time)
                    .await?
            }
            Call::Extend(extensions, lease_time) => {
                Extension::check_all(&extensions)?;
                limits::lease_millis(lease_time)?;
                Answer::Extended(self.extend(&extensions, lease_time).await?)
            }
            Call::WaitForArrival(timeout) | Call::WaitForTurn(timeout) => {
                strategy.wait(server, timeout).await?;
                Answer::Nothing
            }
            Call::WaitToLease(lease_time, _, timeout) => {
                limits::lease_millis(lease_time)?;
                strategy.wait(server, timeout).await?;
                Answer::Leased(Leased::nothing(None))
            }
            Call::Resume => Answer::Nothing,
            Call::Depth => Answer::Depth(self.depth().await?),
            Call::DeadLetters(page) => Answer::DeadLetters(self.dead_letters(page).await?),
            Call::Recent(n) => Answer::Messages(self.recent(n).await?),
            Call::Capacity => Answer::Capacity(strategy.capacity().ok_or_else(no_answer)?),
            Call::Rotate(max) => Answer::Rotated(self.rotate(max.get()).await?),
            Call::List(page) => Answer::Items(self.list(page).await?),
            Call::Remove(ids) => {
                limits::check_batch(ids.len())?;
                Answer::Count(strategy.remove(server, &ids).await?)
            }
            Call::Len => Answer::Count(strategy.depth(server).await?.ready),
            call => {
                let message = format!("no strategy answers {}", call.name());
                return Err(Error::new(ErrorKind::Internal, message));
            }
        })
    }

    async fn put(&self, messages: &[Push]) -> Result<Vec<Pushed>> {
        let entries: Vec<_> = messages.iter().map(NewEntry::new).collect();
        self.strategy.put(&self.server, &entries).await
    }

    async fn insert(&self, items: Vec<Insert>) -> Result<Vec<Inserted>> {
        Insert::check_all(&items, self.max_body)?;
        let pushes: Vec<_> = items.into_iter().map(|item| Push::new(item.body)).collect();
        let ids = self.put(&pushes).await?.into_iter().filter_map(Pushed::id);
        Ok(ids.map(Inserted::Added).collect())
    }

    async fn settle_and_lease(
        &self,
        settlements: &[Settlement],
        max: usize,
        lease_time: Duration,
    ) -> Result<Answer> {
        Settlement::check_all(settlements)?;
        check_lease(max, lease_time)?;
        let settled = self.settle(settlements).await?;
        let leased = self.lease(max, lease_time).await;
        let leased = leased.map_err(|error| match settled.is_empty() {
            true => error,
            false => error.with_outcome(Outcome::Unknown),
        });
        Ok(Answer::SettledAndLeased(settled, leased?))
    }

    async fn recent(&self, n: usize) -> Result<Vec<Message>> {
        limits::check_page(n)?;
        let bodies = self.strategy.recent(&self.server, n).await?;
        let fitting = limits::fitting(bodies.iter().map(Bytes::len), n);
        Ok(bodies.into_iter().take(fitting).map(message).collect())
    }

    async fn rotate(&self, max: usize) -> Result<Rotated> {
        limits::check_max(max)?;
        let items = self.strategy.rotate(&self.server, max).await?;
        let next = items.is_empty().then(|| self.strategy.poll());
        let items = items.into_iter().map(message).collect();
        Ok(Rotated::new(items, next))
    }

    async fn lease(&self, max: usize, lease_time: Duration) -> Result<Leased> {
        check_lease(max, lease_time)?;
        let taken = self.strategy.take(&self.server, max, lease_time).await?;
        if taken.is_empty() {
            return Ok(Leased::nothing(Some(self.strategy.poll())));
        }
        let deliveries = taken
            .into_iter()
            .map(|taken| self.hand_out(taken, lease_time));
        Ok(Leased::of(deliveries.collect()))
    }

    fn hand_out(&self, taken: Taken<H>, lease_time: Duration) -> Delivery {
        let receipt = Receipt::new(taken.id, self.next_token());
        self.held().insert(receipt, taken.held);
        let mut delivery = Delivery::new(receipt, taken.attempt, lease_time, taken.body);
        delivery.priority = taken.priority;
        delivery.last_attempt = taken.attempt >= self.strategy.max_attempts();
        delivery
    }

    /// A token larger than all earlier ones of this handle, and not below the current time. Two handles may give out
    /// the same token.
    fn next_token(&self) -> Token {
        let now = self
            .server
            .now()
            .as_millis()
            .saturating_mul(Token::PER_MILLI);
        let next = |last: u64| Some(now.max(last + 1));
        let last = self
            .last_token
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, next);
        Token::new(now.max(last.unwrap_or_else(|last| last) + 1))
    }

    /// Ends holds one by one. A hold whose end is unknown is given up, because ending it again could add a second
    /// entry.
    async fn settle(&self, settlements: &[Settlement]) -> Result<Vec<Settled>> {
        let mut settled = Vec::with_capacity(settlements.len());
        for Settlement {
            receipt,
            disposition,
            ..
        } in settlements
        {
            let held = self.held().remove(receipt);
            let Some(held) = held else {
                settled.push(Settled::LeaseLost);
                continue;
            };
            match self.strategy.end(&self.server, &held, disposition).await {
                Ok(ended) => settled.push(ended),
                Err(error) if error.outcome() == Outcome::NotApplied => {
                    self.held().insert(*receipt, held);
                    return Err(match settled.is_empty() {
                        true => error,
                        false => error.with_outcome(Outcome::Unknown),
                    });
                }
                Err(error) => return Err(error),
            }
        }
        Ok(settled)
    }

    async fn extend(
        &self,
        extensions: &[Extension],
        lease_time: Duration,
    ) -> Result<Vec<Extended>> {
        let mut extended = Vec::with_capacity(extensions.len());
        for Extension { receipt, .. } in extensions {
            let held = self.held().get(receipt).cloned();
            let kept = match held {
                Some(held) => {
                    self.strategy
                        .extend(&self.server, &held, lease_time)
                        .await?
                }
                None => false,
            };
            extended.push(match kept {
                true => Extended::Extended,
                false => Extended::LeaseLost,
            });
        }
        Ok(extended)
    }

    async fn depth(&self) -> Result<Depth> {
        let mut depth = self.strategy.depth(&self.server).await?;
        if let Some(dead) = self.strategy.dead() {
            depth.dead = self.server.ask(redis::cmd("LLEN").arg(dead)).await?;
        }
        Ok(depth)
    }

    async fn dead_letters(&self, page: Page) -> Result<Paged<DeadLetter>> {
        page.check()?;
        let (from, most) = span(page);
        let letters = self.strategy.dead_letters(&self.server, from, most).await?;
        Ok(paged(letters, |letter| letter.body.len(), from, most))
    }

    async fn list(&self, page: Page) -> Result<Paged<Message>> {
        page.check()?;
        let (from, most) = span(page);
        let bodies = self.strategy.list(&self.server, from, most).await?;
        let items = bodies.into_iter().map(message).collect();
        Ok(paged(items, |item: &Message| item.body.len(), from, most))
    }

    fn held(&self) -> MutexGuard<'_, HashMap<Receipt, H>> {
        // No code panics while it holds this lock.
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Refuses one key for two purposes.
fn check_distinct(keys: &[TypedKey]) -> Result<()> {
    for (nth, key) in keys.iter().enumerate() {
        if keys[..nth].iter().any(|other| other.name == key.name) {
            let name = &key.name;
            return Err(Error::invalid(format!(
                "the key {name} is set for two things of this strategy: give each its own"
            )));
        }
    }
    Ok(())
}

fn check_lease(max: usize, lease_time: Duration) -> Result<()> {
    limits::check_max(max)?;
    limits::lease_millis(lease_time).map(drop)
}

fn message(body: Bytes) -> Message {
    Message::new(id_of(&body), body, Headers::default())
}

/// Where a page begins, and the most entries in it. A cursor is a position in the list.
fn span(page: Page) -> (usize, usize) {
    let from = page.after.map_or(0, |cursor| cursor.get());
    // No list is longer, and the server can still read the end of the page as a number.
    let from = usize::try_from(from.min(u64::from(u32::MAX)));
    (from.unwrap_or(usize::MAX / 2), page.limit)
}

/// Limits the page to the entries whose bytes fit it.
fn paged<T>(mut entries: Vec<T>, size: impl Fn(&T) -> usize, from: usize, most: usize) -> Paged<T> {
    let found = entries.len();
    entries.truncate(limits::fitting(entries.iter().map(size), most));
    let goes_on = entries.len() < found || found == most;
    let next = goes_on.then(|| Cursor::new((from + entries.len()) as u64));
    Paged::new(entries, next)
}

fn no_answer() -> Error {
    Error::new(
        ErrorKind::Internal,
        "the strategy declares a call that it cannot answer",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_that_bytes_cut_short_goes_on_behind_its_last_entry() {
        let bytes = |_: &char| limits::MAX_BATCH_BYTES / 2;
        let page = paged(vec!['a', 'b', 'c'], bytes, 5, 9);
        assert_eq!(
            (page.entries, page.next),
            (vec!['a', 'b'], Some(Cursor::new(7)))
        );
        let last = paged(vec!['c'], bytes, 7, 9);
        assert_eq!((last.entries, last.next), (vec!['c'], None));
    }
}
