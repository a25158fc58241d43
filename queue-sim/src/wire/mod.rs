//! Simulated runs on a real redis-server: queue-redis's own client, over a wire inside this
//! process.
//!
//! A [`RedisEnvironment`] starts a server. In each run every lane builds its own backend as a
//! program does, with a connector whose connections end in this process. The far end of a
//! connection reads the requests, draws their faults, and has the server execute them in a
//! *blocking* round trip, so that the virtual clock cannot move meanwhile. Every command is its own
//! scheduling point, also in a pipeline.
//!
//! # Time
//!
//! `ARGV[1]` tells every script the run's virtual time, whoever calls it; a fault may put that
//! clock back. No command blocks the server. Connections that listen to a channel (`SUBSCRIBE`)
//! share one socket. They get the server's messages right after the command that published them.
//!
//! # Truth
//!
//! The clock of a [`RedisEnvironment`]'s backend tells the number of the recorded call under way in
//! place of the time. So each request that the server executes names its call, even when the caller
//! has long given up, and the wire tells the history
//! ([`Journal::executed`](crate::history::Journal::executed)). An error or nothing as a reply means
//! that the server did not execute the call: a script checks its configuration before it does
//! anything. A call that finds its queue gone (nothing), creates it and goes out again is executed
//! once. So is a call that goes out with its text after `NOSCRIPT`, or with more keys after a script
//! asked for them (`KEYS`), or once its queue is in the list of queues (`UNLISTED`). Concurrent pushes of one client go as one call, which one task makes for
//! all of them. The history does not tell such an execution of any of them; the goal
//! `execution for no call` says that there was one. Lanes that do one thing after another never have
//! any. A message that a push hands over is leased to a process, and the call that brings it tells
//! which one took it, by its token ([`Journal::handed_over`](crate::history::Journal::handed_over)).
//! If nobody took it, it counts as an execution of the wait that was open then, or else of the last
//! one before.
//!
//! # Cached replies
//!
//! For speed, a few replies are not fresh. The wire answers `HELLO`, `CLIENT SETINFO`, `INFO` and
//! `CONFIG GET` as the server answered the first time. Connections have their own numbers, the same
//! in every run (`HELLO`). The wire answers `SCRIPT EXISTS` and `SCRIPT LOAD` from its own list of
//! the server's scripts, which nobody else changes. Every other reply is the server's, to this
//! request.
//!
//! Compiling a script takes longer than running it, so the wire only plays a flush of the scripts,
//! and the server keeps them. For a script that clients have lost, the wire calls a hash that the
//! server does not know, until a client has sent the text again or loaded it. So the server's
//! `NOSCRIPT` is real, and so is its run of the text. A restart does make the server forget all
//! scripts. The wire loads those that a new run starts with right before their first call.
//!
//! The wire's own commands travel in one piece with a client's next command, right before it or
//! right after it: they empty the server, copy the data and put it back, ask for a bounded queue's
//! length, and publish the last message to listeners. Clients' commands go one by one.
//!
//! All other commands share one socket. The wire refuses those that would leave a state behind on
//! it (`SELECT`, `MULTI` and such).
//!
//! # One core
//!
//! On Linux, a run keeps its thread and its server on one core: they take turns, and waking a
//! second core each time can take longer than all the rest. Environments that exist at the same
//! time use different cores.

mod affinity;
mod blocking;
mod classify;
mod connector;
mod environment;
mod listeners;
mod network;
mod proxy;
mod reply;
mod request;
mod resp;
mod rewrite;
mod scripts;
mod server;
mod server_connection;
mod socket;
mod target;

pub use self::{
    environment::{RedisEnvironment, RedisEnvironmentBuilder},
    reply::Reply,
    request::Request,
    rewrite::{Rewrite, Steps},
    server_connection::WireCounts,
};
