//! The pages of `docs/` whose blocks are tested as documentation.

#[cfg(all(feature = "memory", feature = "worker"))]
#[doc = include_str!("../README.md")]
struct Readme;

#[cfg(feature = "memory")]
#[doc = include_str!("../docs/kinds.md")]
struct Kinds;

#[cfg(all(feature = "memory", feature = "worker"))]
#[doc = include_str!("../docs/jobs.md")]
struct Jobs;

#[cfg(all(feature = "memory", feature = "worker"))]
#[doc = include_str!("../docs/durable.md")]
struct Durable;

#[cfg(all(feature = "memory", feature = "worker"))]
#[doc = include_str!("../docs/retries.md")]
struct Retries;

#[cfg(all(feature = "memory", feature = "cron"))]
#[doc = include_str!("../docs/delays.md")]
struct Delays;

#[cfg(feature = "memory")]
#[doc = include_str!("../docs/groups.md")]
struct Groups;

#[cfg(all(feature = "memory", feature = "worker", feature = "sql-sqlite"))]
#[doc = include_str!("../docs/sql.md")]
struct Sql;

#[cfg(feature = "file")]
#[doc = include_str!("../docs/file.md")]
struct File;

#[cfg(all(feature = "memory", feature = "tls"))]
#[doc = include_str!("../docs/redis.md")]
struct Redis;

#[cfg(feature = "memory")]
#[doc = include_str!("../docs/migrating.md")]
struct Migrating;
