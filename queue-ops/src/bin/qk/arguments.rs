//! The command line.

use std::{
    ffi::OsString, fmt, net::SocketAddr, num::NonZeroUsize, path::PathBuf, str::FromStr,
    time::Duration,
};

use clap::{Args, Parser, Subcommand, builder::OsStringValueParser, builder::TypedValueParser};
use queue_core::{Bytes, LeaseRate, MessageId, Place};

use crate::recipe::Recipe;

/// The shortest interval between two samples.
const SHORTEST: Duration = Duration::from_millis(100);

/// Says why a queue stands still, and does what an operator has to do.
#[derive(Debug, Parser)]
#[command(name = "qk", version, about)]
pub(crate) struct Arguments {
    /// Where the queues are: redis:// or unix:, with +sentinel or +cluster, or rediss:// for TLS; or file:PATH.
    #[arg(
        long,
        short,
        global = true,
        display_order = 990,
        env = "QUEUE_URL",
        hide_env_values = true,
        default_value = "redis://127.0.0.1:6379"
    )]
    pub(crate) url: String,
    /// Writes JSON, for scripts.
    #[arg(long, global = true, display_order = 991)]
    pub(crate) json: bool,
    /// The queues are of this published strategy, with its own keys. Commands that the strategy lacks say so.
    #[arg(long, global = true, display_order = 992, hide_possible_values = true)]
    pub(crate) recipe: Option<Recipe>,
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Lists the queues, paused ones first.
    #[command(visible_alias = "list")]
    Ls,
    /// Says why a queue stands still, or that it does not. Without a queue: each one that has findings.
    Why(Why),
    /// Says what `why` says, and says it again once its findings are others; then ends, with the status of `why`.
    Watch {
        #[command(flatten)]
        why: Why,
        /// The milliseconds between two looks.
        #[arg(long, default_value = "5000", value_parser = interval)]
        every_ms: Duration,
    },
    /// Shows a queue's counters.
    Stats {
        /// The name of the queue.
        queue: String,
    },
    /// Lists the consumers of a queue: those that wait, and those that have messages.
    Consumers {
        /// The name of the queue.
        queue: String,
    },
    /// Lists the groups of a grouped queue: those that may run in their turns, then the others.
    Groups {
        /// The name of the queue.
        queue: String,
        /// The most groups.
        #[arg(long, short = 'n', default_value = "20")]
        limit: NonZeroUsize,
    },
    /// Lists the workers that register, with their programs, queues and slots; those that are gone first.
    Workers,
    /// Shows messages of a place, and changes nothing.
    Peek {
        /// The name of the queue.
        queue: String,
        /// ready, delayed or leased.
        #[arg(value_parser = place)]
        place: Place,
        /// The most messages.
        #[arg(long, short = 'n', default_value = "20")]
        limit: NonZeroUsize,
        /// Leaves the bodies out.
        #[arg(long)]
        no_bodies: bool,
    },
    /// Says what became of a message.
    Show {
        /// The name of the queue.
        queue: String,
        /// The id of the message.
        id: MessageId,
    },
    /// Pushes a message, or each line of the standard input.
    Push(Push),
    /// Takes undelivered messages out.
    Cancel {
        /// The name of the queue.
        queue: String,
        /// The ids of messages.
        #[arg(required = true)]
        ids: Vec<MessageId>,
        /// Takes the undelivered children of durable jobs out, too, and theirs.
        #[arg(long)]
        family: bool,
    },
    /// Makes delayed messages due now: retries and defers that wait, and messages that were pushed with a due time.
    Run(Run),
    /// Gives leased messages back at once, with no attempt spent. Their holders lose their leases.
    Release(Chosen),
    /// Acks leased messages: their work is done, and they are gone.
    Ack(Chosen),
    /// Ends leased messages' attempts as failed. They are ready again at once, or dead after the last attempt.
    Retry {
        #[command(flatten)]
        chosen: Chosen,
        /// The reason that the message keeps.
        #[arg(long, default_value = "retried by an operator")]
        reason: String,
    },
    /// Sends leased messages to the dead letters.
    Bury {
        #[command(flatten)]
        chosen: Chosen,
        /// The reason that the dead letters show.
        #[arg(long, default_value = "buried by an operator")]
        reason: String,
    },
    /// Dead letters: lists, groups, revives and discards them.
    Dead {
        #[command(subcommand)]
        command: Dead,
    },
    /// Stops a queue from handing out messages; or one group of a grouped queue, for a time.
    Pause {
        /// The name of the queue.
        queue: String,
        /// The key of the group.
        #[arg(long, requires = "for_ms", value_parser = key())]
        group: Option<Bytes>,
        /// The time for which the group is paused.
        #[arg(long, requires = "group", value_parser = millis)]
        for_ms: Option<Duration>,
    },
    /// Hands out messages again.
    Resume {
        /// The name of the queue.
        queue: String,
        /// The key of a group that is paused.
        #[arg(long, value_parser = key())]
        group: Option<Bytes>,
    },
    /// Gives a group of a grouped queue a rule for a time, in place of the one that it had; or ends it.
    Rule(Rule),
    /// Removes all ready and delayed messages of a queue.
    Purge {
        /// The name of the queue.
        queue: String,
        /// Does it; without it, says what it would do.
        #[arg(long)]
        yes: bool,
    },
    /// Writes all messages as lines of JSON, and changes nothing. Pause the queue for an exact copy.
    Export {
        /// The name of the queue.
        queue: String,
        /// The file, which must not exist. By default the standard output.
        #[arg(long, short)]
        output: Option<PathBuf>,
    },
    /// Pushes the ready and delayed messages of an export. Repeat it if it breaks: within seven days it pushes none
    /// twice.
    Import(Import),
    /// Moves ready and delayed messages to another queue. Pauses the first one.
    Move(Move),
    /// Changes the stored configuration.
    Reconfigure {
        /// The name of the queue.
        queue: String,
        /// max_attempts=N, dead_letter_cap=N, at_once=N, rate=N/MS, capacity=N, pace_ms=N, ageing_ms=N. A limit of 0, or `none`, is none.
        #[arg(required = true)]
        settings: Vec<Setting>,
    },
    /// Removes a queue with all its messages.
    Remove {
        /// The name of the queue.
        queue: String,
        /// Also if messages are leased.
        #[arg(long)]
        even_if_leased: bool,
        /// Does it; without it, says what it would do.
        #[arg(long)]
        yes: bool,
    },
    /// Periodic jobs: lists, enables, disables, removes and runs them.
    Schedules {
        #[command(subcommand)]
        command: Schedules,
    },
    /// The outbox of a database: counts its rows, lists those that are refused, and tries them again.
    Outbox {
        #[command(subcommand)]
        command: Outbox,
    },
    /// Checks the server: what hurts now, and what will later.
    Check,
    /// Repairs a folder (`file:`) whose journal is damaged. Queues go back to their states before the damage.
    Repair {
        /// Does it; without it, says what would be lost.
        #[arg(long)]
        yes: bool,
    },
    /// Shows the queues and their rates, live.
    Top {
        /// The milliseconds between two samples.
        #[arg(long, default_value = "1000", value_parser = interval)]
        every_ms: Duration,
    },
    /// Serves the page for operators. Read-only, unless there is a token.
    Web(Web),
    /// Prints a script that completes the commands of `qk` in a shell.
    Completions {
        /// The shell.
        shell: clap_complete::Shell,
    },
    /// Prints the manual page of `qk`, for `man`.
    Man,
    /// Prints the least rights that a user of the queues needs, for ACL SETUSER.
    Acl {
        /// The prefix of the keys.
        #[arg(long, default_value = "qk")]
        prefix: String,
        /// Of a cluster.
        #[arg(long)]
        cluster: bool,
        /// Lists the rights that are left out instead: what each gives, and what it exposes.
        #[arg(long)]
        optional: bool,
        /// The rights of a user who only looks: `ls`, `why`, `peek` and their like. Needs Redis 7.0.
        #[arg(long, conflicts_with = "optional")]
        read_only: bool,
    },
}

impl Command {
    /// Whether it looks at a folder without the folder's lock. An action on a page without a token is refused.
    pub(crate) const fn only_looks_at_folder(&self) -> bool {
        match self {
            Self::Web(web) => web.token_file.is_none(),
            Self::Schedules {
                command: Schedules::Ls { .. },
            } => true,
            _ => self.only_looks(),
        }
    }

    /// Whether it changes nothing, so that a user who may only read can call it.
    pub(crate) const fn only_looks(&self) -> bool {
        matches!(
            self,
            Self::Ls
                | Self::Why(_)
                | Self::Watch { .. }
                | Self::Stats { .. }
                | Self::Consumers { .. }
                | Self::Groups { .. }
                | Self::Workers
                | Self::Peek { .. }
                | Self::Show { .. }
                | Self::Export { .. }
                | Self::Check
                | Self::Top { .. }
                | Self::Dead {
                    command: Dead::Ls { .. } | Dead::Groups { .. }
                }
        )
    }
}

#[derive(Debug, Args)]
pub(crate) struct Why {
    /// The name of the queue; without it, all queues.
    pub(crate) queue: Option<String>,
    /// A setting that a program expects in the stored configuration: max_attempts=7.
    #[arg(long)]
    pub(crate) expect: Vec<Setting>,
    /// The name with which programs open their schedules.
    #[arg(long, default_value = "schedules")]
    pub(crate) schedules: String,
    /// The database of an outbox, which is looked at as well: postgres://… or sqlite:….
    #[arg(long, env = "QUEUE_DATABASE", hide_env_values = true)]
    pub(crate) database: Option<String>,
    /// Status 1 only if a queue stands still, not for each finding: for an alarm.
    #[arg(long)]
    pub(crate) standstill: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Web {
    /// Where to listen.
    #[arg(long, default_value = "127.0.0.1:7700")]
    pub(crate) listen: SocketAddr,
    /// The file with the token of those who may act. Without it, the page is read-only.
    #[arg(long)]
    pub(crate) token_file: Option<PathBuf>,
    /// A name under which browsers reach the page, beside the address: ops.example.com. Needed for all addresses
    /// (0.0.0.0).
    #[arg(long)]
    pub(crate) host: Vec<String>,
    /// The address under which browsers reach the page behind a proxy, with its scheme and path. With https, cookies
    /// are sent over TLS alone.
    #[arg(long, value_name = "URL")]
    pub(crate) public_url: Option<String>,
    /// Shows no bodies.
    #[arg(long)]
    pub(crate) no_bodies: bool,
    /// The milliseconds between two samples, for rates, charts and the metric of standstill.
    #[arg(long, default_value = "10000", value_parser = interval)]
    pub(crate) every_ms: Duration,
    /// The name with which programs open their schedules.
    #[arg(long, default_value = "schedules")]
    pub(crate) schedules: String,
}

#[derive(Debug, Args)]
pub(crate) struct Push {
    /// The name of the queue.
    pub(crate) queue: String,
    /// The body. `-` reads the standard input: each of its lines is a message, and empty ones are skipped.
    pub(crate) body: String,
    /// With `-`: the whole standard input is one body.
    #[arg(long)]
    pub(crate) whole: bool,
    /// The name of the job's type.
    #[arg(long)]
    pub(crate) job: Option<String>,
    /// A header, as name=value.
    #[arg(long, value_parser = pair)]
    pub(crate) header: Vec<(String, String)>,
    /// The milliseconds until it is due.
    #[arg(long, value_parser = millis)]
    pub(crate) delay_ms: Option<Duration>,
    /// The key of its group, on a grouped queue; `-` by default.
    #[arg(long, value_parser = key())]
    pub(crate) group: Option<Bytes>,
    /// Replaces the undelivered message that was pushed with the same key.
    #[arg(long, value_parser = key())]
    pub(crate) distinct: Option<Bytes>,
    /// The milliseconds after which the message is due at the latest, counted from the first of those that it replaces.
    #[arg(long, value_parser = millis, requires = "distinct")]
    pub(crate) at_latest_ms: Option<Duration>,
    /// The priority, on a priority queue; 0 by default.
    #[arg(long, allow_hyphen_values = true)]
    pub(crate) priority: Option<i16>,
}

#[derive(Debug, Args)]
pub(crate) struct Import {
    /// The name of the queue.
    pub(crate) queue: String,
    /// The file of `qk export`.
    pub(crate) file: PathBuf,
    /// Pushes messages that were leased as well.
    #[arg(long)]
    pub(crate) leased: bool,
    /// Pushes dead letters as well.
    #[arg(long)]
    pub(crate) dead: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Move {
    /// The name of the queue whose messages move.
    pub(crate) from: String,
    /// The name of the queue that gets them.
    pub(crate) to: String,
    /// The name of a move that broke, which goes on.
    #[arg(long)]
    pub(crate) transfer: Option<String>,
    /// Does it; without it, says what it would do.
    #[arg(long)]
    pub(crate) yes: bool,
}

/// Delayed messages, by their ids or all of them.
#[derive(Debug, Args)]
pub(crate) struct Run {
    /// The name of the queue.
    pub(crate) queue: String,
    /// The ids of messages.
    #[arg(required_unless_present = "all_delayed")]
    pub(crate) ids: Vec<MessageId>,
    /// All that are delayed now.
    #[arg(long, conflicts_with = "ids")]
    pub(crate) all_delayed: bool,
    /// Of all, those whose last failure has this text in it.
    #[arg(long, requires = "all_delayed")]
    pub(crate) reason: Option<String>,
    /// With --all-delayed: does it; without it, says what it would do.
    #[arg(long)]
    pub(crate) yes: bool,
}

/// Leased messages, by their ids or by their holder.
#[derive(Debug, Args)]
pub(crate) struct Chosen {
    /// The name of the queue.
    pub(crate) queue: String,
    /// The ids of messages.
    #[arg(required_unless_present = "holder")]
    pub(crate) ids: Vec<MessageId>,
    /// All that this holder has, by the name that `qk consumers` shows; '' for leases without a name.
    #[arg(long, conflicts_with = "ids")]
    pub(crate) holder: Option<String>,
    /// Does it; without it, says what it would do.
    #[arg(long)]
    pub(crate) yes: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Dead {
    /// Lists dead letters.
    #[command(visible_alias = "list")]
    Ls {
        /// The name of the queue.
        queue: String,
        /// The most dead letters.
        #[arg(long, short = 'n', default_value = "20")]
        limit: NonZeroUsize,
    },
    /// Groups dead letters by their failure.
    Groups {
        /// The name of the queue.
        queue: String,
    },
    /// Puts dead letters back.
    Revive {
        #[command(flatten)]
        choice: DeadChoice,
        /// Without the states that their holders stored: a durable job takes all its steps again.
        #[arg(long)]
        fresh: bool,
        /// So many a second, until the first of them dies again.
        #[arg(long)]
        per_second: Option<NonZeroUsize>,
    },
    /// Removes dead letters for good.
    Discard(DeadChoice),
}

/// Dead letters, by their ids, by their group, or all.
#[derive(Debug, Args)]
pub(crate) struct DeadChoice {
    /// The name of the queue.
    pub(crate) queue: String,
    /// The ids of messages.
    #[arg(required_unless_present_any = ["group", "reason", "all"])]
    pub(crate) ids: Vec<MessageId>,
    /// The dead letters of the group with this name, which `qk dead groups` shows: it stands for their cause.
    #[arg(long, conflicts_with_all = ["ids", "all"])]
    pub(crate) group: Option<String>,
    /// Those whose reason has this text in it.
    #[arg(long, conflicts_with_all = ["ids", "group", "all"])]
    pub(crate) reason: Option<String>,
    /// All of them.
    #[arg(long, conflicts_with = "ids")]
    pub(crate) all: bool,
    /// Does it; without it, says what it would do.
    #[arg(long)]
    pub(crate) yes: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Schedules {
    /// Lists the schedules.
    #[command(visible_alias = "list")]
    Ls {
        #[command(flatten)]
        ring: Ring,
    },
    /// Enables a schedule.
    Enable {
        /// The name of the schedule.
        name: String,
        #[command(flatten)]
        ring: Ring,
    },
    /// Disables a schedule.
    Disable {
        /// The name of the schedule.
        name: String,
        #[command(flatten)]
        ring: Ring,
    },
    /// Removes a schedule.
    Remove {
        /// The name of the schedule.
        name: String,
        #[command(flatten)]
        ring: Ring,
    },
    /// Runs a schedule once, now.
    Run {
        /// The name of the schedule.
        name: String,
        #[command(flatten)]
        ring: Ring,
    },
}

#[derive(Debug, Args)]
pub(crate) struct Ring {
    /// The name with which programs open their schedules.
    #[arg(long, default_value = "schedules")]
    pub(crate) ring: String,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Outbox {
    /// Counts the rows of each queue, and says how old the oldest is.
    #[command(visible_alias = "list")]
    Ls {
        #[command(flatten)]
        database: Database,
    },
    /// Lists the rows that a relay refused, with the reasons.
    Refused {
        #[command(flatten)]
        database: Database,
        /// Shows the rows behind the one with this id.
        #[arg(long, default_value = "0")]
        after: i64,
        /// The most rows.
        #[arg(long, short = 'n', default_value = "20")]
        limit: NonZeroUsize,
    },
    /// Puts refused rows into the outbox again. A row that was held (`held: …`) may have been pushed before: then its
    /// message comes twice.
    Retry {
        #[command(flatten)]
        database: Database,
        /// The ids of rows.
        #[arg(required_unless_present = "all")]
        ids: Vec<i64>,
        /// All refused rows.
        #[arg(long, conflicts_with = "ids")]
        all: bool,
        /// With --all: does it; without it, says what it would do.
        #[arg(long)]
        yes: bool,
    },
}

#[derive(Debug, Args)]
pub(crate) struct Database {
    /// The database of the outbox: postgres://… or sqlite:…. PGPASSWORD may have the password.
    #[arg(long, env = "QUEUE_DATABASE", hide_env_values = true)]
    pub(crate) database: String,
}

/// One setting of a configuration.
#[derive(Debug, Clone)]
pub(crate) struct Setting {
    pub(crate) name: String,
    pub(crate) value: u64,
    /// Of a rate: its time in milliseconds.
    pub(crate) per: Option<u64>,
}

impl fmt::Display for Setting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}={}", self.name, self.value)?;
        self.per.map_or(Ok(()), |per| write!(f, "/{per}"))
    }
}

impl FromStr for Setting {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (name, value) = pair(text)?;
        let number = |text: &str| match text {
            "none" => Ok(0),
            _ => text.parse().map_err(|_| format!("`{text}` is no number")),
        };
        let (value, per) = match value.split_once('/') {
            Some((value, per)) => (number(value)?, Some(number(per)?)),
            None => (number(&value)?, None),
        };
        if per.is_some() && name != "rate" && name != "group_rate" {
            return Err(format!("`{text}`: only a rate has a time"));
        }
        Ok(Self { name, value, per })
    }
}

/// A rule of a group.
#[derive(Debug, Args)]
pub(crate) struct Rule {
    /// The name of the queue.
    pub(crate) queue: String,
    /// The key of the group.
    #[arg(value_parser = key())]
    pub(crate) group: Bytes,
    /// The number of messages for each message of a group without a rule.
    #[arg(long, default_value_t = 1)]
    pub(crate) weight: u32,
    /// The most messages of the group under leases. In loose order only.
    #[arg(long)]
    pub(crate) at_once: Option<u32>,
    /// The messages of the group that are handed out in a time, messages and milliseconds: `10/1000`.
    #[arg(long, value_parser = rate)]
    pub(crate) rate: Option<LeaseRate>,
    /// The time until the rule ends.
    #[arg(long, value_parser = millis, required_unless_present = "end")]
    pub(crate) for_ms: Option<Duration>,
    /// Ends the group's rule.
    #[arg(long, conflicts_with_all = ["weight", "at_once", "rate", "for_ms"])]
    pub(crate) end: bool,
}

/// Reads the key of a group: its bytes need not be text.
fn key() -> impl TypedValueParser<Value = Bytes> {
    OsStringValueParser::new().map(|key: OsString| Bytes::from(key.into_encoded_bytes()))
}

fn pair(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once('=').ok_or("write it as name=value")?;
    Ok((name.to_owned(), value.to_owned()))
}

fn millis(text: &str) -> Result<Duration, String> {
    let millis = text
        .parse()
        .map_err(|_| format!("`{text}` is no number of milliseconds"))?;
    Ok(Duration::from_millis(millis))
}

fn rate(text: &str) -> Result<LeaseRate, String> {
    let shape = || format!("`{text}` is no rate: write it as <messages>/<ms>, such as 10/1000");
    let (most, per) = text.split_once('/').ok_or_else(shape)?;
    let per = millis(per).map_err(|_| shape())?;
    Ok(LeaseRate::new(most.parse().map_err(|_| shape())?, per))
}

fn interval(text: &str) -> Result<Duration, String> {
    let interval = millis(text)?;
    match interval < SHORTEST {
        true => Err(format!("`{text}` ms between two samples: at least 100")),
        false => Ok(interval),
    }
}

fn place(text: &str) -> Result<Place, String> {
    match text {
        "ready" => Ok(Place::Ready),
        "delayed" => Ok(Place::Delayed),
        "leased" => Ok(Place::Leased),
        _ => Err(format!(
            "`{text}` is no place: ready, delayed or leased; dead letters have `qk dead`"
        )),
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_command_line_is_sound() {
        Arguments::command().debug_assert();
    }
}
