//! The far end of one connection: a task of the world's. It reads requests, carries them to the
//! server under faults, and brings back the replies.

use std::time::Duration;

use bytes::{Bytes, BytesMut};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt, DuplexStream},
    sync::mpsc::UnboundedReceiver,
    time::{self, Instant},
};

use super::{
    Reply, Request,
    blocking::Blocking,
    classify::{self, RequestClass},
    listeners::ConnectionId,
    network::Network,
    resp, server,
};
use crate::{
    engine::yield_now,
    history::{CallId, Event},
    plan::{Chance, Process, What},
    world::Fault,
};

/// The faults of a request.
const REQUEST: &[Fault] = &[
    Fault::RequestLost,
    Fault::Delayed,
    Fault::Late,
    Fault::Cut,
    Fault::Repeated,
];
/// The faults of a request that must not be repeated.
const ONCE: &[Fault] = REQUEST.split_at(4).0;
/// The faults of a reply.
const REPLY: &[Fault] = &[
    Fault::ReplyLost,
    Fault::Delayed,
    Fault::Cut,
    Fault::CutInFrame,
];
/// The faults of the server, its clock and its network, drawn when a request sets out.
const SERVER: &[Fault] = &[
    Fault::Partition,
    Fault::ScriptsFlushed,
    Fault::ClockBack,
    Fault::RolledBack,
    Fault::Restarted,
];
/// `n`, if a fault that strikes all processes strikes at one in `n` of its chances.
const SERVER_RARELY: Chance = 4;
/// The connection is over.
struct ConnectionOver;

pub(super) struct ConnectionProxy {
    network: Network,
    process: Process,
    /// Whether the process itself sends the commands, and not its backend.
    own: bool,
    id: ConnectionId,
    stream: DuplexStream,
    received: BytesMut,
}

impl ConnectionProxy {
    pub(super) fn new(network: Network, process: Process, own: bool, stream: DuplexStream) -> Self {
        Self {
            id: network.next_connection(),
            network,
            process,
            own,
            stream,
            received: BytesMut::new(),
        }
    }

    /// Serves the connection until its client has gone and all its requests have arrived, or until
    /// a fault ends it.
    pub(super) async fn run(mut self) {
        let mut cuts = self.network.cuts();
        tokio::select! {
            biased;
            _ = cuts.changed() => {}
            _ = self.serve() => {}
        }
    }

    async fn serve(&mut self) -> Result<(), ConnectionOver> {
        let mut heard = None;
        loop {
            let request = tokio::select! {
                biased;
                push = next_of(&mut heard) => {
                    let _under_way = self.network.set_out();
                    yield_now().await;
                    self.answer(&push, 1).await?;
                    continue;
                }
                request = self.next() => request?,
            };
            let under_way = self.network.set_out();
            yield_now().await;
            let class = RequestClass::of(&request);
            let plain = self.network.serves().is_some();
            let rarely = class.rarely(&request, plain);
            let reply = match class {
                RequestClass::Data => {
                    if request.call.is_some() || plain {
                        self.strike_server().await;
                    }
                    self.exchange(request, rarely).await?
                }
                RequestClass::Blocks => {
                    self.travel(ONCE, rarely).await?;
                    drop(under_way);
                    let reply = self.block(request).await?;
                    let _under_way = self.network.set_out();
                    yield_now().await;
                    self.answer(&reply.0, rarely).await?;
                    continue;
                }
                RequestClass::Listens => {
                    self.travel(ONCE, rarely).await?;
                    // Later messages to it come after the confirmation.
                    heard = Some(self.listen(&request)?);
                    continue;
                }
                RequestClass::Hello | RequestClass::Setup => {
                    self.travel(ONCE, rarely).await?;
                    classify::set_up(&self.network, self.id, &request).ok_or(ConnectionOver)?
                }
            };
            drop(under_way);
            let _under_way = self.network.set_out();
            yield_now().await;
            self.answer(&reply.0, rarely).await?;
        }
    }

    /// Reads the next whole request.
    async fn next(&mut self) -> Result<Request, ConnectionOver> {
        loop {
            if let Some(length) = resp::value_len(&self.received) {
                let bytes = self.received.split_to(length).freeze();
                return self.understood(&bytes).ok_or(ConnectionOver);
            }
            self.read().await?;
        }
    }

    async fn read(&mut self) -> Result<(), ConnectionOver> {
        match self.stream.read_buf(&mut self.received).await {
            Ok(0) | Err(_) => Err(ConnectionOver),
            Ok(_) => Ok(()),
        }
    }

    fn understood(&self, bytes: &Bytes) -> Option<Request> {
        let words = resp::words(bytes)?;
        let verb = words.first()?;
        let calls = verb.eq_ignore_ascii_case(b"EVALSHA") || verb.eq_ignore_ascii_case(b"EVAL");
        let mut request = Request {
            script: None,
            process: self.process,
            call: None,
            words,
        };
        if calls {
            let mut server_connection = self.network.server_connection();
            let scripts = server_connection.scripts();
            let found = request.words.get(1).and_then(|word| scripts.find(word));
            request.script = found.map(|at| scripts.name(at));
            drop(server_connection);
            // The backend's clock returns the call's number instead of the time.
            let tag = request
                .arguments()
                .first()
                .and_then(|tag| resp::number(tag));
            request.call = tag
                .filter(|tag| *tag > 0)
                .map(|tag| CallId(tag.unsigned_abs()));
        }
        Some(request)
    }

    /// `SUBSCRIBE channel`.
    fn listen(&self, request: &Request) -> Result<Heard, ConnectionOver> {
        let channel = request.words.get(1).ok_or(ConnectionOver)?;
        let network = &self.network;
        let heard = network
            .with_server_connection(|server_connection| server_connection.listen(self.id, channel));
        Ok(Heard {
            pushes: heard.ok_or(ConnectionOver)?,
            network: network.clone(),
            id: self.id,
        })
    }

    /// Carries a request to the server, has it executed, and returns the reply.
    async fn exchange(
        &mut self,
        request: Request,
        rarely: Chance,
    ) -> Result<Reply, ConnectionOver> {
        let faults = if request.call.is_some() || self.network.serves().is_some() {
            REQUEST
        } else {
            ONCE
        };
        let struck = self.travel(faults, rarely).await?;
        let again = (struck == Some(Fault::Repeated)).then(|| request.clone());
        let own = self.own.then(|| request.clone());
        let reply = server::execute(&self.network, request)
            .await
            .ok_or(ConnectionOver)?;
        if let Some(request) = own {
            self.note_command(&request, &reply);
        }
        if let Some(again) = again {
            self.repeat(again).await;
        }
        Ok(reply)
    }

    /// Has the server pop as soon as there is something, until the request's time to block is over
    /// or its client has gone.
    async fn block(&mut self, request: Request) -> Result<Reply, ConnectionOver> {
        let blocking = Blocking::of(request).ok_or(ConnectionOver)?;
        let mut executed = self.network.executed();
        loop {
            executed.mark_unchanged();
            let reply = blocking.pop(&self.network).await.ok_or(ConnectionOver)?;
            if !reply.is_nil() || Instant::now() >= blocking.deadline {
                return Ok(reply);
            }
            tokio::select! {
                biased;
                read = self.read() => read?,
                _ = executed.changed() => {}
                () = time::sleep_until(blocking.deadline) => {}
            }
        }
    }

    /// Writes down a command that belongs to no call of a queue.
    fn note_command(&self, request: &Request, reply: &Reply) {
        let words = request.words.iter();
        let words: Vec<_> = words.map(|word| String::from_utf8_lossy(word)).collect();
        let reply = String::from_utf8_lossy(&reply.0).replace("\r\n", " ");
        let said = format!("{} -> {}", words.join(" "), reply.trim());
        let journal = self.network.journal();
        journal.note(Event::Command(self.process, said));
    }

    /// Executes a request once more, after a while or at once. No client gets that reply.
    async fn repeat(&self, request: Request) {
        if self.network.way(self.process, What::Delay, 2) > 0 {
            let late = Instant::now() + Duration::from_millis(1);
            self.network.pause(late).await;
        } else {
            yield_now().await;
        }
        server::execute(&self.network, request).await;
    }

    /// Draws the faults that strike all processes when a request sets out.
    async fn strike_server(&self) {
        let (network, process) = (&self.network, self.process);
        let Some(fault) = network.strike(process, What::Server, SERVER, SERVER_RARELY) else {
            return;
        };
        match fault {
            Fault::Partition => {
                network.note(fault, process);
                network.hold(process, network.patience() + network.delay(process));
            }
            Fault::ScriptsFlushed => {
                network.note(fault, process);
                network.server_connection().scripts().flush();
            }
            Fault::ClockBack => {
                network.note(fault, Process::WORLD);
                network.step_back(network.delay(process));
            }
            Fault::RolledBack => network.fail_over(process),
            _ => network.restart(process),
        }
        // A fault that ends all connections ends this one here.
        yield_now().await;
    }

    /// Carries a request under these faults. Writes down faults that strike without stopping it.
    async fn travel(
        &mut self,
        faults: &[Fault],
        rarely: Chance,
    ) -> Result<Option<Fault>, ConnectionOver> {
        let process = self.process;
        let struck = self.network.strike(process, What::Request, faults, rarely);
        if let Some(fault) = struck {
            self.network.note(fault, process);
        }
        match struck {
            Some(Fault::RequestLost) => return Err(self.swallow().await),
            Some(Fault::Cut) => return Err(ConnectionOver),
            Some(Fault::Delayed) => self.delay(Duration::ZERO).await,
            Some(Fault::Late) => self.delay(self.network.patience()).await,
            _ => {}
        }
        self.network.pass(process).await;
        Ok(struck)
    }

    /// Carries a reply under faults.
    async fn answer(&mut self, reply: &[u8], rarely: Chance) -> Result<(), ConnectionOver> {
        let process = self.process;
        let struck = self.network.strike(process, What::Reply, REPLY, rarely);
        if let Some(fault) = struck {
            self.network.note(fault, process);
        }
        match struck {
            Some(Fault::ReplyLost) => return Err(self.swallow().await),
            Some(Fault::Cut) => return Err(ConnectionOver),
            Some(Fault::Delayed) => self.delay(Duration::ZERO).await,
            Some(Fault::CutInFrame) => {
                let parts = [1, reply.len() / 2, reply.len() - 1];
                let way = self.network.way(process, What::Reply, 3);
                let part = &reply[..parts[way as usize]];
                // A client that is gone misses nothing.
                let _ = self.stream.write_all(part).await;
                return Err(ConnectionOver);
            }
            _ => {}
        }
        self.network.pass(process).await;
        self.stream
            .write_all(reply)
            .await
            .map_err(|_| ConnectionOver)
    }

    async fn delay(&self, more: Duration) {
        let until = Instant::now() + more + self.network.delay(self.process);
        self.network.pause(until).await;
    }

    /// From here on nothing arrives, in neither direction: the connection is half open. The client notices it alone, or
    /// when the faults are over.
    async fn swallow(&mut self) -> ConnectionOver {
        let network = self.network.clone();
        let swallow = async {
            loop {
                self.received.clear();
                if let Err(over) = self.read().await {
                    return over;
                }
            }
        };
        tokio::select! {
            biased;
            () = network.healed() => ConnectionOver,
            over = swallow => over,
        }
    }
}

/// The messages that a listening connection hears, until it ends.
struct Heard {
    pushes: UnboundedReceiver<Vec<u8>>,
    network: Network,
    id: ConnectionId,
}

impl Drop for Heard {
    fn drop(&mut self) {
        self.network
            .with_server_connection(|server_connection| server_connection.leave(self.id));
    }
}

/// The next message. It never comes if the connection does not listen, or the server has gone.
async fn next_of(heard: &mut Option<Heard>) -> Vec<u8> {
    match heard {
        Some(heard) => match heard.pushes.recv().await {
            Some(push) => push,
            None => std::future::pending().await,
        },
        None => std::future::pending().await,
    }
}
