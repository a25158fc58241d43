//! Twelve strategies on Redis as others have published them, key for key and command for command;
//! with their modes they are twenty.
//!
//! Use a recipe to *migrate* (old producers or consumers keep running while you introduce this library), to *compare*
//! (benchmarks side by side), or to *learn* what each recipe loses. Its declared [`Guarantees`](queue_core::Guarantees)
//! name the rules of the contract that it breaks, and why. For new queues, use the default ones: they keep every rule.
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
//! | [`FixedLength`] | bounded | a list kept to a length, by five methods |
//! | [`DistinctZset`] | bounded | the newest different bodies |
//! | [`KeyLock`] | bounded | a list of fixed length, and a lock for each key |
//! | [`Rotation`] | rotating | a list that is its own target |
//!
//! [`RecipeBackend`] makes a backend from a recipe, for typed handles, workers, layers and the simulator. The
//! repository's page `docs/strategies.md` compares the recipes, and leads from each to a default queue.
//!
//! All recipes have this in common. Ids are hashes of an entry's name on the server, so equal names have one id. Only
//! the handle that got a receipt knows it. Extending and resuming succeed, so that workers run; for the same reason a
//! holder's name is accepted, but not stored. Retry, defer and release put an entry back in one step; bury appends the
//! body to a list of dead letters. After a settlement of unknown outcome the handle gives up its hold, because another
//! settlement could add a second entry. Times come from the client's clock. A setting out of range is `Invalid` when a
//! queue opens.
//!
//! # Keys
//!
//! Published keys have the published names: `{name}` in their tables stands for the queue's name. The names of the
//! other keys, such as backups, levels, locks and dead letters, were never published. They are *companions* of the
//! queue's key: for the list `jobs`, the dead letters are in the list `{jobs}:dead`, with these braces. So a companion
//! is in the slot of its key, and no queue has its name. A key that has a hash tag keeps it: for the list `a{jobs}`,
//! the dead letters are in `a{jobs}:dead`. In the tables, `{…}` stands for the queue's key at the beginning of a
//! companion's name. The lists `jobs` and `{jobs}` would share their companions: set the companions' keys of one of
//! them. Each companion's key can be set, because old programs may have their own names for it.
//!
//! # On a cluster
//!
//! All keys of a queue have to be in one slot, or opening it fails with `Configuration` and names them. Most recipes
//! open under any name, because their companions are in the slot of their key. [`ZsetString`] needs the hash tag of its
//! key in its prefix, too. [`ZsetJson::with_processing`] needs one tag in `key` and `processing_key`. [`WaitActive`]
//! does not open on a cluster: its registries have fixed names.
//!
//! Calls follow a slot that moves, as calls of the default queues do, and so do blocking pops. While a slot moves key
//! by key, a blocking pop sees new entries only when the move ends or the pop times out. A command over two keys waits
//! for the end of the move if one of the keys is on the other node.

mod backend;
mod blocking_list;
mod companions;
mod declared;
mod distinct_zset;
mod fixed_length;
mod json;
mod key_lock;
mod lists;
mod pops;
mod priority_lists;
mod private_backup;
mod rotation;
mod server;
mod settings;
mod shared_backup;
mod shell;
mod strategy;
mod stream;
mod wait_active;
mod zset_json;
mod zset_string;
mod zsets;

pub use self::{
    backend::{OpenTarget, Opened, Recipe, RecipeBackend},
    blocking_list::BlockingList,
    distinct_zset::DistinctZset,
    fixed_length::FixedLength,
    key_lock::KeyLock,
    priority_lists::PriorityLists,
    private_backup::PrivateBackup,
    rotation::Rotation,
    shared_backup::SharedBackup,
    stream::Stream,
    wait_active::WaitActive,
    zset_json::ZsetJson,
    zset_string::ZsetString,
};
