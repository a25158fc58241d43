//! The real server of an environment, one blocking round trip at a time.

use std::{collections::BTreeMap, io, sync::LazyLock};

use bytes::Bytes;
use real_redis::Server;
use tokio::sync::mpsc::UnboundedReceiver;

use super::{
    listeners::{ConnectionId, Listeners},
    resp::{self, accepted},
    scripts::{self, Replace, Scripts},
    socket::Socket,
};

/// Copies all keys to the other database, and replaces what it holds.
const SNAPSHOT: &str = "redis.call('SELECT', '1') redis.call('FLUSHDB') redis.call('SELECT', '0') \
    for _, key in ipairs(redis.call('KEYS', '*')) do redis.call('COPY', key, key, 'DB', '1') end";

static LEAKS_HASH: LazyLock<String> = LazyLock::new(|| scripts::hash(queue_redis::leak_finder()));

/// The server and the sockets to it.
///
/// All commands of all virtual connections share one socket: queue-redis sends no command that leaves a state behind on
/// its connection, and the wire refuses such commands. Only listeners have their own socket.
pub(super) struct ServerConnection {
    server: Server,
    commands: Socket,
    ahead: Ahead,
    listeners: Listeners,
    scripts: Scripts,
    known: BTreeMap<Bytes, Vec<u8>>,
    counts: WireCounts,
}

/// Commands whose replies no caller waits for. They travel in one piece with the next command whose
/// caller does wait, and the server executes them right before it.
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

/// The environment's requests to its server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct WireCounts {
    /// Runs that began.
    pub runs: u64,
    /// Commands that the server executed, including the wire's own.
    pub commands: u64,
    /// Times that the wire waited for the server.
    pub round_trips: u64,
}

impl ServerConnection {
    /// Connects to the server.
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
            counts: WireCounts::default(),
        })
    }

    pub(super) const fn counts(&self) -> WireCounts {
        self.counts
    }

    pub(super) const fn scripts(&mut self) -> &mut Scripts {
        &mut self.scripts
    }

    /// Empties the server for a new run: no connection listens, no key exists, and every script
    /// does.
    pub(super) fn reset(&mut self) -> io::Result<()> {
        self.counts.runs += 1;
        self.ahead.add(&["FLUSHALL", "SYNC"]);
        self.scripts.renew();
        self.listeners.clear()
    }

    /// Executes requests, one right after another, and hands listeners their messages.
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
        // Receives all replies before it checks any, so that an error leaves none behind.
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

    /// Has the server execute the commands ahead, if there are any.
    fn catch_up(&mut self) -> io::Result<()> {
        if self.ahead.count == 0 {
            return Ok(());
        }
        self.execute(&[], 0).map(drop)
    }

    /// Makes sure that the server has this script at its next call.
    pub(super) fn load(&mut self, script: usize) {
        if let Some(text) = self.scripts.missing(script) {
            self.ahead.add(&["SCRIPT", "LOAD", text]);
        }
    }

    /// Repeats the server's first reply to constant requests: the fields of `INFO` that a client reads, the settings,
    /// and the beginning of a connection.
    pub(super) fn known(&mut self, request: &Bytes) -> io::Result<Vec<u8>> {
        if let Some(reply) = self.known.get(request) {
            return Ok(reply.clone());
        }
        let reply = self.execute(request, 1)?.remove(0);
        self.known.insert(request.clone(), reply.clone());
        Ok(reply)
    }

    /// Makes a connection listen to a channel. The server's confirmation comes first.
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

    /// The connections that listen.
    pub(super) const fn listeners(&mut self) -> &mut Listeners {
        &mut self.listeners
    }

    /// Ends a connection's listening.
    pub(super) fn leave(&mut self, connection: ConnectionId) -> io::Result<()> {
        self.listeners.leave(connection)
    }

    /// The data in the keys that nothing explains, a line for each.
    pub(super) fn leaks(&mut self) -> io::Result<Vec<String>> {
        let mut ask = |verb, script| {
            let mut request = Vec::new();
            resp::encode(&[verb, script, "0", "qk"], &mut request);
            Ok::<_, io::Error>(self.execute(&request, 1)?.remove(0))
        };
        let mut reply = ask("EVALSHA", &LEAKS_HASH)?;
        if reply.starts_with(b"-NOSCRIPT") {
            reply = ask("EVAL", queue_redis::leak_finder())?;
        }
        accepted(&reply)?;
        let lines = redis::parse_redis_value(&reply).map_err(io::Error::other)?;
        redis::from_redis_value(lines).map_err(io::Error::other)
    }

    /// Keeps a copy of all data.
    pub(super) fn snapshot(&mut self) {
        self.ahead.add(&["EVAL", SNAPSHOT, "0"]);
    }

    /// Puts the copy back.
    pub(super) fn roll_back(&mut self) {
        self.ahead.add(&["SWAPDB", "0", "1"]);
    }

    /// Kills the server and starts it again from its append-only file. Connections do not survive.
    pub(super) fn restart(&mut self) -> io::Result<()> {
        self.catch_up()?;
        self.listeners.lost();
        self.server.kill().map_err(io::Error::other)?;
        self.server.start_again().map_err(io::Error::other)?;
        self.commands = connect(&self.server)?;
        self.scripts.lost();
        Ok(())
    }
}

/// Connects for commands, and has the server not measure their latency.
fn connect(server: &Server) -> io::Result<Socket> {
    let mut socket = Socket::connect(&server.socket())?;
    // Servers before 7.0 neither know this nor measure latency.
    socket.ask(&["CONFIG", "SET", "latency-tracking", "no"])?;
    Ok(socket)
}
