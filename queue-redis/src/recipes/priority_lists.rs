use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use queue_core::{
    Depth, Disposition, Error, ErrorKind, Guarantees, Pushed, QueueKind, Result, Settled, When,
};
use redis::cmd;

use super::{
    declared,
    lists::{self, Places, popped},
    pops::{BlockingPop, Pops},
    published::{Opened, Place, Recipe},
    server::{Key, Server, id_of},
    strategy::{Entry, Strategy, Taken},
};

/// The end of the name of the list of dead letters.
const DEAD: &str = "dead";

/// A list for each priority, popped from the most urgent down.
///
/// | key | holds |
/// | --- | --- |
/// | `{name}:high`, `{name}:normal`, `{name}:low` | lists of the bodies of priority 10, 0 and −10, the oldest last |
/// | `{name}:dead` | a list of buried bodies; ours, not published |
///
/// It is good for a few levels of work that may be lost. A message is gone from the server as soon as
/// it is handed out (L5, L8); a retry goes to the tail of its level at once (L11); less urgent
/// messages may starve. Another priority than those of the levels is `Invalid`. `LMPOP` takes from
/// the first list that has something; on a server without it (before 7.0), `RPOP` asks each level in
/// turn, so that a message may be overtaken by one that came in between (P1).
#[derive(Debug, Clone)]
pub struct PriorityLists {
    levels: Vec<(i16, String)>,
    timeout: Duration,
}

impl Default for PriorityLists {
    fn default() -> Self {
        let levels = [(10, "high"), (0, "normal"), (-10, "low")];
        Self {
            levels: levels
                .map(|(priority, name)| (priority, name.to_owned()))
                .into(),
            timeout: Duration::from_secs(5),
        }
    }
}

impl PriorityLists {
    /// Other levels: each a priority, and the end of its list's name.
    #[must_use]
    pub fn levels(mut self, levels: impl IntoIterator<Item = (i16, impl Into<String>)>) -> Self {
        let levels = levels
            .into_iter()
            .map(|(priority, name)| (priority, name.into()));
        self.levels = levels.collect();
        self.levels
            .sort_by_key(|(priority, _)| std::cmp::Reverse(*priority));
        self
    }

    /// How long the server blocks a pop. 5 s by default.
    #[must_use]
    pub const fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }
}

impl Recipe for PriorityLists {
    fn guarantees(&self) -> Guarantees {
        let mut guarantees = declared::at_most_once("priority-lists", QueueKind::Priority)
            .weaker("L11", When::Alone, "a retry has no delay")
            .weaker(
                "P1",
                When::Alone,
                "a client that blocks is served while a MULTI still pushes",
            )
            .weaker(
                "P2",
                When::Alone,
                "what a blocked pop got waits for the handle's next take",
            )
            .weaker(
                "P3",
                When::Alone,
                "what a blocked pop got waits for the handle's next take",
            )
            .weaker("P4", When::Absent, "it has no ageing");
        guarantees.priorities = self.levels.iter().map(|(priority, _)| *priority).collect();
        guarantees
    }

    fn open<'a>(&'a self, place: Place<'a>) -> Opened<'a> {
        if let Err(error) = check(&self.levels) {
            return place.refuse(error);
        }
        let name = place.key(None);
        let levels = self.levels.iter();
        let levels = levels.map(|(priority, level)| (*priority, format!("{name}:{level}")));
        let levels: Vec<(i16, String)> = levels.collect();
        let mut command = cmd("BRPOP");
        command.arg(levels.iter().map(|(_, list)| list).collect::<Vec<_>>());
        let pop = BlockingPop {
            command,
            longest: self.timeout,
            read: popped,
        };
        place.shell(self.guarantees(), move |server| Lists {
            levels,
            dead: format!("{name}:{DEAD}"),
            pops: Pops::new(server, pop),
        })
    }
}

/// A message belongs to one list, which belongs to one level.
fn check(levels: &[(i16, String)]) -> Result<()> {
    if levels.is_empty() {
        return Err(Error::invalid("priority lists of no level: at least one"));
    }
    for (nth, (priority, name)) in levels.iter().enumerate() {
        let before = &levels[..nth];
        let taken = |(other, list): &(i16, String)| other == priority || list == name;
        if name == DEAD || before.iter().any(taken) {
            return Err(Error::invalid(format!(
                "the level {name} of priority {priority}: its name or its priority is another \
                 level's, or the name is that of the dead letters"
            )));
        }
    }
    Ok(())
}

#[derive(Debug)]
struct Lists {
    levels: Vec<(i16, String)>,
    dead: String,
    /// With the list of each body.
    pops: Pops<(String, Bytes)>,
}

#[async_trait]
impl Strategy for Lists {
    type Held = (String, Bytes);

    fn keys(&self) -> Vec<Key> {
        let lists = self.levels.iter().map(|(_, list)| list);
        lists.chain([&self.dead]).map(Key::list).collect()
    }

    fn dead(&self) -> Option<&str> {
        Some(&self.dead)
    }

    async fn put(&self, server: &Server, entries: &[Entry<'_>]) -> Result<Vec<Pushed>> {
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
        server: &Server,
        max: usize,
        _: Duration,
    ) -> Result<Vec<Taken<Self::Held>>> {
        let lists: Vec<String> = self.levels.iter().map(|(_, list)| list.clone()).collect();
        let pop = pop(server.clone(), lists, max);
        let bodies = self.pops.take(max, pop).await?;
        Ok(bodies.into_iter().map(taken).collect())
    }

    async fn end(
        &self,
        server: &Server,
        (list, body): &(String, Bytes),
        how: &Disposition,
    ) -> Result<Settled> {
        let places = Places {
            queue: list.clone(),
            dead: self.dead.clone(),
        };
        places.end(server, body, how).await
    }

    async fn wait(&self, _: &Server, timeout: Duration) -> Result<()> {
        self.pops.wait(timeout).await
    }

    async fn depth(&self, server: &Server) -> Result<Depth> {
        let levels = self.levels.iter().map(|(_, list)| list);
        let lengths = lists::lengths(server, levels).await?;
        Ok(Depth {
            ready: lengths.into_iter().sum(),
            ..Depth::default()
        })
    }
}

/// Takes from the most urgent list that has something, then from the next, up to `max`.
async fn pop(server: Server, lists: Vec<String>, max: usize) -> Result<Vec<(String, Bytes)>> {
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
            // Redis 6.2 has no such command.
            Err(error) if popped.is_empty() && error.kind() == ErrorKind::Configuration => {
                return pop_in_turn(server, lists, max).await;
            }
            Err(error) => return keep(popped, error),
        }
    }
    Ok(popped)
}

/// What was popped must reach its caller; the error comes again.
fn keep(popped: Vec<(String, Bytes)>, error: Error) -> Result<Vec<(String, Bytes)>> {
    match popped.is_empty() {
        true => Err(error),
        false => Ok(popped),
    }
}

async fn pop_in_turn(
    server: Server,
    lists: Vec<String>,
    max: usize,
) -> Result<Vec<(String, Bytes)>> {
    let mut popped = Vec::new();
    for list in lists {
        let mut pop = cmd("RPOP");
        pop.arg(&list).arg(max - popped.len());
        let bodies: Option<Vec<Bytes>> = match server.ask(&pop).await {
            Ok(bodies) => bodies,
            Err(error) => return keep(popped, error),
        };
        let bodies = bodies.unwrap_or_default();
        popped.extend(bodies.into_iter().map(|body| (list.clone(), body)));
        if popped.len() >= max {
            break;
        }
    }
    Ok(popped)
}

fn taken((list, body): (String, Bytes)) -> Taken<(String, Bytes)> {
    Taken {
        id: id_of(&body),
        attempt: 1,
        held: (list, body.clone()),
        body,
    }
}
