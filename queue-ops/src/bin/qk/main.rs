//! `qk`: why a queue stands still, and what an operator does about it.

mod arguments;
mod dead;
#[cfg(unix)]
mod folder;
mod groups;
mod help;
mod lines;
mod listener;
mod messages;
mod outbox;
mod output;
mod paging;
#[cfg(all(test, unix))]
mod pasted;
mod queues;
mod recipe;
#[cfg(unix)]
mod repair;
mod schedules;
mod server;
mod top;
mod transfer;
mod web;
mod why;

use std::process::ExitCode;

use clap::{ArgMatches, FromArgMatches, ValueEnum, parser::ValueSource};
use queue_core::{AnyQueue, Backend, Error, ErrorKind, Leasing, QueueConfig, QueueName};
use queue_ops::ShellCommand;
use queue_redis::RedisBackend;
use std::sync::Arc;

use self::{
    arguments::{Arguments, Command},
    output::Output,
};

/// How a command ended, if not by an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    /// All is well, or done.
    Well,
    /// Something was found, or nothing was done.
    Findings,
}

impl End {
    /// `Well` if all was done, or if nothing was found.
    const fn all(is_well: bool) -> Self {
        if is_well { Self::Well } else { Self::Findings }
    }
}

type Outcome = Result<End, Error>;

#[tokio::main]
async fn main() -> ExitCode {
    let read = help::command_line().try_get_matches();
    let read = read.and_then(|matches| Ok((Arguments::from_arg_matches(&matches)?, matches)));
    let (arguments, matches) = match read {
        Ok(read) => read,
        Err(other) => {
            // Help, the version, or a line that is none.
            let is_shown = output::written(other.print()).is_ok();
            let status = if is_shown { other.exit_code() } else { 2 };
            return ExitCode::from(u8::try_from(status).unwrap_or(2));
        }
    };
    let output = Output {
        json: arguments.json,
        globals: globals(&arguments, &matches),
    };
    match run(&arguments, &output).await {
        Ok(End::Well) => ExitCode::SUCCESS,
        Ok(End::Findings) => ExitCode::from(1),
        // The reader of an export has seen enough.
        Err(error) if output::is_closed(&error) => ExitCode::SUCCESS,
        Err(error) => {
            output.error(&error);
            ExitCode::from(2)
        }
    }
}

async fn run(arguments: &Arguments, output: &Output) -> Outcome {
    match &arguments.command {
        Command::Acl {
            prefix,
            cluster,
            optional,
            read_only,
        } => return server::acl(prefix, *cluster, *optional, *read_only),
        Command::Completions { shell } => {
            let mut script = Vec::new();
            clap_complete::generate(*shell, &mut help::command_line(), "qk", &mut script);
            output::write_text(&String::from_utf8_lossy(&script))?;
            return Ok(End::Well);
        }
        Command::Outbox { command } => return outbox::run(command, output).await,
        Command::Man => {
            let page = clap_mangen::Man::new(help::command_line());
            output::written(page.render(&mut std::io::stdout()))?;
            return Ok(End::Well);
        }
        #[cfg(unix)]
        Command::Repair { yes } => return repair::repair(&arguments.url, *yes, output),
        _ => {}
    }
    let backend = connect(arguments).await;
    match &arguments.command {
        Command::Check => server::check(backend, output).await,
        _ => run_on(backend?, arguments, output).await,
    }
}

async fn connect(arguments: &Arguments) -> Result<Arc<dyn Backend>, Error> {
    let Arguments { url, command, .. } = arguments;
    if is_folder(url) {
        if arguments.recipe.is_some() {
            return Err(Error::invalid(
                "a folder has no published strategies: leave --recipe out",
            ));
        }
        #[cfg(unix)]
        return folder::open(url, command.only_looks_at_folder());
        #[cfg(not(unix))]
        return Err(Error::invalid("`file:` needs a Unix system"));
    }
    let redis = connect_to_redis(url, command.only_looks()).await?;
    Ok(match arguments.recipe {
        Some(recipe) if !matches!(command, Command::Check) => recipe::backend(redis, recipe),
        _ => Arc::new(redis),
    })
}

fn is_folder(url: &str) -> bool {
    let scheme = url.split_once(':').map_or("", |(scheme, _)| scheme);
    scheme.eq_ignore_ascii_case("file")
}

/// Connects; where the command only looks, as a user who may only read, too.
async fn connect_to_redis(url: &str, only_looks: bool) -> Result<RedisBackend, Error> {
    let builder = || RedisBackend::builder(url);
    match builder()?.connect().await {
        Err(error) if only_looks && error.kind() == ErrorKind::Configuration => {
            let reading = builder()?.read_only().connect().await;
            // The shorter list may be what its user was meant to have.
            reading.map_err(|reading| match reading.kind() {
                ErrorKind::Configuration if reading.to_string() != error.to_string() => {
                    let text = format!("{error}; to look only (`qk acl --read-only`): {reading}");
                    Error::new(ErrorKind::Configuration, text)
                }
                _ => error,
            })
        }
        connected => connected,
    }
}

/// Runs a command that needs a backend.
async fn run_on(shared: Arc<dyn Backend>, arguments: &Arguments, output: &Output) -> Outcome {
    let backend = &*shared;
    match &arguments.command {
        Command::Ls => queues::list(backend, arguments.recipe.is_some(), output).await,
        Command::Why(why) => why::why(&shared, why, arguments.recipe.is_none(), output).await,
        Command::Watch { why, every_ms } => {
            why::watch(&shared, why, *every_ms, arguments.recipe.is_none(), output).await
        }
        Command::Stats { queue } => queues::stats(backend, queue, output).await,
        Command::Consumers { queue } => queues::consumers(backend, queue, output).await,
        Command::Pause {
            queue,
            group: Some(group),
            for_ms: Some(lasts),
        } => groups::pause(backend, queue, group, *lasts, output).await,
        Command::Pause { queue, .. } => queues::pause(backend, queue, output).await,
        Command::Resume {
            queue,
            group: Some(group),
        } => groups::resume(backend, queue, group).await,
        Command::Resume { queue, group: None } => queues::resume(backend, queue).await,
        Command::Rule(rule) => groups::rule(backend, rule, output).await,
        Command::Purge { queue, yes } => queues::purge(backend, queue, *yes).await,
        Command::Remove {
            queue,
            even_if_leased,
            yes,
        } => queues::remove(backend, queue, *even_if_leased, *yes).await,
        Command::Reconfigure { queue, settings } => {
            queues::reconfigure(backend, queue, settings).await
        }
        Command::Peek {
            queue,
            place,
            limit,
            no_bodies,
        } => {
            let backend = Arc::clone(&shared);
            messages::peek(backend, queue, *place, limit.get(), *no_bodies, output).await
        }
        Command::Show { queue, id } => messages::show(backend, queue, *id, output).await,
        Command::Push(push) => messages::push(backend, push, output).await,
        Command::Cancel { queue, ids, family } => match family {
            true => messages::cancel_families(backend, queue, ids, output).await,
            false => messages::cancel(backend, queue, ids).await,
        },
        Command::Run(run) => messages::run(backend, run).await,
        Command::Release(chosen) => messages::release(backend, chosen, output).await,
        Command::Ack(chosen) => messages::ack(backend, chosen, output).await,
        Command::Retry { chosen, reason } => messages::retry(backend, chosen, reason, output).await,
        Command::Bury { chosen, reason } => messages::bury(backend, chosen, reason, output).await,
        Command::Dead { command } => dead::run(backend, command, output).await,
        Command::Schedules { command } => schedules::run(&shared, command, output).await,
        Command::Top { every_ms } => top::run(Arc::clone(&shared), *every_ms, output).await,
        Command::Web(arguments) => web::serve(shared, arguments).await,
        Command::Groups { queue, limit } => groups::list(backend, queue, limit.get(), output).await,
        Command::Workers => queues::workers(backend, output).await,
        Command::Export { queue, output: to } => {
            transfer::export_to(backend, queue, to.as_deref(), output).await
        }
        Command::Import(import) => transfer::import_from(backend, import, output).await,
        Command::Move(arguments) => transfer::move_all(backend, arguments, output).await,
        Command::Acl { .. }
        | Command::Check
        | Command::Completions { .. }
        | Command::Man
        | Command::Outbox { .. }
        | Command::Repair { .. } => Ok(End::Well),
    }
}

/// The options of this call that lead to its queues, as a command that is pasted needs them. A login is left out.
fn globals(arguments: &Arguments, matches: &ArgMatches) -> String {
    let mut globals = ShellCommand::new("");
    if matches.value_source("url") == Some(ValueSource::CommandLine) {
        globals = globals.option("url", without_login(&arguments.url));
    }
    let recipe = arguments
        .recipe
        .and_then(|recipe| recipe.to_possible_value());
    if let Some(recipe) = recipe {
        globals = globals.option("recipe", recipe.get_name());
    }
    let text = globals.text().unwrap_or_default();
    text.trim_start_matches("qk ").to_owned()
}

/// A URL without its user and password: a server that asks for them refuses the command, and harms nobody.
fn without_login(url: &str) -> String {
    if is_folder(url) {
        return url.to_owned();
    }
    let (place, query) = url.split_once('?').unwrap_or((url, ""));
    let start = place.find("://").map_or(0, |at| at + 3);
    let end = place[start..]
        .find('/')
        .map_or(place.len(), |at| start + at);
    let host = place[start..end]
        .rfind('@')
        .map_or(start, |at| start + at + 1);
    let is_secret = |pair: &&str| {
        let name = pair.split('=').next().unwrap_or_default();
        name.contains("pass") || name.contains("user")
    };
    let kept: Vec<&str> = query.split('&').filter(|pair| !is_secret(pair)).collect();
    let mut shown = [&place[..start], &place[host..]].concat();
    if kept.iter().any(|pair| !pair.is_empty()) {
        shown.push('?');
        shown.push_str(&kept.join("&"));
    }
    shown
}

/// Opens a queue as it is stored.
async fn open(backend: &dyn Backend, queue: &str) -> Result<(QueueConfig, AnyQueue), Error> {
    let name = QueueName::new(queue)?;
    let stored = backend.open_stored(&name).await?;
    let stored = stored.ok_or_else(|| {
        let message = "there is no such queue: `qk ls` lists those there are";
        Error::new(ErrorKind::Configuration, message).with_queue(&name)
    })?;
    Ok((stored.config, stored.queue))
}

/// Opens a queue that hands out messages under leases.
async fn open_leasing(backend: &dyn Backend, queue: &str) -> Result<Arc<dyn Leasing>, Error> {
    let (_, opened) = open(backend, queue).await?;
    opened.leasing().ok_or_else(|| {
        Error::invalid(format!(
            "`{queue}` is a ring: its items are never leased, and never die"
        ))
    })
}
