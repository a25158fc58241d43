//! Simulated runs on a real redis-server: queue-redis's own client, over a wire inside this
//! process.
//!
//! A [`RedisEnvironment`] starts a server. In each run every process builds its own backend as a
//! program does, with a connector whose connections end in this program. The far end of a
//! connection reads the requests, draws their faults, and has the server execute them in a
//! *blocking* round trip, so that the virtual clock cannot move meanwhile. Every command is its own
//! scheduling point, also in a pipeline.
//!
//! # Time
//!
//! `ARGV[1]` has the run's virtual time in every script call; a fault may put that clock back. No command blocks the
//! server. Connections that listen to a channel (`SUBSCRIBE`) share one socket. They get the server's messages right
//! after the command that published them.
//!
//! # Truth
//!
//! The clock of a [`RedisEnvironment`]'s backend returns the number of the recorded call under way in place of the
//! time. So each request that the server executes names its call, even when the caller has long given up, and the wire
//! writes it into the history ([`Journal::executed`](crate::history::Journal::executed)). An error or nothing as a
//! reply means that the server did not execute the call: a script checks its configuration before it does anything. A
//! call that finds its queue gone (nothing), creates it and goes out again is executed once. So is a call that is sent
//! again: with its text after `NOSCRIPT`, with more keys after a script asked for them (`KEYS`), or once its queue is
//! in the list of queues (`UNLISTED`). Concurrent pushes of one client are sent as one call, which one task makes for
//! all of them. The history has no execution for any of these pushes; the goal `execution for no call` records that
//! there was such a call. Processes that do one thing after another never have any. A message that a push hands over is
//! leased to a process. The token in a call's answer then shows which call took it
//! ([`Journal::handed_over`](crate::history::Journal::handed_over)). If no call took it, it counts as an execution of
//! the wait that was open then, or else of the last wait before.
//!
//! # Cached replies
//!
//! For speed, a few replies are not fresh. To `HELLO`, `CLIENT SETINFO`, `INFO` and `CONFIG GET`, the wire repeats the
//! server's first reply. Connections have their own numbers, the same in every run (`HELLO`). The wire replies to
//! `SCRIPT EXISTS` and `SCRIPT LOAD` from its own list of the server's scripts, which nobody else changes. Every other
//! reply is the server's, to this request.
//!
//! Compiling a script takes longer than running it, so the wire only plays a flush of the scripts,
//! and the server keeps them. For a script that clients have lost, the wire calls a hash that the
//! server does not know, until a client has sent the text again or loaded it. So the server's
//! `NOSCRIPT` is real, and so is its run of the text. A restart does make the server forget all
//! scripts. The wire loads those that a new run starts with right before their first call.
//!
//! The wire's own commands empty the server, copy the data and put it back, read a bounded queue's length, and publish
//! the last message to listeners. They are sent in one piece with a client's next command, right before it or right
//! after it. Clients' commands are sent one by one.
//!
//! All other commands share one socket. The wire refuses commands that would leave a state behind on it (`SELECT`,
//! `MULTI` and such).
//!
//! # One core
//!
//! On Linux, a run keeps its thread and its server on one core: they alternate, and waking a second core each time can
//! take longer than all the rest. Environments that exist at the same time use different cores.

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
