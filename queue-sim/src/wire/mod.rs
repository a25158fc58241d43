//! Simulated runs on a real redis-server: queue-redis's own client, over a wire inside this
//! process.
//!
//! A [`RedisEnvironment`] starts a server. In each run every lane has a backend of its own, built as a
//! program builds it, with a connector whose connections end in this process. At their far end
//! requests are read, struck by whatever faults are decided, and executed by the server in a
//! *blocking* round trip, so that the virtual clock cannot move meanwhile. Every command is a
//! scheduling point of its own, those of a pipeline too.
//!
//! # Time
//!
//! The scripts are told the run's virtual time, by way of `ARGV[1]`, whoever calls them; a fault may
//! put that clock back. Nothing blocks on the server. Those who listen to a channel (`SUBSCRIBE`)
//! share a socket of their own, and are handed what the server says there right after the command
//! that had it said.
//!
//! # Truth
//!
//! A backend of a [`RedisEnvironment`] is built with a clock that tells the number of the recorded call
//! under way in place of the time. So every request that is executed is known to be one of which
//! call, also when its caller has long given up, and the history is told
//! ([`Journal::executed`](crate::history::Journal::executed)). A reply that is an error or nothing
//! means that the call was not executed: a script looks at its configuration before it does
//! anything. The call that finds its queue gone (nothing), creates it and is sent again is executed
//! once; one that is sent with its text after `NOSCRIPT`, too. Pushes of one client that come at the
//! same time go as one call, made by a task for all of them: such an execution is told of none of
//! them, and the goal `execution for no call` says that there was one. Lanes that do one thing after
//! another never have any.
//!
//! # What is not asked of the server each time
//!
//! For speed, a few replies are not fresh. `HELLO`, `CLIENT SETINFO`, `INFO` and `CONFIG GET` are
//! answered as the server answered the first time; connections have numbers of their own, the same
//! in every run (`HELLO`). `SCRIPT EXISTS` and `SCRIPT LOAD` are
//! answered from what is known of the server's scripts, which nobody else changes. Every other reply
//! is the server's, to this request.
//!
//! Compiling a script takes longer than running it, so a flush of the scripts is only played: the
//! server keeps them. The wire calls a script that is lost to clients by a hash that the server does
//! not know, until a client has sent the text again or loaded it. The server's `NOSCRIPT` is real, and
//! so is what it makes of the text. A restart does make the server forget all scripts; the wire
//! loads those that a new run starts with right before their first call.
//!
//! What the wire asks for itself goes in one piece with the next command of a client, right before
//! it or right after it: emptying the server, remembering the data and putting them back, how long a
//! bounded queue is, and the last word to those who listen. Commands of
//! clients go one by one.
//!
//! All other commands share one socket; what would leave a state behind on it (`SELECT`,
//! `MULTI` and such) is refused.
//!
//! # One core
//!
//! On Linux the server is kept on one core, and the thread that plays with it, while a run lasts:
//! they take turns, and to wake a second core each time can take longer than all the rest. Environments
//! that are there at the same time are spread over the cores.

mod affinity;
mod connector;
mod environment;
mod listeners;
mod machine;
mod network;
mod reply;
mod request;
mod resp;
mod rewrite;
mod scripts;
mod server;
mod shim;
mod socket;
mod sort;

pub use self::{
    environment::{RedisEnvironment, RedisEnvironmentBuilder},
    machine::Counts,
    reply::Reply,
    request::Request,
    rewrite::{Rewrite, Steps},
};
