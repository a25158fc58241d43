//! Databases, by client.

mod error;
#[cfg(any(feature = "sqlx-postgres", feature = "tokio-postgres"))]
mod postgres;
#[cfg(feature = "sqlx-postgres")]
mod sqlx_postgres;
#[cfg(feature = "sqlx-sqlite")]
mod sqlx_sqlite;
#[cfg(feature = "tokio-postgres")]
mod tokio_postgres;

#[cfg(feature = "sqlx-postgres")]
pub use self::sqlx_postgres::SqlxPostgres;
#[cfg(feature = "sqlx-sqlite")]
pub use self::sqlx_sqlite::SqlxSqlite;
#[cfg(feature = "tokio-postgres")]
pub use self::tokio_postgres::TokioPostgres;
