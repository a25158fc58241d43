//! Commands about the outbox of a database.

#[cfg(not(feature = "outbox"))]
mod left_out {
    use queue_core::{Error, ErrorKind};
    use queue_ops::Diagnosis;

    use crate::{Outcome, arguments::Outbox, output::Output};

    fn left_out() -> Error {
        let message = "this qk was built without databases: `cargo install queue-ops --features cli,outbox` builds one with \
             them, in a checkout with `--path queue-ops` in place of the name";
        Error::new(ErrorKind::Configuration, message)
    }

    pub(crate) async fn run(_: &Outbox, _: &Output) -> Outcome {
        Err(left_out())
    }

    pub(crate) async fn diagnoses(_: &str) -> Result<Vec<Diagnosis>, Error> {
        Err(left_out())
    }
}

#[cfg(feature = "outbox")]
mod built_in {
    use std::{str::FromStr, sync::Arc, time::Duration};

    use queue_core::{Error, ErrorKind, sanitized};
    use queue_ops::{Diagnosis, ShellCommand, counted, diagnose_outbox, duration_in_words};
    use queue_sql::{SqlxPostgres, SqlxSqlite, Store};
    use sqlx::{
        ConnectOptions,
        postgres::{PgConnectOptions, PgPoolOptions},
        sqlite::{SqliteConnectOptions, SqlitePoolOptions},
    };

    use tokio::time::timeout;

    use crate::{
        End, Outcome,
        arguments::Outbox,
        output::{MORE, Output, one_line, table, write_line},
        without_login,
    };

    /// The longest time for a connection.
    const CONNECT: Duration = Duration::from_secs(5);

    /// Connects. An error shows nothing of the address, which may have a password.
    async fn connect(url: &str) -> Result<Arc<dyn Store>, Error> {
        let bad = |kind, what| {
            let message = format!(
                "--database: {what}: write postgres://user@host/database, or sqlite:/path/to/file.db"
            );
            Error::new(kind, message)
        };
        let store: Arc<dyn Store> = match url.split(':').next() {
            Some("postgres" | "postgresql") => {
                let options = PgConnectOptions::from_str(url);
                let options = options
                    .map_err(|_| bad(ErrorKind::Invalid, "this is no address of a Postgres"))?;
                // A pool tries until its time is over, and does not say why.
                let connected = timeout(CONNECT, options.connect()).await;
                let connected = connected.map_err(|_| "no answer in 5 s".to_owned());
                let connected = connected.and_then(|one| one.map_err(|error| error.to_string()));
                connected.map_err(|why| {
                    Error::new(ErrorKind::Unavailable, format!("the database: {why}"))
                })?;
                let pool = PgPoolOptions::new().max_connections(1);
                Arc::new(SqlxPostgres::new(pool.connect_lazy_with(options)))
            }
            Some("sqlite") => {
                let options = SqliteConnectOptions::from_str(url);
                let options = options
                    .map_err(|_| bad(ErrorKind::Invalid, "this is no address of a SQLite"))?;
                let pool = SqlitePoolOptions::new().max_connections(1);
                Arc::new(SqlxSqlite::new(pool.connect_lazy_with(options)))
            }
            _ => return Err(bad(ErrorKind::Invalid, "this is no address of a database")),
        };
        // The version of its tables.
        store.outbox().await?;
        Ok(store)
    }

    pub(crate) async fn run(command: &Outbox, output: &Output) -> Outcome {
        match command {
            Outbox::Ls { database } => list(&*connect(&database.database).await?, output).await,
            Outbox::Refused {
                database,
                after,
                limit,
            } => {
                let store = connect(&database.database).await?;
                refused(&*store, *after, limit.get(), output).await
            }
            Outbox::Retry {
                database,
                ids,
                all,
                yes,
            } => {
                let store = connect(&database.database).await?;
                retry(&*store, ids, *all && !yes, output).await
            }
        }
    }

    async fn list(store: &dyn Store, output: &Output) -> Outcome {
        let counts = store.counts().await?;
        output.show(&counts, || {
            let rows = counts.iter().map(|one| {
                vec![
                    one_line(&one.queue),
                    one.waiting.to_string(),
                    one.oldest.map_or_else(String::new, duration_in_words),
                    one.refused.to_string(),
                ]
            });
            match counts.is_empty() {
                true => "the outbox is empty".to_owned(),
                false => table(
                    &["QUEUE", "WAITING", "OLDEST", "REFUSED"],
                    &rows.collect::<Vec<_>>(),
                ),
            }
        })?;
        Ok(End::all(counts.iter().all(|one| one.refused == 0)))
    }

    async fn refused(store: &dyn Store, after: i64, limit: usize, output: &Output) -> Outcome {
        let most = u32::try_from(limit).unwrap_or(u32::MAX - 1);
        let mut rows = store.refused(after, most + 1).await?;
        let more = rows.len() > limit;
        rows.truncate(limit);
        output.show(&rows, || {
            let lines = rows.iter().map(|row| {
                vec![
                    row.id.to_string(),
                    one_line(&row.queue),
                    duration_in_words(row.age),
                    sanitized(&row.reason).into_owned(),
                ]
            });
            let mut text = match rows.is_empty() {
                true => "no row is refused".to_owned(),
                false => table(
                    &["ID", "QUEUE", "AGE", "REASON"],
                    &lines.collect::<Vec<_>>(),
                ),
            };
            if more {
                text.push_str(MORE);
            }
            text
        })?;
        Ok(End::all(rows.is_empty()))
    }

    /// `asks`: says what it would do.
    async fn retry(store: &dyn Store, ids: &[i64], asks: bool, output: &Output) -> Outcome {
        let sum = |counts: Vec<queue_sql::OutboxCounts>| counts.iter().map(|one| one.refused).sum();
        if asks {
            let rows = counted(sum(store.counts().await?), "refused row");
            write_line(&format!("would try {rows} again; --yes does it"))?;
            return Ok(End::Findings);
        }
        let ids = (!ids.is_empty()).then_some(ids);
        let again = store.retry(ids).await?;
        output.show(&again, || {
            format!("{} again", counted(again.len() as u64, "row"))
        })?;
        Ok(End::all(ids.is_none_or(|ids| again.len() == ids.len())))
    }

    /// The findings about the outbox, by queue. A command to paste names the database, without its login.
    pub(crate) async fn diagnoses(url: &str) -> Result<Vec<Diagnosis>, Error> {
        let mut diagnoses = diagnose_outbox(&*connect(url).await?).await?;
        let findings = diagnoses.iter_mut().flat_map(|one| &mut one.findings);
        for remedy in findings.filter_map(|finding| finding.remedy.as_mut()) {
            if remedy.command.is_some() {
                let command = ShellCommand::new("outbox refused");
                remedy.command = command.option("database", without_login(url)).text();
            }
        }
        Ok(diagnoses)
    }
}

#[cfg(feature = "outbox")]
pub(crate) use self::built_in::{diagnoses, run};
#[cfg(not(feature = "outbox"))]
pub(crate) use self::left_out::{diagnoses, run};
