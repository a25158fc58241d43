//! Large bodies: a script pays for each byte that it sees, so they go to the server and come from it by
//! plain commands, and scripts see where they are. `lua/shared/bodies.lua` tells the rest.

use std::{
    collections::hash_map::RandomState,
    hash::BuildHasher,
    sync::{
        LazyLock,
        atomic::{AtomicU64, Ordering},
    },
};

use bytes::Bytes;
use queue_core::{Error, ErrorKind, Push, Receipt, Result};
use redis::Value;

use super::Handle;
use crate::{
    call::Call,
    frame::{self, Content, Dead, Frame, Payload, REFERENCE, Shown},
    reply::Reply,
    script::Script,
};

/// How often a call that reads repeats itself because messages go meanwhile. Then it leaves them out.
const LOOKS: usize = 16;

/// Where a body is: no other process makes up the same one.
pub(crate) type Reference = [u8; REFERENCE];

fn new_reference() -> Reference {
    static PROCESS: LazyLock<u64> = LazyLock::new(|| RandomState::new().hash_one(()));
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let mut reference = [0; REFERENCE];
    reference[..8].copy_from_slice(&PROCESS.to_be_bytes());
    reference[8..].copy_from_slice(&NEXT.fetch_add(1, Ordering::Relaxed).to_be_bytes());
    reference
}

/// The references of a batch's large bodies, by the places of their messages.
pub(super) struct Uploads(Vec<(usize, Reference)>);

impl Uploads {
    /// References for those of these messages that have so many bytes or more.
    pub(super) fn of<'a>(pushes: impl Iterator<Item = &'a Push>, large: usize) -> Self {
        let uploads = pushes
            .enumerate()
            .filter(|(_, push)| push.size() >= large)
            .map(|(entry, _)| (entry, new_reference()));
        Self(uploads.collect())
    }

    pub(super) const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The reference of the message at this place; `None` if its body goes with the push.
    pub(super) fn at(&self, entry: usize) -> Option<&Reference> {
        let found = self.0.binary_search_by_key(&entry, |(large, _)| *large);
        found.ok().map(|found| &self.0[found].1)
    }

    /// All, each with its message's place.
    pub(super) fn iter(&self) -> impl Iterator<Item = &(usize, Reference)> {
        self.0.iter()
    }
}

impl Handle {
    /// Brings the large bodies of this batch to the server, before its push. What no push takes from
    /// there is dropped a minute after a call first sees it.
    pub(super) async fn upload(&self, batch: &[&Push], uploads: &Uploads) -> Result<()> {
        let (mut note, mut store) = (redis::cmd("ZADD"), redis::cmd("HSET"));
        note.arg(self.keys().uploads());
        store.arg(self.keys().bodies());
        for (entry, reference) in uploads.iter() {
            let Push { headers, body, .. } = batch[*entry];
            note.arg(0).arg(reference);
            store.arg(reference).arg(Payload { headers, body });
        }
        // A note without a body does no harm; a body without its note would stay for ever. On a slow line
        // the first note may be gone by the time that the bodies are there.
        self.send(vec![note.clone(), store, note]).await.map(drop)
    }

    /// Takes back an upload whose push was refused. Where that fails, time does it.
    pub(super) async fn take_back(&self, uploads: &Uploads) {
        let (mut body, mut note) = (redis::cmd("HDEL"), redis::cmd("ZREM"));
        body.arg(self.keys().bodies());
        note.arg(self.keys().uploads());
        for (_, reference) in uploads.iter() {
            body.arg(reference);
            note.arg(reference);
        }
        drop(self.send(vec![body, note]).await);
    }

    /// Calls a script that reads, and brings the bodies of the entries that `read` finds in its reply, beside
    /// what else it finds there. It calls the script again while messages go meanwhile.
    pub(super) async fn look<E, T>(
        &self,
        script: &'static Script,
        fill: impl Fn(&mut Call) + Send + Sync,
        read: impl Fn(Reply) -> Result<(Vec<E>, T)> + Send + Sync,
    ) -> Result<(Vec<E>, T)>
    where
        E: AsMut<Frame> + Send,
        T: Send,
    {
        let mut looks = 0;
        loop {
            let (mut entries, rest) = read(self.call(script, &fill).await?)?;
            looks += 1;
            let frames = entries.iter_mut().map(E::as_mut);
            if self.bring_bodies(frames).await? || looks == LOOKS {
                return Ok((entries, rest));
            }
        }
    }

    /// Brings what is not in these frames, all in one round trip; none if nothing is apart. Answers whether
    /// it found all: a body that has gone meanwhile, with its message, leaves its frame as it was.
    pub(super) async fn bring_bodies<'a>(
        &self,
        frames: impl Iterator<Item = &'a mut Frame> + Send,
    ) -> Result<bool> {
        let mut apart: Vec<&mut Frame> = frames.filter(|frame| frame.is_apart()).collect();
        if apart.is_empty() {
            return Ok(true);
        }
        let mut read = redis::cmd("HMGET");
        read.arg(self.keys().bodies());
        for frame in &apart {
            if let Content::Apart(reference) = &frame.content {
                read.arg(&reference[..]);
            }
        }
        let bodies = self.send(vec![read]).await?.pop();
        let Some(Value::Array(bodies)) = bodies else {
            self.client().doubt();
            return Err(self.name(damaged()));
        };
        let mut found_all = true;
        for (frame, body) in apart.iter_mut().zip(bodies) {
            match body {
                Value::BulkString(body) => {
                    let body = Bytes::from(body);
                    frame.content = match Content::read(body.clone()) {
                        Content::Apart(_) => Content::Damaged(body),
                        content => content,
                    };
                }
                _ => found_all = false,
            }
        }
        Ok(found_all)
    }

    /// Fails if any of these leases has ended. While a message is leased, its body is there, so one that is
    /// missing all the same was damaged.
    pub(super) async fn check_leased(&self, receipts: impl Iterator<Item = Receipt>) -> Result<()> {
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

impl AsMut<Self> for Frame {
    fn as_mut(&mut self) -> &mut Self {
        self
    }
}

impl AsMut<Frame> for Dead {
    fn as_mut(&mut self) -> &mut Frame {
        &mut self.frame
    }
}

impl AsMut<Frame> for Shown {
    fn as_mut(&mut self) -> &mut Frame {
        &mut self.frame
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
    use super::*;

    #[test]
    fn only_large_messages_are_apart_each_in_a_place_of_its_own() {
        let batch = [100, 1, 99, 101].map(|size| Push::new(vec![0; size]));
        let uploads = Uploads::of(batch.iter(), 100);
        let apart: Vec<bool> = (0..4).map(|entry| uploads.at(entry).is_some()).collect();
        assert_eq!(apart, [true, false, false, true]);
        assert_ne!(uploads.at(0), uploads.at(3));
        assert!(Uploads::of(batch[1..3].iter(), 100).is_empty());
    }
}
