//! What blocks on the server, each on a socket of its own.

use std::{collections::BTreeMap, io, path::Path};

use tokio::sync::oneshot;

use super::{machine::ConnectionId, resp, socket::Socket};

/// The sockets for what blocks.
#[derive(Default)]
pub(super) struct Blocked {
    waiting: BTreeMap<ConnectionId, Waiting>,
    /// About to be unblocked; nobody waits for their replies.
    leaving: Vec<Blocking>,
    idle: Vec<Blocking>,
}

/// A socket for a command that blocks.
struct Blocking {
    socket: Socket,
    /// The server's number for it.
    id: Vec<u8>,
}

struct Waiting {
    blocking: Blocking,
    reply: oneshot::Sender<Vec<u8>>,
}

impl Blocked {
    /// Has the server block on this request, which has no timeout; the reply comes as soon as
    /// there is one. It may be there already.
    pub(super) fn block(
        &mut self,
        connection: ConnectionId,
        request: &[u8],
        server: &Path,
    ) -> io::Result<oneshot::Receiver<Vec<u8>>> {
        let mut blocking = match self.idle.pop() {
            Some(blocking) => blocking,
            None => Blocking::connect(server)?,
        };
        // Both in one piece: the answer to the first is sent when the second has been begun, and
        // with the reply to it if there is one at once.
        let mut requests = Vec::with_capacity(request.len() + 16);
        resp::encode(&["PING"], &mut requests);
        requests.extend_from_slice(request);
        blocking.socket.send(&requests)?;
        blocking.socket.receive()?;
        let (reply, received) = oneshot::channel();
        if let Some(at_once) = blocking.socket.receive_now()? {
            // It is received further down.
            let _ = reply.send(at_once);
            self.idle.push(blocking);
        } else {
            self.waiting.insert(connection, Waiting { blocking, reply });
        }
        Ok(received)
    }

    /// The server's number for the socket on which this connection is blocked, if it is.
    pub(super) fn id(&self, connection: ConnectionId) -> Option<&[u8]> {
        Some(&self.waiting.get(&connection)?.blocking.id)
    }

    /// Whoever is blocked.
    pub(super) fn connections(&self) -> Vec<ConnectionId> {
        self.waiting.keys().copied().collect()
    }

    /// Nobody waits for the connection's reply any more. The server's number for its socket, if it
    /// was blocked: it is to be unblocked before the next [`collect`](Self::collect).
    pub(super) fn leave(&mut self, connection: ConnectionId) -> Option<&[u8]> {
        let left = self.waiting.remove(&connection)?;
        self.leaving.push(left.blocking);
        self.leaving.last().map(|blocking| &*blocking.id)
    }

    /// Asks the server who is still blocked, if anybody was; answers whether it is asked.
    ///
    /// Before it looks at the next command, also one that came in the same piece, the server has
    /// served whomever the last one woke. When it sends what it serves them, before or after its
    /// other replies, is its own affair; so sockets are read when it says that there is something
    /// to come, and not when there happens to be something.
    pub(super) fn ask(&self, out: &mut Vec<u8>) -> bool {
        if self.waiting.is_empty() {
            return false;
        }
        let mut words: Vec<&[u8]> = vec![b"CLIENT", b"LIST", b"ID"];
        words.extend(self.waiting.values().map(|waiting| &*waiting.blocking.id));
        resp::encode(&words, out);
        true
    }

    /// Passes on the replies of what is not blocked any more, by the server's answer to
    /// [`ask`](Self::ask) if it was asked.
    pub(super) fn collect(&mut self, answer: Option<&[u8]>) -> io::Result<()> {
        for mut left in self.leaving.drain(..) {
            left.socket.receive()?;
            self.idle.push(left);
        }
        let Some(answer) = answer else {
            return Ok(());
        };
        let clients = String::from_utf8_lossy(answer);
        let still: Vec<&str> = clients.lines().filter_map(blocked_client).collect();
        let is_still = |id: &[u8]| still.iter().any(|blocked| blocked.as_bytes() == id);
        let woken = self.waiting.iter();
        let woken = woken.filter(|(_, waiting)| !is_still(&waiting.blocking.id));
        let woken: Vec<ConnectionId> = woken.map(|(connection, _)| *connection).collect();
        for connection in woken {
            let Some(mut woken) = self.waiting.remove(&connection) else {
                continue;
            };
            let reply = woken.blocking.socket.receive()?;
            self.idle.push(woken.blocking);
            // Nobody is there to receive it if its client is gone.
            let _ = woken.reply.send(reply);
        }
        Ok(())
    }
}

impl Blocking {
    fn connect(server: &Path) -> io::Result<Self> {
        let mut socket = Socket::connect(server)?;
        let reply = socket.ask(&["CLIENT", "ID"])?;
        let id = reply[1..reply.len() - 2].to_vec();
        Ok(Self { socket, id })
    }
}

/// The number of the client that a line of `CLIENT LIST` is about, if that is blocked.
fn blocked_client(line: &str) -> Option<&str> {
    // The first line begins with what sort of text it is.
    let fields = line.strip_prefix("txt:").unwrap_or(line);
    let field = |name| fields.split(' ').find_map(|field| field.strip_prefix(name));
    let flags: &str = field("flags=")?;
    flags.contains('b').then(|| field("id="))?
}

#[cfg(test)]
mod tests {
    use super::blocked_client;

    #[test]
    fn a_client_is_blocked_by_its_flags() {
        let line = |flags| format!("txt:id=12 addr=/tmp/redis.sock:0 name=b flags={flags} db=0");
        assert_eq!(blocked_client(&line("bU")), Some("12"));
        assert_eq!(blocked_client(&line("U")[4..]), None);
        assert_eq!(blocked_client("=61"), None);
    }
}
