//! The connections that listen to channels. All share one socket of their own.

use std::{collections::BTreeMap, io, path::Path, time::Duration};

use bytes::Bytes;
use queue_core::{Holder, Token};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use super::{resp, socket::Socket};
use crate::plan::Process;

/// A virtual connection's number.
pub(super) type ConnectionId = i64;

/// The wire's own channel. The server sends its message after all others.
const LAST: &str = "the last of all";

/// The socket of all listening connections.
#[derive(Default)]
pub(super) struct Listeners {
    socket: Option<Socket>,
    channels: BTreeMap<Bytes, BTreeMap<ConnectionId, UnboundedSender<Vec<u8>>>>,
    registered: BTreeMap<i64, WaiterRegistration>,
    handed_over: Vec<HandedOverMessage>,
}

/// A process's registration: the terms of its call that had waited longest.
#[derive(Debug, Clone)]
pub(super) struct WaiterRegistration {
    /// The journal's last event before the registration.
    pub(super) after: u64,
    pub(super) process: Process,
    pub(super) lease_time: Duration,
    pub(super) holder: Option<Holder>,
}

/// A message that the server leased to a process that waits.
#[derive(Debug)]
pub(super) struct HandedOverMessage {
    pub(super) by: WaiterRegistration,
    /// The key of the marker at which it waits.
    pub(super) marker: Bytes,
    pub(super) token: Token,
}

/// The number of a registration and its terms, from the registered text: the channel, the number, the milliseconds of
/// the lease, and the holder.
fn terms(after: u64, process: Process, registers: &[u8]) -> Option<(i64, WaiterRegistration)> {
    let mut words = registers.splitn(4, |byte| *byte == b' ').skip(1);
    let mut number = || resp::number(words.next()?);
    let (serial, lease_time) = (number()?, number()?);
    let lease_time = Duration::from_millis(u64::try_from(lease_time).ok()?);
    let holder = std::str::from_utf8(words.next()?).ok()?;
    let holder = Holder::new(holder).ok();
    let registered = WaiterRegistration {
        after,
        process,
        lease_time,
        holder,
    };
    Some((serial, registered))
}

/// The handed-over message in a published text, if it is one: `lease`, the number of the registration, its time, the
/// length of the marker's key, that key, the token, and the message itself.
fn handed_over(
    message: &[u8],
    registered: &BTreeMap<i64, WaiterRegistration>,
) -> Option<HandedOverMessage> {
    let mut words = message
        .strip_prefix(b"lease ")?
        .splitn(4, |byte| *byte == b' ');
    let serial = resp::number(words.next()?)?;
    let length = resp::number(words.nth(1)?)?;
    let (marker, rest) = words
        .next()?
        .split_at_checked(usize::try_from(length).ok()?)?;
    let token = resp::big_endian(rest.get(..7)?);
    Some(HandedOverMessage {
        by: registered.get(&serial)?.clone(),
        marker: Bytes::copy_from_slice(marker),
        token: Token::new(token),
    })
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
        let confirmed = socket.ask(&[&b"SUBSCRIBE"[..], channel])?;
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
                socket.ask(&[&b"UNSUBSCRIBE"[..], &channel])?;
            }
        }
        Ok(())
    }

    /// Ends all listening.
    pub(super) fn clear(&mut self) -> io::Result<()> {
        let channels = std::mem::take(&mut self.channels);
        self.registered.clear();
        if let Some(socket) = &mut self.socket {
            for channel in channels.keys() {
                socket.ask(&[&b"UNSUBSCRIBE"[..], channel])?;
            }
        }
        Ok(())
    }

    /// Forgets all listening: the connections have ended with the server. The server may have kept the registrations of
    /// processes.
    pub(super) fn lost(&mut self) {
        self.socket = None;
        self.channels.clear();
    }

    /// Adds the last message after some commands, if any connection listens. Returns true if it did.
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

    /// Notes the terms with which this process registers, after the journal's event `after`.
    pub(super) fn registers(&mut self, after: u64, process: Process, registers: &[u8]) {
        self.registered.extend(terms(after, process, registers));
    }

    /// The messages that were handed over since the last call of this function.
    pub(super) fn take_handed_over(&mut self) -> Vec<HandedOverMessage> {
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
            let handed = handed_over(message, &self.registered);
            self.handed_over.extend(handed);
            for listener in self
                .channels
                .get(channel)
                .into_iter()
                .flat_map(BTreeMap::values)
            {
                // If the client is gone, nobody receives the message.
                let _ = listener.send(push.to_vec());
            }
        }
    }
}
