//! Who listens to which channel, all on one socket of their own.

use std::{collections::BTreeMap, io, path::Path};

use bytes::Bytes;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use super::{resp, socket::Socket};

/// A virtual connection's number.
pub(super) type ConnectionId = i64;

/// A channel of the wire's own. What is said there last is heard last.
const LAST: &str = "the last of all";

/// The socket of those who listen.
#[derive(Default)]
pub(super) struct Listeners {
    socket: Option<Socket>,
    channels: BTreeMap<Bytes, BTreeMap<ConnectionId, UnboundedSender<Vec<u8>>>>,
}

impl Listeners {
    /// Has a connection listen to a channel: the server's confirmation comes first.
    pub(super) fn listen(
        &mut self,
        connection: ConnectionId,
        channel: &Bytes,
        server: &Path,
    ) -> io::Result<UnboundedReceiver<Vec<u8>>> {
        let socket = match &mut self.socket {
            Some(socket) => socket,
            none => {
                let mut socket = Socket::connect(server)?;
                socket.ask(&["SUBSCRIBE", LAST])?;
                none.insert(socket)
            }
        };
        // Who listens already is confirmed again.
        let confirmed = socket.ask(&[b"SUBSCRIBE", &channel[..]])?;
        let (said, heard) = unbounded_channel();
        // The receiver is right here.
        let _ = said.send(confirmed);
        let listeners = self.channels.entry(channel.clone()).or_default();
        listeners.insert(connection, said);
        Ok(heard)
    }

    /// A connection listens no more.
    pub(super) fn leave(&mut self, connection: ConnectionId) -> io::Result<()> {
        let mut left = Vec::new();
        self.channels.retain(|channel, listeners| {
            let was_last = listeners.remove(&connection).is_some() && listeners.is_empty();
            if was_last {
                left.push(channel.clone());
            }
            !was_last
        });
        if let (Some(socket), false) = (&mut self.socket, left.is_empty()) {
            for channel in left {
                socket.ask(&[b"UNSUBSCRIBE", &channel[..]])?;
            }
        }
        Ok(())
    }

    /// Nobody listens any more.
    pub(super) fn clear(&mut self) -> io::Result<()> {
        let channels = std::mem::take(&mut self.channels);
        if let Some(socket) = &mut self.socket {
            for channel in channels.keys() {
                socket.ask(&[b"UNSUBSCRIBE", &channel[..]])?;
            }
        }
        Ok(())
    }

    /// Says the last word after some commands, if anybody listens; answers whether it is said.
    ///
    /// When the server sends what it says to those who listen, before or after its other replies, is
    /// its own affair, but not in which order: who has heard the last word has heard all.
    pub(super) fn say_last(&self, out: &mut Vec<u8>) -> bool {
        if self.channels.is_empty() {
            return false;
        }
        resp::encode(&["PUBLISH", LAST, ""], out);
        true
    }

    /// Hands out what was said before the last word.
    pub(super) fn hand_out(&mut self) -> io::Result<()> {
        let Some(socket) = &mut self.socket else {
            return Ok(());
        };
        loop {
            let push = Bytes::from(socket.receive()?);
            let words = resp::words(&push).unwrap_or_default();
            let [_, channel, _] = &words[..] else {
                return Err(io::Error::new(io::ErrorKind::InvalidData, "not a message"));
            };
            if channel == LAST {
                return Ok(());
            }
            for listener in self
                .channels
                .get(channel)
                .into_iter()
                .flat_map(BTreeMap::values)
            {
                // Nobody is there to hear it if its client is gone.
                let _ = listener.send(push.to_vec());
            }
        }
    }
}
