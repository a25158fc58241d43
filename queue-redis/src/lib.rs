//! The Redis backend of queue-kit: all kinds of queue on a Redis server, 6.2 or newer, or on a cluster.
//!
//! [`RedisBackend`] opens the queues. Every verb is one script: the server runs it as one atomic
//! step, by its own clock. A batch is one round trip, and so is a turn.
//!
//! # Connections
//!
//! One connection carries the commands of all queues of a backend. The first wait opens a second
//! one, which listens for all queues to the backend's own channel, `<prefix>:wake:<number>`: a
//! script that makes work publishes there how many consumers should look. A supervisor keeps both
//! open: it opens a connection again, with back-off and jitter, when the connection ends, stops
//! answering, or leads to a server that has become a replica.
//!
//! The one number to know is [`Builder::response_timeout`], 3 s: a call fails when the backend has
//! heard nothing of the server for so long since the call was made. Until then the call waits for a
//! connection, if there is none, and for its turn. A call that was not sent by then fails as
//! `NotApplied`; a call that was sent and got no answer, as `Unknown`. Bytes that move are a sign
//! of life: on a slow line a large reply takes as long as it takes. The library itself never
//! repeats a call that may have run.
//!
//! The backend claims `NotApplied` only for errors that Redis itself answers before it does
//! anything. Any other error, perhaps from something between, is `Unknown`.
//!
//! A server can be unfit: it is a replica, a node of a cluster under a URL of a single server, has an
//! eviction policy, or refuses the password. Connecting to it fails with `Configuration`. Once a backend is connected,
//! the same may pass, in the middle of a failover say: calls then answer a transient `Unavailable`
//! with the same text until the server is fit again.
//!
//! A host's name may have several addresses. They are tried in the resolver's order. If one has not let the
//! connection in within 250 ms, the next one is tried beside it. So an address that never answers costs no more.
//! This holds for a server, a node or seed of a cluster, a sentinel, and a primary that sentinels name by host.
//!
//! The server is asked for a sign of life when nothing was heard of it for [`Builder::keep_alive`], 6 s. So
//! [`RedisBackend::health`] shows an outage though nobody makes a call: at once if the connection ends, and
//! after this interval and twice the response timeout, 12 s, if the server falls silent.
//!
//! [`Builder::startup_timeout`] has `connect` wait for a server, sentinels or a cluster that is not up yet.
//! [`Builder::credentials`] is asked for the login of each new connection, so that passwords may be rotated.
//! `CLIENT LIST` shows each connection by [`Builder::client_name`] and its use: `shop-4711:commands`,
//! `shop-4711:waiter`.
//!
//! A server ends a connection that brings it a larger request than it takes (`proto-max-bulk-len`,
//! `client-query-buffer-limit`). Connecting reads both settings, and warns if a body may be too large. Such a
//! body is not sent: the call fails with `Configuration`, which names size and setting. Where a server does not
//! tell its settings, the first such request ends the connection for all calls on it. After that, requests of
//! this size go on connections of their own; if two of these end as well, the call fails with `Configuration`.
//!
//! Small pushes that come while another is under way travel together, in one call; and so do small
//! turns, leases and acks. A call that comes alone waits for nothing; one that comes meanwhile waits
//! for one round trip at the most. Each queue's line of such calls is bounded in bytes; a caller that
//! finds it full waits for room, within the same time. A caller may poll its future once and set it aside, drop it, or never poll it again:
//! no other call waits for that. For this, a [`Connector`] of your own has to lift its pipeline's
//! limit.
//!
//! # Replies out of step
//!
//! A reply of Redis belongs to the oldest request that has none. If something between drops a reply or
//! doubles one, every later call gets another's answer. The backend finds this out by the first answer that
//! cannot be its call's, and by a call that gets none. It then sends one request more on the same connection,
//! an `EVAL` that answers a word of its own, and every call there waits for that word before it ends. If the
//! word comes back, the replies are in step, and what is stored is [damaged](#damage): the connection stays.
//! If anything else comes, the connection is given up: the calls under way on it fail as `Unknown`, and
//! another is opened. Calls whose answers can be read cost nothing more.
//!
//! An answer of another call that can be read passes for the call's own until then. Pushes to two queues may
//! be told each other's ids, and an acknowledgement the fate of another, also that it was `NotApplied`. Calls
//! of one verb alone may go on so for long. So where something between is not to be trusted, use TLS,
//! through which it can neither drop nor double a reply. Nobody's number is ever taken for a confirmation's.
//!
//! # TLS
//!
//! A `rediss://` URL speaks TLS 1.2 or 1.3 (feature `tls`, off by default). The server's certificate
//! has to be signed by one of the system's roots, valid now, and for the URL's host. [`Tls`] sets
//! other roots, a certificate for servers that ask for one, and another name; the variable
//! `SSL_CERT_FILE` names a file of roots in place of the system's. No setting leaves the check out.
//! The encryption is rustls with ring; nothing is installed for the process.
//!
//! Connecting to a server whose certificate is wrong, or that does not accept ours, fails with
//! `Configuration`, and the error says what is wrong and the way out. A server that cannot be reached
//! is `Unavailable`, as without TLS. A Redis port without TLS says nothing to a client that speaks
//! it: the connect timeout passes, and the error says so.
//!
//! # Sentinel
//!
//! `redis+sentinel://[user:password@]host[:port][,host[:port]…]/service[/db]` names sentinels, and the
//! service that they watch; `rediss+sentinel://` speaks TLS to sentinels and servers alike. The port of
//! a sentinel is 26379 by default. The user and password are for the servers; sentinels that ask for a
//! login get the parameters `sentinel_username` and `sentinel_password`, and no other.
//!
//! For each connection the backend asks a sentinel anew, connects to the server that it names, and
//! takes it only if the server calls itself a primary; else the next sentinel is asked. So after a
//! failover the supervisor's next connection leads to the new primary. Meanwhile calls wait, as while
//! any server is away: set [`Builder::response_timeout`] above the time of a failover
//! (`down-after-milliseconds` and a second or two), or try again. Which names and addresses sentinels
//! give is theirs to say: across networks they need `announce-ip`, and for certificates by name
//! `resolve-hostnames` and `announce-hostnames`.
//!
//! If no sentinel can be reached, connecting fails with `Unavailable`, and lists them. If those that
//! answer know no such service, it fails with `Configuration`.
//!
//! A primary that is cut off with its clients goes on taking their calls until the cut is over, and
//! these are lost: `min-replicas-to-write` and `min-replicas-max-lag` bound for how long.
//!
//! # Cluster
//!
//! `redis+cluster://[user:password@]host[:port][,host[:port]…]` names some servers of a Redis Cluster,
//! primaries or replicas, of which one has to answer; `rediss+cluster://` speaks TLS to all of them. The
//! port is 6379 by default. A cluster has the database 0 alone.
//!
//! A queue lives on one node: all its keys are in one slot, by its name. So a queue is as fast, and as
//! safe, as on a single server, and many queues spread over the nodes. A program holds two connections to
//! each node that has slots, and waits for a queue's messages at the node that has it.
//!
//! A call goes straight to its node, in one round trip. The backend sends it again only where nothing of
//! it ran: the node answered that another has the slot now, that the slot is on its way there, or that
//! the cluster does not serve it at present; or there was no connection to send it on. A call whose answer
//! is lost is `Unknown`, as on a single server, and never sent again.
//!
//! All this takes no longer than [`Builder::response_timeout`]; then the call fails as `NotApplied`. So set
//! that above the time of a failover (`cluster-node-timeout` and a second or two). While a slot moves key
//! by key, its queues wait for the end of the move: a node that has only some of a queue's keys refuses
//! the call before it begins. Valkey from 9.0 on moves slots in one step. Consumers that wait are told all
//! the same.
//!
//! Set `cluster-require-full-coverage no`, so that the queues of the other nodes go on while one is down.
//! The server acknowledges a call before its replicas have it, so a failover may undo the last steps.
//! Listing queues asks each queue's node. Of [`recipes`], those run here whose keys are in one slot.
//!
//! # Runtimes
//!
//! The backend's tasks live on the tokio runtime that connected it, or on that of
//! [`Builder::spawn`]. You can make calls from other runtimes for as long as that one is driven.
//! When it has ended, every call answers the permanent error `Configuration`. So does connecting
//! with tasks on a runtime that has ended, and every call outside of any runtime.
//!
//! # Rights
//!
//! A user of the server needs no more rights than these, for the prefix `qk`; [`access_rules`] tells
//! them for any:
//!
//! ```text
//! ~qk:* resetchannels &qk:wake:* -@all
//! +evalsha +eval +script|exists +script|load +subscribe +publish +pubsub|numsub +ping +info
//! +config|get +wait
//! +time +type +exists +hget +hexists +hmget +hset +hdel +hincrby
//! +llen +lpush +lrange +lindex +lset +ltrim +rpush
//! +zadd +zcard +zcount +zincrby +zmscore +zrange +zrangebylex +zrangebyscore +zrem
//! +zremrangebyscore +zrevrange +zscore +unlink
//! ```
//!
//! On Redis 7.0 and later, and on Valkey, connecting asks the server whether the user has them. If
//! the user lacks a right that scripts need, connecting fails with a `Configuration` error that
//! names it, since a script would stop half-way. The same error says if the server does not have a command. A user of a cluster needs `+cluster|slots +asking`, too
//! ([`cluster_access_rules`]). Without `publish`, `subscribe` or their channels,
//! consumers notice messages at the fall-back interval only. Without `pubsub|numsub`, a push hands no message
//! over, and a wake-up takes two round trips. The backend works without `ping`, `info` and `config|get`,
//! too, and without `wait` it can confirm nothing by replicas.
//! The same holds for a server that does not have one of these commands, since somebody renamed it, or a proxy
//! does not know it. `HELLO`, `EVAL`, `EVALSHA` and `SCRIPT` have to be there.
//! [`RedisBackend::warnings`] names each command that is missing ([`Warning::Missing`]) or not permitted
//! ([`Warning::Forbidden`]), and its cost. Confirmations of what is flushed
//! need `+waitaof` besides, which older servers do not know.
//!
//! # Damage
//!
//! If somebody else writes to a queue's keys, or its memory fails, the queue goes on with what is sound:
//!
//! | what is damaged | what happens |
//! | --- | --- |
//! | a message's frame or body, or it is missing | who would lease it sets it aside: it becomes a dead letter with the bytes that were found. Pages leave it out until then |
//! | a dead letter's record | it is shown as such a letter, and is not revived |
//! | an item of a ring | `rotate` and `list` leave it out; one without a body leaves the ring, and its key with it |
//! | a counter in `meta`, or the last token | it counts anew |
//! | a dedup mark's id | the mark counts as none |
//! | the end of a time to live | the message has none any more |
//! | a time (a score) | it is believed, however far away |
//! | `config` or `accepted` in `meta`, or `capacity` for offers | `Configuration`: the error names the field, and nothing is done until somebody sets it right |
//! | a key of another type | `Configuration`: the error names the key |
//! | an entry in the list of queues | it is left out |
//!
//! A place in a queue that names another message's id cannot be told from a sound one.
//!
//! # Durability
//!
//! The server acknowledges a call when it has done it in memory. The server's settings decide what
//! a crash can undo after that (R1). All rules hold for the surviving history, and receipts from
//! the lost one match nothing.
//!
//! | setting | the process is killed | the power fails |
//! | --- | --- | --- |
//! | no persistence | everything is lost; open warns of it | the same |
//! | snapshots only | all since the last snapshot is undone | the same |
//! | `appendfsync everysec` | up to two seconds may be undone, while an fsync is under way | the same |
//! | `appendfsync no` | nothing acknowledged is lost | what the system had not written yet |
//! | `appendfsync always` | nothing acknowledged is lost | nothing, if the disk keeps what it confirms |
//!
//! The middle column's AOF rows are tested with `kill -9` under traffic. They hold if the file is sound: a kill in
//! the middle of a write tears it, and most servers then mend it so badly that the restart after the next one loses
//! more, or does half of a call. The guide for operators tells how to mend it (*What may be lost*). A failover undoes
//! the steps that the old primary had not yet sent to the replica.
//!
//! # Confirmations
//!
//! What has to outlive the server goes through handles that confirm (R2): they are those of the backend
//! that [`confirmed`](queue_core::Backend::confirmed) answers. Each call through
//! [`LeasingExt::confirmed`](queue_core::LeasingExt::confirmed) is followed by a `WAIT`, or by a `WAITAOF`
//! where the confirmation asks for what is flushed, and answers whether there were as many copies in time.
//!
//! ```no_run
//! use std::time::Duration;
//! use queue_core::*;
//! use queue_redis::RedisBackend;
//!
//! # async fn example() -> Result<()> {
//! let queues = Queues::new(RedisBackend::connect("redis://localhost").await?);
//! let safe = Confirmation::replicas(1).within(Duration::from_millis(500));
//! let charges = queues.confirmed(safe).await?.reliable::<u64>("charges").await?;
//! let pushed = charges.confirmed(|charges| charges.push(&42)).await?;
//! if !pushed.is_confirmed() {
//!     // It is in the queue all the same, under `pushed.answer`.
//!     eprintln!("message {}: {}", pushed.answer, pushed.copies);
//! }
//! # Ok(())
//! # }
//! ```
//!
//! | confirmation | a failover to a replica | the server's machine is lost | power of all machines fails |
//! | --- | --- | --- | --- |
//! | none | may undo it | loses it | the table above |
//! | `replicas(n)` | keeps it, if one of the n takes over | keeps it, likewise | the table above |
//! | `flushed()` | may undo it | loses it | keeps it |
//! | `replicas(n).and_flushed()` | keeps it, if one of the n takes over | keeps it, likewise | keeps it |
//!
//! Which replica takes over is for the failover to say: ask for as many as there are, or have it take the
//! one that is furthest, as Sentinel does among those of one priority. Whoever pushed learns of an unconfirmed message and chooses: to
//! report it, or to repeat the push with a dedup key (L9); a duplicate is confirmed with its first message.
//!
//! Each call of [`confirmed`](queue_core::Backend::confirmed) opens one connection of its own (on a
//! cluster, one to each node), for the commands of all queues that are opened there, and checks that the server can tell: `flushed` takes Redis
//! 7.2 or later, or Valkey, and `appendonly yes`. While a wait is under way there, the calls of these
//! handles wait for its end, and share the next; calls of other handles do not. So a replica that hangs
//! delays confirmed calls by the time that the confirmation allows, three times at the most. Push what
//! matters through such a handle, and consume through a plain one.
//!
//! A confirmation is claimed only for what went over one connection, with the wait behind it. If that
//! connection ended in between, by a failover say, or the queue's slot moved to another node, the answer is
//! stored and unconfirmed. One case is not noticed: an operator makes the server a replica and a primary again, by hand, between the call and its
//! wait, and leaves its connections open.
//!
//! The neighbour `min-replicas-to-write` refuses every write while too few replicas are in touch, before it
//! is done; it says nothing of any single write. The two go well together.

/// A point at which a test lets another thread run. See `queue_testing::interleave`.
macro_rules! step {
    () => {
        #[cfg(test)]
        queue_testing::interleave::step();
    };
}

mod backend;
mod batching;
mod call;
mod client;
mod clock;
mod cluster;
mod confirmer;
mod connection;
mod erased_arc;
mod error;
mod frame;
#[cfg(test)]
mod fuzz;
mod keys;
mod listing;
mod node;
mod once;
mod panic;
mod queue;
pub mod recipes;
mod reply;
mod request;
mod script;
mod scripts;
mod waiting;
mod waits;

/// The crate whose connections a [`Connector`] opens, in the version that they must have.
pub use ::redis;

/// Every script that a backend calls, by name (`reliable/settle_and_lease`) and text: to read them, to load
/// them ahead, or to find out which commands a user needs.
pub fn scripts() -> impl Iterator<Item = (&'static str, &'static str)> {
    let all = scripts::ALL.iter();
    all.map(|script| (script.name(), script.source()))
}

/// A script that finds leftovers: things that no message, dead letter, item or once key explains,
/// such as the body of a message that is gone.
///
/// `EVAL` it with the prefix as its argument: it answers a line for each leftover. It reads all
/// keys at one instant, and the server does nothing else meanwhile. So use it in tests, or on a
/// copy of a server that grows though its queues do not.
pub const LEFTOVERS: &str = concat!(
    "local ADDS = 0\n",
    include_str!("../lua/shared/frames.lua"),
    include_str!("../lua/leftovers.lua")
);

#[cfg(feature = "tls")]
pub use self::connection::Tls;
pub use self::{
    backend::{Builder, Health, RedisBackend},
    connection::{
        ConnectionHealth, Connector, Credentials, CredentialsProvider, Link, Role,
        SentinelConnector, ServerConnector, Warning, Wire, access_rules, cluster_access_rules,
    },
};
