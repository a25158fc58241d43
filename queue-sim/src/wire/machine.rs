//! The real server of an environment, one blocking round trip at a time.

use std::{collections::BTreeMap, io};

use bytes::Bytes;
use real_redis::Server;
use tokio::sync::mpsc::UnboundedReceiver;

use super::{
    listeners::{ConnectionId, Listeners},
    resp::{self, accepted},
    scripts::{Replace, Scripts},
    socket::Socket,
};

/// Copies all keys to the other database, in place of what is there.
const SNAPSHOT: &str = "redis.call('SELECT', '1') redis.call('FLUSHDB') redis.call('SELECT', '0') \
    for _, key in ipairs(redis.call('KEYS', '*')) do redis.call('COPY', key, key, 'DB', '1') end";

/// The server and the sockets to it.
///
/// Every command of every virtual connection goes over one socket: nothing that queue-redis sends
/// leaves a state behind on its connection, and what would is refused. Only those who listen have a
/// socket of their own.
pub(super) struct Machine {
    server: Server,
    commands: Socket,
    ahead: Ahead,
    listeners: Listeners,
    scripts: Scripts,
    known: BTreeMap<Bytes, Vec<u8>>,
    counts: Counts,
}

/// Commands whose replies nobody waits for. They go in one piece with the next that somebody does
/// wait for, and are executed right before it.
#[derive(Default)]
struct Ahead {
    requests: Vec<u8>,
    count: usize,
}

impl Ahead {
    fn add<W: AsRef<[u8]>>(&mut self, words: &[W]) {
        resp::encode(words, &mut self.requests);
        self.count += 1;
    }
}

/// How much an environment has asked of its server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counts {
    /// Runs that were begun.
    pub runs: u64,
    /// Commands that the server executed, those of the wire itself included.
    pub commands: u64,
    /// How often the wire waited for the server.
    pub round_trips: u64,
}

impl Machine {
    /// Connects to the server, and gives it the scripts.
    pub(super) fn new(server: Server, replace: Option<&Replace>) -> io::Result<Self> {
        let mut commands = connect(&server)?;
        let scripts = Scripts::load(&mut commands, replace)?;
        Ok(Self {
            server,
            commands,
            ahead: Ahead::default(),
            listeners: Listeners::default(),
            scripts,
            known: BTreeMap::new(),
            counts: Counts::default(),
        })
    }

    pub(super) const fn counts(&self) -> Counts {
        self.counts
    }

    pub(super) const fn scripts(&mut self) -> &mut Scripts {
        &mut self.scripts
    }

    /// Empties the server for a new run: nobody listens, no key is there, and every script is.
    pub(super) fn reset(&mut self) -> io::Result<()> {
        self.counts.runs += 1;
        self.ahead.add(&["FLUSHALL", "SYNC"]);
        self.scripts.renew();
        self.listeners.clear()
    }

    /// Executes requests, one right after another, and lets those who listen hear what they say.
    pub(super) fn execute(&mut self, requests: &[u8], count: usize) -> io::Result<Vec<Vec<u8>>> {
        let Ahead {
            requests: mut all,
            count: ahead,
        } = std::mem::take(&mut self.ahead);
        all.extend_from_slice(requests);
        let said = self.listeners.say_last(&mut all);
        self.commands.send(&all)?;
        self.counts.round_trips += 1;
        self.counts.commands += (ahead + count + usize::from(said)) as u64;
        // All are received before any is looked at: an error leaves nothing behind.
        let mut receive = |count| {
            let replies = (0..count).map(|_| self.commands.receive());
            replies.collect::<io::Result<Vec<_>>>()
        };
        let (before, replies) = (receive(ahead)?, receive(count)?);
        if said {
            self.commands.receive()?;
            self.listeners.hand_out()?;
        }
        before.iter().try_for_each(|reply| accepted(reply))?;
        Ok(replies)
    }

    /// Has the server execute what is ahead, if anything is.
    fn catch_up(&mut self) -> io::Result<()> {
        if self.ahead.count == 0 {
            return Ok(());
        }
        self.execute(&[], 0).map(drop)
    }

    /// Makes sure that the server has this script when it is called next, if it should.
    pub(super) fn settle(&mut self, script: usize) {
        if let Some(text) = self.scripts.settle(script) {
            self.ahead.add(&["SCRIPT", "LOAD", text]);
        }
    }

    /// Answers what never changes as the server answered it the first time: `INFO` as far as a
    /// client looks at it, the settings, and how a connection begins.
    pub(super) fn known(&mut self, request: &Bytes) -> io::Result<Vec<u8>> {
        if let Some(reply) = self.known.get(request) {
            return Ok(reply.clone());
        }
        let reply = self.execute(request, 1)?.remove(0);
        self.known.insert(request.clone(), reply.clone());
        Ok(reply)
    }

    /// Has a connection listen to a channel: the server's confirmation comes first.
    pub(super) fn listen(
        &mut self,
        connection: ConnectionId,
        channel: &Bytes,
    ) -> io::Result<UnboundedReceiver<Vec<u8>>> {
        self.catch_up()?;
        self.counts.commands += 1;
        self.counts.round_trips += 1;
        let path = self.server.socket();
        self.listeners.listen(connection, channel, &path)
    }

    /// The connection listens no more.
    pub(super) fn leave(&mut self, connection: ConnectionId) -> io::Result<()> {
        self.listeners.leave(connection)
    }

    /// What the keys hold that nothing explains, a line for each.
    pub(super) fn leftovers(&mut self) -> io::Result<Vec<String>> {
        let mut request = Vec::new();
        resp::encode(&["EVAL", queue_redis::LEFTOVERS, "0", "qk"], &mut request);
        let reply = self.execute(&request, 1)?.remove(0);
        accepted(&reply)?;
        let lines = redis::parse_redis_value(&reply).map_err(io::Error::other)?;
        redis::from_redis_value(lines).map_err(io::Error::other)
    }

    /// Remembers all data.
    pub(super) fn snapshot(&mut self) {
        self.ahead.add(&["EVAL", SNAPSHOT, "0"]);
    }

    /// Puts the data back that were remembered.
    pub(super) fn roll_back(&mut self) {
        self.ahead.add(&["SWAPDB", "0", "1"]);
    }

    /// Kills the server and starts it again from its append-only file. Connections do not survive.
    pub(super) fn restart(&mut self) -> io::Result<()> {
        self.catch_up()?;
        self.listeners = Listeners::default();
        self.server.kill().map_err(io::Error::other)?;
        self.server.start_again().map_err(io::Error::other)?;
        self.commands = connect(&self.server)?;
        self.scripts.lost();
        Ok(())
    }
}

/// Connects for commands, to a server that is not to measure how long each takes.
fn connect(server: &Server) -> io::Result<Socket> {
    let mut socket = Socket::connect(&server.socket())?;
    // Before 7.0 servers do not know this, nor measure it.
    socket.ask(&["CONFIG", "SET", "latency-tracking", "no"])?;
    Ok(socket)
}
