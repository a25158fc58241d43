//! An outbox and an inbox for SQL: a push that commits with your data, and an effect that happens once.
//!
//! ```
//! # #[cfg(feature = "sqlx-postgres")]
//! # async fn example(pool: sqlx::PgPool) -> Result<(), Box<dyn std::error::Error>> {
//! use std::time::Duration;
//! use queue_core::{Job, ReliableConfig};
//! use queue_sql::Outbox;
//! use serde::{Deserialize, Serialize};
//!
//! #[derive(Serialize, Deserialize)]
//! struct Welcome {
//!     user: u64,
//! }
//! impl Job for Welcome {
//!     const NAME: &'static str = "welcome";
//! }
//!
//! let outbox = Outbox::new().queue("mails", ReliableConfig::default())?;
//! let mut tx = pool.begin().await?;
//! sqlx::query("INSERT INTO users (id) VALUES (7)").execute(&mut *tx).await?;
//! let hour = Duration::from_secs(3600);
//! outbox.push(&mut *tx, "mails", &Welcome { user: 7 }).due_in(hour).await?;
//! tx.commit().await?;
//! # Ok(())
//! # }
//! ```
//!
//! [`Outbox`] is the producer's side, [`Relay`] moves committed rows to their queues, and [`Inbox`] makes a handler's
//! effect happen once. The repository's `docs/sql.md` is the guide.

#![cfg_attr(docsrs, feature(doc_cfg))]

mod inbox;
#[cfg(feature = "memory")]
mod memory;
mod message;
mod once;
mod outbox;
mod overview;
mod relay;
mod row;
mod statement;
#[cfg(any(
    feature = "sqlx-postgres",
    feature = "sqlx-sqlite",
    feature = "tokio-postgres"
))]
mod stores;
mod transaction;

/// The sqlx whose connections and pools this crate takes.
#[cfg(any(feature = "sqlx-postgres", feature = "sqlx-sqlite"))]
pub use sqlx;

#[cfg(feature = "memory")]
pub use self::memory::{MemoryDatabase, MemoryTransaction};
#[cfg(feature = "planted")]
pub use self::relay::PlantedBug;
#[cfg(feature = "sqlx-postgres")]
pub use self::stores::SqlxPostgres;
#[cfg(feature = "sqlx-sqlite")]
pub use self::stores::SqlxSqlite;
#[cfg(feature = "tokio-postgres")]
pub use self::stores::TokioPostgres;
pub use self::{
    inbox::{Inbox, InboxKey},
    message::{IntoMessage, Plain},
    once::OnceKeys,
    outbox::{Outbox, OutboxPush},
    overview::{OutboxCounts, RefusedRow},
    relay::{Relay, RelayEvent, RelayReport, Waker},
    row::{NewRow, OutboxRow},
    statement::{Statement, Value},
    transaction::{Inserting, Listener, Seen, Store, Taken, Transaction, Wish},
};

/// The version of the tables that this release reads and writes.
pub const VERSION: i32 = 1;

/// The tables as text: run each file once, in this order. `migrate` of a store does the same.
pub const POSTGRES_MIGRATIONS: [(&str, &str); 1] = [(
    "postgres-0001.sql",
    include_str!("../migrations/postgres-0001.sql"),
)];

/// The tables as text, for SQLite.
pub const SQLITE_MIGRATIONS: [(&str, &str); 1] = [(
    "sqlite-0001.sql",
    include_str!("../migrations/sqlite-0001.sql"),
)];
