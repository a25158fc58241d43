//! The real server of a ground, one blocking round trip at a time.

use std::{
    collections::BTreeMap,
    io::{self, ErrorKind},
};

use bytes::Bytes;
use tokio::sync::oneshot;

use super::{
    resp,
    scripts::{Replace, Scripts},
    socket::Socket,
};
use crate::redis::Server;

/// A virtual connection's number: what its client knows as its `CLIENT ID`.
pub(super) type ConnectionId = i64;

/// Copies all keys to the other database, in place of what is there.
const SNAPSHOT: &str = "redis.call('SELECT', '1') redis.call('FLUSHDB') redis.call('SELECT', '0') \
    for _, key in ipairs(redis.call('KEYS', '*')) do redis.call('COPY', key, key, 'DB', '1') end";

/// The server and the sockets to it.
///
/// Every command of every virtual connection goes over one socket: nothing that queue-redis sends
/// leaves a state behind on its connection, and what would is refused. Only what blocks has a
/// socket of its own, so that the server itself decides who is woken.
pub(super) struct Machine {
    server: Server,
    commands: Socket,
    idle: Vec<Blocking>,
    blocked: BTreeMap<ConnectionId, Blocked>,
    scripts: Scripts,
    known: BTreeMap<Bytes, Vec<u8>>,
    counts: Counts,
}

/// How much a ground has asked of its server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counts {
    /// Runs that were begun.
    pub runs: u64,
    /// Commands that the server executed, those of the wire itself included.
    pub commands: u64,
    /// How often the wire waited for the server.
    pub round_trips: u64,
}

/// A socket for a command that blocks.
struct Blocking {
    socket: Socket,
    /// The server's number for it.
    id: Vec<u8>,
}

struct Blocked {
    blocking: Blocking,
    reply: oneshot::Sender<Vec<u8>>,
}

impl Machine {
    /// Connects to the server, and gives it the scripts.
    pub(super) fn new(server: Server, replace: Option<&Replace>) -> io::Result<Self> {
        let mut commands = Socket::connect(&server.socket())?;
        let scripts = Scripts::load(&mut commands, replace)?;
        Ok(Self {
            server,
            commands,
            idle: Vec::new(),
            blocked: BTreeMap::new(),
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

    /// Empties the server for a new run: nothing is blocked, no key is there, and every script is.
    pub(super) fn reset(&mut self) -> io::Result<()> {
        self.counts.runs += 1;
        self.unblock_all()?;
        self.run(&["FLUSHALL", "SYNC"])?;
        self.scripts.owe_all();
        Ok(())
    }

    /// Executes requests, one right after another, and lets whomever they wake have their replies.
    pub(super) fn execute(&mut self, requests: &[u8], count: usize) -> io::Result<Vec<Vec<u8>>> {
        self.commands.send(requests)?;
        self.counts.round_trips += 1;
        self.counts.commands += count as u64;
        let replies = (0..count).map(|_| self.commands.receive()).collect();
        self.collect()?;
        replies
    }

    /// Executes one command of the wire's own.
    pub(super) fn run<W: AsRef<[u8]>>(&mut self, words: &[W]) -> io::Result<Vec<u8>> {
        let mut request = Vec::new();
        resp::encode(words, &mut request);
        let reply = self.execute(&request, 1)?.remove(0);
        if reply.first() == Some(&b'-') {
            let reply = String::from_utf8_lossy(&reply).into_owned();
            return Err(io::Error::new(ErrorKind::InvalidData, reply));
        }
        Ok(reply)
    }

    /// Makes sure that the server has this script if it should.
    pub(super) fn settle(&mut self, script: usize) -> io::Result<()> {
        self.scripts.settle(script, &mut self.commands)
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

    /// Has the server block on this request, which has no timeout; the reply comes as soon as
    /// there is one. It may be there already.
    pub(super) fn block(
        &mut self,
        connection: ConnectionId,
        request: &[u8],
    ) -> io::Result<oneshot::Receiver<Vec<u8>>> {
        let mut blocking = match self.idle.pop() {
            Some(blocking) => blocking,
            None => self.another()?,
        };
        // Both in one piece: the answer to the first is sent when the second has been begun, and
        // with the reply to it if there is one at once.
        let mut requests = Vec::with_capacity(request.len() + 16);
        resp::encode(&["PING"], &mut requests);
        requests.extend_from_slice(request);
        blocking.socket.send(&requests)?;
        blocking.socket.receive()?;
        self.counts.commands += 2;
        self.counts.round_trips += 1;
        let (reply, received) = oneshot::channel();
        if let Some(at_once) = blocking.socket.receive_now()? {
            // It is received further down.
            let _ = reply.send(at_once);
            self.idle.push(blocking);
        } else {
            self.blocked.insert(connection, Blocked { blocking, reply });
        }
        Ok(received)
    }

    /// Ends what the connection is blocked in, with nothing; answers whether it was.
    pub(super) fn unblock(&mut self, connection: ConnectionId) -> io::Result<bool> {
        let Some(blocked) = self.blocked.get(&connection) else {
            return Ok(false);
        };
        let id = blocked.blocking.id.clone();
        self.run(&[&b"CLIENT"[..], b"UNBLOCK", &id])?;
        Ok(true)
    }

    /// Ends everything that is blocked, and nobody is told.
    pub(super) fn unblock_all(&mut self) -> io::Result<()> {
        let blocked: Vec<ConnectionId> = self.blocked.keys().copied().collect();
        for connection in blocked {
            if let Some(blocked) = self.blocked.get_mut(&connection) {
                blocked.reply = oneshot::channel().0;
            }
            self.unblock(connection)?;
        }
        Ok(())
    }

    /// Has the server forget its scripts.
    pub(super) fn flush_scripts(&mut self) -> io::Result<()> {
        self.run(&["SCRIPT", "FLUSH", "SYNC"])?;
        self.scripts.lost();
        Ok(())
    }

    /// Remembers all data.
    pub(super) fn snapshot(&mut self) -> io::Result<()> {
        self.run(&["EVAL", SNAPSHOT, "0"]).map(drop)
    }

    /// Puts the data back that were remembered. Whatever was blocked is not any more.
    pub(super) fn roll_back(&mut self) -> io::Result<()> {
        self.unblock_all()?;
        self.run(&["SWAPDB", "0", "1"]).map(drop)
    }

    /// Kills the server and starts it again from its append-only file. Connections do not survive.
    pub(super) fn restart(&mut self) -> io::Result<()> {
        self.blocked.clear();
        self.idle.clear();
        self.server.kill().map_err(io::Error::other)?;
        self.server.start_again().map_err(io::Error::other)?;
        self.commands = Socket::connect(&self.server.socket())?;
        self.scripts.lost();
        Ok(())
    }

    fn another(&mut self) -> io::Result<Blocking> {
        let mut socket = Socket::connect(&self.server.socket())?;
        let reply = socket.ask(&["CLIENT", "ID"])?;
        let id = reply[1..reply.len() - 2].to_vec();
        Ok(Blocking { socket, id })
    }

    /// Passes on the replies of what is not blocked any more.
    ///
    /// Before the server looks at the next command it has sent all that the last one led to, also
    /// to other connections: so when the barrier is answered, whatever was woken can be read.
    fn collect(&mut self) -> io::Result<()> {
        if self.blocked.is_empty() {
            return Ok(());
        }
        self.counts.round_trips += 1;
        self.counts.commands += 1;
        self.commands.ask(&["PING"])?;
        let mut woken = Vec::new();
        for (connection, blocked) in &mut self.blocked {
            if let Some(reply) = blocked.blocking.socket.receive_now()? {
                woken.push((*connection, reply));
            }
        }
        for (connection, reply) in woken {
            if let Some(blocked) = self.blocked.remove(&connection) {
                self.idle.push(blocked.blocking);
                // Nobody is there to receive it if its client is gone.
                let _ = blocked.reply.send(reply);
            }
        }
        Ok(())
    }
}
