//! Large bodies. A script costs time for each byte that it handles, so large bodies are transferred by plain commands,
//! and scripts handle only references to them. `lua/lib/uploads.lua` has the details.

use std::{
    collections::hash_map::RandomState,
    hash::BuildHasher,
    sync::{
        LazyLock,
        atomic::{AtomicU64, Ordering},
    },
};

use bytes::Bytes;
use queue_core::{Error, ErrorKind, Outcome, Receipt, Result};
use redis::Value;
use redis_link::ScriptCall;

use super::Handle;
use crate::{
    frame::{self, Content, Dead, Frame, Payload, REFERENCE, Shown},
    reply::Reply,
};

/// How often a reading call retries because messages were removed meanwhile. After that it leaves them out.
const READS: usize = 16;

/// The reference of a body. No other process generates the same one.
pub(crate) type Reference = [u8; REFERENCE];

fn new_reference() -> Reference {
    static PROCESS: LazyLock<u64> = LazyLock::new(|| RandomState::new().hash_one(()));
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let mut reference = [0; REFERENCE];
    reference[..8].copy_from_slice(&PROCESS.to_be_bytes());
    reference[8..].copy_from_slice(&NEXT.fetch_add(1, Ordering::Relaxed).to_be_bytes());
    reference
}

/// The references of a batch's large bodies, by the indexes of their messages.
pub(crate) struct StagedBodies(Vec<(usize, Reference)>);

impl StagedBodies {
    /// References for the bodies of a batch that have at least `large` bytes.
    pub(crate) fn of<'a>(payloads: impl Iterator<Item = Payload<'a>>, large: usize) -> Self {
        let uploads = payloads
            .enumerate()
            .filter(|(_, payload)| payload.size() >= large)
            .map(|(entry, _)| (entry, new_reference()));
        Self(uploads.collect())
    }

    /// The reference of the message at this index; `None` if its body is sent with the call.
    fn at(&self, entry: usize) -> Option<&Reference> {
        let found = self.0.binary_search_by_key(&entry, |(large, _)| *large);
        found.ok().map(|found| &self.0[found].1)
    }

    /// Adds an argument for each message of the batch: headers and body, or their reference.
    pub(crate) fn add_payloads<'a>(
        &self,
        payloads: impl Iterator<Item = Payload<'a>>,
        call: &mut ScriptCall,
    ) {
        for (entry, payload) in payloads.enumerate() {
            match self.at(entry) {
                Some(reference) => call.push(&frame::apart(payload.size(), reference)[..]),
                None => call.push(payload),
            }
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Adds a triple of arguments for each large body: the message's number, `body`, and the reference.
    pub(crate) fn add_references(&self, call: &mut ScriptCall) {
        for (entry, reference) in &self.0 {
            call.push(entry + 1);
            call.push("body");
            call.push(&reference[..]);
        }
    }

    /// All references, each with its message's index.
    fn iter(&self) -> impl Iterator<Item = &(usize, Reference)> {
        self.0.iter()
    }
}

impl Handle {
    /// Sends the large bodies of a batch to the server, before the call that pushes the batch. A staged body that the
    /// script does not take is dropped a minute after a call first sees it.
    pub(crate) async fn upload<'a>(
        &self,
        uploads: &StagedBodies,
        payloads: impl Iterator<Item = Payload<'a>> + Send,
    ) -> Result<()> {
        if uploads.is_empty() {
            return Ok(());
        }
        let (mut note, mut store) = (redis::cmd("ZADD"), redis::cmd("HSET"));
        note.arg(self.keys().uploads());
        store.arg(self.keys().bodies());
        for (entry, payload) in payloads.enumerate() {
            if let Some(reference) = uploads.at(entry) {
                note.arg(0).arg(reference);
                store.arg(reference).arg(payload);
            }
        }
        // A note without a body does no harm; a body without a note would stay for ever. On a slow network the first
        // note may be gone when the bodies arrive, so the note is sent twice.
        self.send(vec![note.clone(), store, note]).await.map(drop)
    }

    /// Removes the staged bodies of a push if the server refused it. If this fails, they are dropped later.
    pub(crate) async fn take_back_if_refused(&self, uploads: &StagedBodies, push: &Result<Reply>) {
        if uploads.is_empty() || !is_refused(push) {
            return;
        }
        let (mut body, mut note) = (redis::cmd("HDEL"), redis::cmd("ZREM"));
        body.arg(self.keys().bodies());
        note.arg(self.keys().uploads());
        for (_, reference) in uploads.iter() {
            body.arg(reference);
            note.arg(reference);
        }
        drop(self.send(vec![body, note]).await);
    }

    /// Sends a call that only reads, and fetches the bodies of the entries that `read` finds in its reply. Returns the
    /// entries with the other values that `read` finds. Repeats the call if messages were removed meanwhile.
    pub(crate) async fn read_with_bodies<E, T>(
        &self,
        mut call: ScriptCall,
        read: impl Fn(Reply) -> Result<(Vec<E>, T)> + Send + Sync,
    ) -> Result<(Vec<E>, T)>
    where
        E: AsMut<Content> + Send,
        T: Send,
    {
        let mut reads = 0;
        // Each script call reclaims and promotes, whether or not the following steps succeed.
        let after = |error: Error| error.with_outcome(Outcome::Unknown);
        loop {
            let reply = self.run(&call).await;
            let reply = reply.map_err(|error| if reads > 0 { after(error) } else { error });
            let (mut entries, rest) = read(reply?)?;
            reads += 1;
            let contents = entries.iter_mut().map(E::as_mut);
            if self.bring_bodies(contents).await.map_err(after)? || reads == READS {
                return Ok((entries, rest));
            }
            call = self.prepare_again(&call);
        }
    }

    /// Fetches the separate bodies of these entries in one round trip, if there are any. Returns true if it found all.
    /// If a message was removed meanwhile with its body, its content stays as it was.
    pub(crate) async fn bring_bodies<'a>(
        &self,
        contents: impl Iterator<Item = &'a mut Content> + Send,
    ) -> Result<bool> {
        let mut apart: Vec<&mut Content> = contents.filter(|each| each.is_apart()).collect();
        if apart.is_empty() {
            return Ok(true);
        }
        let mut read = redis::cmd("HMGET");
        read.arg(self.keys().bodies());
        for content in &apart {
            if let Content::Apart(reference) = content {
                read.arg(&reference[..]);
            }
        }
        let bodies = self.send(vec![read]).await?.pop();
        let Some(Value::Array(bodies)) = bodies else {
            self.client().mark_suspect();
            return Err(self.name(damaged()));
        };
        let mut found_all = true;
        for (content, body) in apart.iter_mut().zip(bodies) {
            match body {
                Value::BulkString(body) => {
                    let body = Bytes::from(body);
                    **content = match Content::read(body.clone()) {
                        Content::Apart(_) => Content::Damaged(body),
                        content => content,
                    };
                }
                _ => found_all = false,
            }
        }
        Ok(found_all)
    }

    /// Fails if any of these leases has expired. While a message is leased, its body exists, so a body that is missing
    /// was damaged.
    pub(crate) async fn check_leased(&self, receipts: impl Iterator<Item = Receipt>) -> Result<()> {
        let mut deadlines = redis::cmd("ZMSCORE");
        deadlines.arg(self.keys().leases());
        for receipt in receipts {
            deadlines.arg(&frame::lease(receipt)[..]);
        }
        match self.send(vec![deadlines]).await?.pop() {
            Some(Value::Array(deadlines)) if !deadlines.contains(&Value::Nil) => Ok(()),
            _ => Err(self.name(late())),
        }
    }
}

/// Whether the server replied that it did nothing.
fn is_refused(put: &Result<Reply>) -> bool {
    put.as_ref().is_err_and(|error| {
        error.outcome() == Outcome::NotApplied && error.kind() != ErrorKind::Unavailable
    })
}

impl AsMut<Content> for Frame {
    fn as_mut(&mut self) -> &mut Content {
        &mut self.content
    }
}

impl AsMut<Content> for Dead {
    fn as_mut(&mut self) -> &mut Content {
        &mut self.frame.content
    }
}

impl AsMut<Content> for Shown {
    fn as_mut(&mut self) -> &mut Content {
        &mut self.frame.content
    }
}

fn late() -> Error {
    Error::new(
        ErrorKind::Unavailable,
        "a lease ended before its message's body was here: lease for longer, or fewer at a time",
    )
}

fn damaged() -> Error {
    Error::new(
        ErrorKind::Internal,
        "a large body is stored as what it should not be",
    )
}

#[cfg(test)]
mod tests {
    use queue_core::Headers;

    use super::*;

    #[test]
    fn only_large_messages_are_apart_each_in_a_place_of_its_own() {
        let headers = Headers::new();
        let bodies = [100, 1, 99, 101].map(|size| Bytes::from(vec![0; size]));
        let uploads = |large| {
            let payloads = bodies.iter().map(|body| Payload {
                headers: &headers,
                body,
            });
            StagedBodies::of(payloads, large)
        };
        let some = uploads(100);
        let apart: Vec<bool> = (0..4).map(|entry| some.at(entry).is_some()).collect();
        assert_eq!(apart, [true, false, false, true]);
        assert_ne!(some.at(0), some.at(3));
        assert_eq!(uploads(102).iter().count(), 0);
    }

    #[test]
    fn bodies_are_taken_back_only_where_their_push_was_answered_and_did_nothing() {
        let refused =
            |kind, outcome| is_refused(&Err(Error::new(kind, "no").with_outcome(outcome)));
        let not_applied = Outcome::NotApplied;
        assert!(refused(ErrorKind::OutOfMemory, not_applied));
        // The call may still be on its way, or its messages may have been stored.
        assert!(!refused(ErrorKind::Unavailable, not_applied));
        assert!(!refused(ErrorKind::Unavailable, Outcome::Unknown));
        assert!(!refused(ErrorKind::Internal, Outcome::Unknown));
    }
}
