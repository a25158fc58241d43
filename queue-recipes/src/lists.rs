//! The parts that strategies on lists share.

use bytes::Bytes;
use queue_core::{Depth, Disposition, Pushed, Result, Settled};
use redis::{Value, cmd};

use crate::{
    companions::companion,
    server::{Connection, id_of, read},
    strategy::{NewEntry, Taken},
};

/// Moves an entry from a backup to another list, in one step, adding it to the new list first. Keys: the backup, the
/// other list; arguments: the body, the command that adds it there.
const MOVE: &str = "\
if not redis.call('lpos', KEYS[1], ARGV[1]) then return 0 end
redis.call(ARGV[2], KEYS[2], ARGV[1])
return redis.call('lrem', KEYS[1], 1, ARGV[1])";

/// The two ends of a list, by their commands.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ListEnds {
    /// Pushes where producers do.
    pub(crate) push: &'static str,
    /// Pops where consumers do.
    pub(crate) pop: &'static str,
    pub(crate) blocking_pop: &'static str,
    /// Pushes where consumers pop.
    pub(crate) push_back: &'static str,
}

/// Producers push on the left, consumers pop on the right.
pub(crate) const LPUSH_BRPOP: ListEnds = ListEnds {
    push: "LPUSH",
    pop: "RPOP",
    blocking_pop: "BRPOP",
    push_back: "RPUSH",
};

/// Producers push on the right, consumers pop on the left.
pub(crate) const RPUSH_BLPOP: ListEnds = ListEnds {
    push: "RPUSH",
    pop: "LPOP",
    blocking_pop: "BLPOP",
    push_back: "LPUSH",
};

/// Pushes a batch in one command, by `LPUSH` or `RPUSH`.
pub(crate) async fn push(
    server: &Connection,
    verb: &str,
    list: &str,
    entries: &[NewEntry<'_>],
) -> Result<Vec<Pushed>> {
    let mut push = cmd(verb);
    push.arg(list);
    for entry in entries {
        push.arg(&entry.body()[..]);
    }
    let _length: u64 = server.ask(&push).await?;
    Ok(accepted(entries))
}

/// Pushes one body, by `LPUSH` or `RPUSH`.
pub(crate) async fn push_one(
    server: &Connection,
    verb: &str,
    list: &str,
    body: &[u8],
) -> Result<()> {
    let _length: u64 = server.ask(cmd(verb).arg(list).arg(body)).await?;
    Ok(())
}

/// Pops up to `max` bodies, by `LPOP` or `RPOP`. Borrows nothing, because a task makes the pop.
pub(crate) async fn pop(
    server: Connection,
    verb: &'static str,
    list: String,
    max: usize,
) -> Result<Vec<Bytes>> {
    let bodies: Option<Vec<Bytes>> = server.ask(cmd(verb).arg(&list).arg(max)).await?;
    Ok(bodies.unwrap_or_default())
}

/// Entries that are named by their bodies.
pub(crate) fn accepted(entries: &[NewEntry<'_>]) -> Vec<Pushed> {
    let ids = entries.iter().map(|entry| id_of(entry.body()));
    ids.map(Pushed::Accepted).collect()
}

/// An entry that can be found again by its body.
pub(crate) fn taken(body: Bytes) -> Taken<Bytes> {
    Taken {
        id: id_of(&body),
        attempt: 1,
        priority: None,
        held: body.clone(),
        body,
    }
}

/// The lengths of these lists, in one round trip.
pub(crate) async fn lengths(
    server: &Connection,
    lists: impl IntoIterator<Item = &String>,
) -> Result<Vec<u64>> {
    let lengths = lists.into_iter().map(|list| cmd("LLEN").arg(list).take());
    server.pipeline(lengths.collect()).await
}

/// The depth of a queue that keeps its messages in one list until they are taken.
pub(crate) async fn one_length(server: &Connection, list: &str) -> Result<Depth> {
    let ready = server.ask(cmd("LLEN").arg(list)).await?;
    Ok(Depth::new(ready, 0, 0, 0))
}

/// The depth of a queue that keeps ready messages in one list and held ones in another.
pub(crate) async fn two_lengths(
    server: &Connection,
    ready: &String,
    held: &String,
) -> Result<Depth> {
    let lengths = lengths(server, [ready, held]).await?;
    Ok(Depth::new(lengths[0], 0, lengths[1], 0))
}

/// The list and the body that `BRPOP` returns.
pub(crate) fn popped(answer: Value) -> Result<(String, Bytes)> {
    read(answer)
}

/// A queue and its dead letters: the targets for entries that are put back or buried.
#[derive(Debug)]
pub(crate) struct Places {
    pub(crate) queue: String,
    pub(crate) dead: String,
    pub(crate) ends: ListEnds,
}

impl Places {
    /// A queue with published ends, and its dead letters: in the list that is set, or else in the queue's companion.
    pub(crate) fn of(queue: String, dead: Option<&String>) -> Self {
        Self {
            dead: companion(dead, &queue, "dead"),
            ends: LPUSH_BRPOP,
            queue,
        }
    }

    /// The list that an entry goes to, and the command that puts it there; `None` for an acked entry.
    pub(crate) fn next(&self, how: &Disposition) -> Option<(&'static str, &str)> {
        Some(match how {
            Disposition::Ack | Disposition::AckWith(_) => return None,
            Disposition::Release => (self.ends.push_back, &self.queue),
            Disposition::Retry { .. } | Disposition::Defer { .. } => (self.ends.push, &self.queue),
            Disposition::Bury { .. } => ("RPUSH", &self.dead),
        })
    }

    /// Ends the hold on an entry that is no longer on the server.
    pub(crate) async fn end(
        &self,
        server: &Connection,
        body: &Bytes,
        how: &Disposition,
    ) -> Result<Settled> {
        if let Some((verb, list)) = self.next(how) {
            push_one(server, verb, list, body).await?;
        }
        Ok(settled(how))
    }

    /// Ends the hold on an entry of a backup list.
    pub(crate) async fn end_in(
        &self,
        server: &Connection,
        backup: &str,
        body: &Bytes,
        how: &Disposition,
    ) -> Result<Settled> {
        let removed: u64 = match self.next(how) {
            None => {
                let mut remove = cmd("LREM");
                server.ask(remove.arg(backup).arg(1).arg(&body[..])).await?
            }
            Some((verb, list)) => {
                let arguments = (&body[..], verb);
                server.eval(MOVE, &[backup, list], arguments).await?
            }
        };
        Ok(match removed {
            0 => Settled::LeaseLost,
            _ => settled(how),
        })
    }
}

/// The result of a settlement that took effect.
pub(crate) const fn settled(how: &Disposition) -> Settled {
    match how {
        Disposition::Bury { .. } => Settled::Dead,
        _ => Settled::Done,
    }
}
