//! Fourteen strategies as others have published them, key for key and command for command.
//!
//! Use one to *migrate* (an old producer or consumer goes on while this library moves in), to
//! *compare* (benchmarks side by side), or to *learn* what each loses: what it declares
//! ([`Guarantees`](queue_core::Guarantees)) names the rules of the contract that it breaks, and why.
//! For new queues, use the default ones: they keep every rule.
//!
//! | recipe | kind | in short |
//! | --- | --- | --- |
//! | [`ZsetString`] | delay | a sorted set of keys by push time, a string for each body |
//! | [`WaitActive`] | delay | a sorted set and a list for each topic, and a distributor |
//! | [`ZsetJson`] | delay | a sorted set of bodies by due time, with or without a processing set |
//! | [`BlockingList`] | reliable | a list and a blocking pop |
//! | [`PrivateBackup`] | reliable | a list, and a backup list for each client |
//! | [`SharedBackup`] | reliable | a list, one backup list and a checker |
//! | [`Stream`] | reliable | a stream with a consumer group |
//! | [`PriorityLists`] | priority | a list for each priority |
//! | [`FixedLength`] | bounded | a list kept to a length, by three methods |
//! | [`DistinctZset`] | bounded | the newest different bodies |
//! | [`KeyLock`] | bounded | a list of fixed length, and a lock for each key |
//! | [`Rotation`] | rotating | a list that is its own target |
//!
//! [`RedisBackend::recipe`](crate::RedisBackend::recipe) makes a backend of one, for typed handles,
//! workers, layers and the simulator.
//!
//! What all have in common: ids are hashes of what names an entry on the server, so equal names have
//! one id. A receipt is known to the handle that got it, and to no other. Extending and resuming
//! succeed, so that workers run; for the same reason a holder's name is accepted, and kept nowhere.
//! Retry, defer and release put an entry back in one step; bury appends the body to the list
//! `{name}:dead`. After a settlement of unknown outcome the handle gives its hold up, since another
//! settlement could add a second entry. Times are the client's. Braces are place-holders: no published
//! key has a hash tag.
//!
//! # On a cluster
//!
//! All keys of a queue have to be in one slot, or opening it fails with `Configuration` and names them.
//! [`FixedLength`], [`DistinctZset`] and [`Rotation`] have one key, and open under any name. The others that
//! have a key to set open where that has a hash tag, as
//! `SharedBackup::default().key("{jobs}")`, whose backup is `{jobs}:backup`; [`ZsetString`] needs one in its
//! prefix, too. [`WaitActive`], [`ZsetJson`] and [`PriorityLists`] have none to set.
//!
//! Calls go after a slot that moves, as those of the default queues do, and so do pops that block. While a
//! slot moves key by key, a pop that blocks hears of what is pushed only at the end of the move, or of its
//! own time; and a command over two keys waits for the end of the move where one of them is not there.

mod blocking_list;
mod declared;
mod distinct_zset;
mod fixed_length;
mod key_lock;
mod lists;
mod pops;
mod priority_lists;
mod private_backup;
mod published;
mod rotation;
mod server;
mod shared_backup;
mod shell;
mod strategy;
mod stream;
mod wait_active;
mod zset_json;
mod zset_string;
mod zsets;

pub use self::{
    blocking_list::BlockingList,
    distinct_zset::DistinctZset,
    fixed_length::FixedLength,
    key_lock::KeyLock,
    priority_lists::PriorityLists,
    private_backup::PrivateBackup,
    published::{Opened, Opening, Published, Recipe},
    rotation::Rotation,
    shared_backup::SharedBackup,
    stream::Stream,
    wait_active::WaitActive,
    zset_json::ZsetJson,
    zset_string::ZsetString,
};
