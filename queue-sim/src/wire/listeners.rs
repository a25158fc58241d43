//! The connections that listen to channels. All share one socket of their own.

use std::{collections::BTreeMap, io, path::Path};

use bytes::Bytes;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use super::{resp, socket::Socket};
use crate::history::CallId;

/// A virtual connection's number.
pub(super) type ConnectionId = i64;

/// The wire's own channel. The server sends its message after all others.
const LAST: &str = "the last of all";

/// The socket of all listening connections.
#[derive(Default)]
pub(super) struct Listeners {
    socket: Option<Socket>,
    channels: BTreeMap<Bytes, BTreeMap<ConnectionId, UnboundedSender<Vec<u8>>>>,
    handed_over: Vec<CallId>,
}

/// The waiting call that a published message was leased to, if it is one. A waiting call's tag, in place of a
/// time, stands among the terms that it registered, and is published as the fourth word behind `lease`.
fn handed_over(message: &[u8]) -> Option<CallId> {
    let terms = message.strip_prefix(b"lease ")?;
    let tag = terms.splitn(5, |byte| *byte == b' ').nth(3)?;
    let tag = resp::number(tag)?.unsigned_abs();
    (tag > 0).then_some(CallId(tag))
}

impl Listeners {
    /// Makes a connection listen to a channel. The server's confirmation comes first.
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
        // A connection that listens already gets another confirmation.
        let confirmed = socket.ask(&[b"SUBSCRIBE", &channel[..]])?;
        let (said, heard) = unbounded_channel();
        // The caller holds the receiver.
        let _ = said.send(confirmed);
        let listeners = self.channels.entry(channel.clone()).or_default();
        listeners.insert(connection, said);
        Ok(heard)
    }

    /// Ends a connection's listening.
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

    /// Ends all listening.
    pub(super) fn clear(&mut self) -> io::Result<()> {
        let channels = std::mem::take(&mut self.channels);
        if let Some(socket) = &mut self.socket {
            for channel in channels.keys() {
                socket.ask(&[b"UNSUBSCRIBE", &channel[..]])?;
            }
        }
        Ok(())
    }

    /// Adds the last message after some commands, if any connection listens. Answers whether it
    /// did.
    ///
    /// The server may send its messages to listeners before or after its other replies, but always
    /// in order. So a socket that has received the last message has received all.
    pub(super) fn say_last(&self, out: &mut Vec<u8>) -> bool {
        if self.channels.is_empty() {
            return false;
        }
        resp::encode(&["PUBLISH", LAST, ""], out);
        true
    }

    /// The calls that were handed a message since this was last asked.
    pub(super) fn take_handed_over(&mut self) -> Vec<CallId> {
        std::mem::take(&mut self.handed_over)
    }

    /// Hands out the messages before the last one.
    pub(super) fn hand_out(&mut self) -> io::Result<()> {
        let Some(socket) = &mut self.socket else {
            return Ok(());
        };
        loop {
            let push = Bytes::from(socket.receive()?);
            let words = resp::words(&push).unwrap_or_default();
            let [_, channel, message] = &words[..] else {
                return Err(io::Error::new(io::ErrorKind::InvalidData, "not a message"));
            };
            if channel == LAST {
                return Ok(());
            }
            self.handed_over.extend(handed_over(message));
            for listener in self
                .channels
                .get(channel)
                .into_iter()
                .flat_map(BTreeMap::values)
            {
                // If the client is gone, nobody hears the message.
                let _ = listener.send(push.to_vec());
            }
        }
    }
}
