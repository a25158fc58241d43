//! A connection to the server for blocking round trips.

use std::{
    io::{self, Read, Write},
    os::unix::net::UnixStream,
    path::Path,
    time::Duration,
};

use super::resp;

/// Longer than any command takes: a slower reply never comes.
const PATIENCE: Duration = Duration::from_secs(30);

/// More bytes than most replies have.
const CHUNK: usize = 2 * 1024;

/// A connection that blocks the thread while it waits, so that no virtual time passes.
pub(super) struct Socket {
    stream: UnixStream,
    received: Vec<u8>,
    /// The number of received bytes that it has handed out.
    taken: usize,
}

impl Socket {
    /// Connects, and asks for RESP3.
    pub(super) fn connect(path: &Path) -> io::Result<Self> {
        let stream = UnixStream::connect(path)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_write_timeout(Some(PATIENCE))?;
        let mut socket = Self {
            stream,
            received: Vec::new(),
            taken: 0,
        };
        socket.ask(&["HELLO", "3"])?;
        Ok(socket)
    }

    /// Sends one command and waits for its reply.
    pub(super) fn ask<W: AsRef<[u8]>>(&mut self, words: &[W]) -> io::Result<Vec<u8>> {
        let mut request = Vec::with_capacity(64);
        resp::encode(words, &mut request);
        self.send(&request)?;
        self.receive()
    }

    pub(super) fn send(&mut self, requests: &[u8]) -> io::Result<()> {
        self.stream.write_all(requests)
    }

    /// Waits for the next reply.
    pub(super) fn receive(&mut self) -> io::Result<Vec<u8>> {
        loop {
            if let Some(reply) = self.whole() {
                return Ok(reply);
            }
            self.read()?;
        }
    }

    fn whole(&mut self) -> Option<Vec<u8>> {
        let rest = &self.received[self.taken..];
        let length = resp::value_len(rest)?;
        let reply = rest[..length].to_vec();
        self.taken += length;
        if self.taken == self.received.len() {
            self.received.clear();
            self.taken = 0;
        }
        Some(reply)
    }

    fn read(&mut self) -> io::Result<()> {
        let mut chunk = [0; CHUNK];
        let count = self.stream.read(&mut chunk)?;
        if count == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        self.received.extend_from_slice(&chunk[..count]);
        Ok(())
    }
}
