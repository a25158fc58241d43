//! Errors of databases as errors of this library.

use queue_core::{Error, ErrorKind, Outcome};

use crate::VERSION;

/// The error of a missing table or column.
pub(super) fn missing(said: &str) -> Error {
    configuration(format!(
        "the tables of queue-sql are missing, or of another version ({said}): call `migrate()` of the store once, or run \
         the files in `migrations/` of queue-sql"
    ))
}

/// Checks the version in the table `queue_sql`.
pub(super) fn check_version(found: i32) -> Result<(), Error> {
    match found.cmp(&VERSION) {
        std::cmp::Ordering::Equal => Ok(()),
        std::cmp::Ordering::Less => Err(missing(&format!("version {found}, not {VERSION}"))),
        std::cmp::Ordering::Greater => Err(configuration(format!(
            "the tables of queue-sql have version {found}, and this program knows {VERSION}: deploy a program with a newer \
             queue-sql"
        ))),
    }
}

/// The error of a statement, by its SQLSTATE.
#[cfg(any(feature = "sqlx-postgres", feature = "tokio-postgres"))]
pub(super) fn from_state(state: &str, said: &str) -> Error {
    match state {
        "42P01" | "42703" | "3F000" => missing(said),
        "42501" => configuration(format!(
            "the database refuses a statement of queue-sql ({said}): docs/sql.md lists the rights of each role"
        )),
        // Connections, transactions that cross, resources, an operator's stop, and a failed disk.
        _ if ["08", "25", "40", "53", "55", "57", "58"].contains(&state.get(..2).unwrap_or("")) => {
            unavailable(said)
        }
        _ => Error::new(
            ErrorKind::Internal,
            format!("the database refuses a statement of queue-sql: {said} (SQLSTATE {state})"),
        ),
    }
}

/// The error of a database that cannot be reached, or does not reply. The transaction's commit decides what took effect.
pub(super) fn unavailable(said: &str) -> Error {
    Error::new(ErrorKind::Unavailable, format!("the database: {said}"))
        .with_outcome(Outcome::Unknown)
}

fn configuration(message: String) -> Error {
    Error::new(ErrorKind::Configuration, message)
}
