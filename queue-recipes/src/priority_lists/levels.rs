//! The commands of the strategy.

use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use queue_core::{Depth, Disposition, Error, ErrorKind, Pushed, Result, Settled};
use redis::cmd;

use crate::{
    lists::{self, Places},
    pops::Pops,
    server::{Connection, TypedKey, id_of},
    strategy::{NewEntry, Strategy, Taken},
};

#[derive(Debug)]
pub(super) struct Levels {
    /// The priorities and their lists, the most urgent first.
    pub(super) levels: Vec<(i16, String)>,
    pub(super) dead: String,
    /// Each popped body with its list.
    pub(super) pops: Pops<(String, Bytes)>,
}

#[async_trait]
impl Strategy for Levels {
    type Held = (String, Bytes);

    fn keys(&self) -> Vec<TypedKey> {
        let lists = self.levels.iter().map(|(_, list)| list);
        lists.chain([&self.dead]).map(TypedKey::list).collect()
    }

    fn dead(&self) -> Option<&str> {
        Some(&self.dead)
    }

    async fn put(&self, server: &Connection, entries: &[NewEntry<'_>]) -> Result<Vec<Pushed>> {
        let mut pushes = Vec::new();
        for (priority, list) in &self.levels {
            let mut push = cmd("LPUSH");
            push.arg(list);
            let own = entries.iter().filter(|entry| entry.priority == *priority);
            let own: Vec<&[u8]> = own.map(|entry| &entry.body()[..]).collect();
            if !own.is_empty() {
                push.arg(own);
                pushes.push(push);
            }
        }
        let _lengths: Vec<u64> = server.pipeline(pushes).await?;
        Ok(lists::accepted(entries))
    }

    async fn take(
        &self,
        server: &Connection,
        max: usize,
        _: Duration,
    ) -> Result<Vec<Taken<Self::Held>>> {
        let lists: Vec<String> = self.levels.iter().map(|(_, list)| list.clone()).collect();
        let pop = pop(server.clone(), lists, max);
        let bodies = self.pops.take(max, pop).await?;
        let levels = &self.levels;
        let priority = |own: &str| {
            levels
                .iter()
                .find(|(_, list)| list == own)
                .map(|level| level.0)
        };
        let taken = bodies.into_iter();
        Ok(taken
            .map(|(list, body)| taken_at(priority(&list), list, body))
            .collect())
    }

    async fn end(
        &self,
        server: &Connection,
        (list, body): &(String, Bytes),
        how: &Disposition,
    ) -> Result<Settled> {
        let places = Places {
            queue: list.clone(),
            dead: self.dead.clone(),
            ends: lists::LPUSH_BRPOP,
        };
        places.end(server, body, how).await
    }

    async fn wait(&self, _: &Connection, timeout: Duration) -> Result<()> {
        self.pops.wait(timeout).await
    }

    async fn depth(&self, server: &Connection) -> Result<Depth> {
        let levels = self.levels.iter().map(|(_, list)| list);
        let lengths = lists::lengths(server, levels).await?;
        Ok(Depth::new(lengths.into_iter().sum(), 0, 0, 0))
    }
}

/// Takes from the most urgent non-empty list, then from the next, up to `max`.
async fn pop(server: Connection, lists: Vec<String>, max: usize) -> Result<Vec<(String, Bytes)>> {
    let mut popped = Vec::new();
    while popped.len() < max {
        let mut pop = cmd("LMPOP");
        pop.arg(lists.len()).arg(&lists).arg("RIGHT");
        pop.arg("COUNT").arg(max - popped.len());
        let some: Result<Option<(String, Vec<Bytes>)>> = server.ask(&pop).await;
        match some {
            Ok(Some((list, bodies))) => {
                popped.extend(bodies.into_iter().map(|body| (list.clone(), body)));
            }
            Ok(None) => break,
            // Redis 6.2 does not have this command.
            Err(error) if popped.is_empty() && error.kind() == ErrorKind::Configuration => {
                return pop_in_turn(server, lists, max).await;
            }
            Err(error) => return keep(popped, error),
        }
    }
    Ok(popped)
}

/// Popped entries must reach their caller; the error will come again.
fn keep(popped: Vec<(String, Bytes)>, error: Error) -> Result<Vec<(String, Bytes)>> {
    match popped.is_empty() {
        true => Err(error),
        false => Ok(popped),
    }
}

async fn pop_in_turn(
    server: Connection,
    lists: Vec<String>,
    max: usize,
) -> Result<Vec<(String, Bytes)>> {
    let mut popped = Vec::new();
    for list in lists {
        let room = max - popped.len();
        let bodies = match lists::pop(server.clone(), "RPOP", list.clone(), room).await {
            Ok(bodies) => bodies,
            Err(error) => return keep(popped, error),
        };
        popped.extend(bodies.into_iter().map(|body| (list.clone(), body)));
        if popped.len() >= max {
            break;
        }
    }
    Ok(popped)
}

fn taken_at(priority: Option<i16>, list: String, body: Bytes) -> Taken<(String, Bytes)> {
    Taken {
        id: id_of(&body),
        attempt: 1,
        priority,
        held: (list, body.clone()),
        body,
    }
}
