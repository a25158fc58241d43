//! A proxy whose replies are not always the server's.

use std::{
    io,
    sync::{Arc, Mutex, PoisonError},
};

use real_redis::Server;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    task::{AbortHandle, JoinSet},
};

/// The fate of a reply.
#[derive(Debug, Clone)]
pub(super) enum Spoil {
    /// One byte in `each` bytes is changed.
    Change { each: usize, by: u8 },
    /// Nothing comes `after` this number of bytes, and perhaps the connection ends.
    Cut { after: usize, ends: bool },
    /// These bytes come in place of the reply.
    Instead(Vec<u8>),
    /// Requests with this text do not reach the server. They get this answer.
    Answer(&'static str, Vec<u8>),
    /// The next reply comes twice, or never. Afterwards the peer changes nothing.
    Slip { twice: bool },
}

/// Stands between clients and a server. It spoils the replies on all connections until it is set to change
/// nothing.
#[derive(Debug)]
pub(super) struct Peer {
    port: u16,
    spoil: Arc<Mutex<Option<Spoil>>>,
    listening: AbortHandle,
}

impl Peer {
    /// Listens in front of a server that has a port, and changes nothing.
    pub(super) async fn before(server: &Server) -> io::Result<Self> {
        let to = server.port().expect("it has a port");
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let port = listener.local_addr()?.port();
        let spoil = Arc::<Mutex<Option<Spoil>>>::default();
        let accepting = accept(listener, to, Arc::clone(&spoil));
        Ok(Self {
            port,
            spoil,
            listening: tokio::spawn(accepting).abort_handle(),
        })
    }

    pub(super) const fn port(&self) -> u16 {
        self.port
    }

    pub(super) fn spoil(&self, spoil: Spoil) {
        *lock(&self.spoil) = Some(spoil);
    }

    pub(super) fn be_sound(&self) {
        *lock(&self.spoil) = None;
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        self.listening.abort();
    }
}

fn lock(spoil: &Mutex<Option<Spoil>>) -> std::sync::MutexGuard<'_, Option<Spoil>> {
    spoil.lock().unwrap_or_else(PoisonError::into_inner)
}

async fn accept(listener: TcpListener, to: u16, spoil: Arc<Mutex<Option<Spoil>>>) {
    let mut connections = JoinSet::new();
    while let Ok((client, _)) = listener.accept().await {
        connections.spawn(carry(client, to, Arc::clone(&spoil)));
        while connections.try_join_next().is_some() {}
    }
}

async fn carry(mut client: TcpStream, to: u16, spoil: Arc<Mutex<Option<Spoil>>>) -> io::Result<()> {
    let mut server = TcpStream::connect(("127.0.0.1", to)).await?;
    let (mut request, mut reply) = (vec![0; 64 * 1024], vec![0; 64 * 1024]);
    let mut passed = 0;
    loop {
        tokio::select! {
            count = client.read(&mut request) => {
                let request = &request[..count?];
                let now = lock(&spoil).clone();
                match now {
                    _ if request.is_empty() => return Ok(()),
                    Some(Spoil::Answer(to, with)) if has(request, to) => {
                        client.write_all(&with).await?;
                    }
                    _ => server.write_all(request).await?,
                }
            }
            count = server.read(&mut reply) => {
                let mut reply = reply[..count?].to_vec();
                if reply.is_empty() {
                    return Ok(());
                }
                let now = lock(&spoil).clone();
                match now {
                    None | Some(Spoil::Answer(..)) => {}
                    Some(Spoil::Slip { twice }) => {
                        // Other requests wait behind it; otherwise the client would treat the reply as
                        // unrequested.
                        if let Some(length) = length_of(&reply).filter(|length| *length < reply.len()) {
                            *lock(&spoil) = None;
                            let mut slipped = if twice { reply[..length].to_vec() } else { Vec::new() };
                            slipped.append(&mut reply.split_off(if twice { 0 } else { length }));
                            reply = slipped;
                        }
                    }
                    Some(Spoil::Instead(with)) => reply = with,
                    Some(Spoil::Change { each, by }) => {
                        for (at, byte) in (passed..).zip(&mut reply) {
                            if at % each == each - 1 {
                                *byte ^= by;
                            }
                        }
                        passed += reply.len();
                    }
                    Some(Spoil::Cut { after, ends }) => {
                        let left = after.saturating_sub(passed);
                        passed += reply.len();
                        if ends && reply.len() > left {
                            client.write_all(&reply[..left]).await?;
                            return Ok(());
                        }
                        reply.truncate(left);
                    }
                }
                client.write_all(&reply).await?;
            }
        }
    }
}

fn has(request: &[u8], word: &str) -> bool {
    request
        .windows(word.len())
        .any(|bytes| bytes.eq_ignore_ascii_case(word.as_bytes()))
}

/// The length of the reply that these bytes begin with; `None` if it is cut off, or is no reply to a request.
fn length_of(bytes: &[u8]) -> Option<usize> {
    let line = 2 + bytes.windows(2).position(|two| two == b"\r\n")?;
    let count = || {
        let count = std::str::from_utf8(&bytes[1..line - 2]).ok()?;
        Some(usize::try_from(count.parse::<i64>().ok()?).unwrap_or(0))
    };
    let parts = match bytes[0] {
        b'$' if bytes.starts_with(b"$-1") => return Some(line),
        b'$' | b'=' => {
            let length = line + count()? + 2;
            return (length <= bytes.len()).then_some(length);
        }
        b'*' | b'~' => count()?,
        b'%' => 2 * count()?,
        b'>' => return None,
        _ => 0,
    };
    (0..parts).try_fold(line, |length, _| {
        Some(length + length_of(bytes.get(length..)?)?)
    })
}
