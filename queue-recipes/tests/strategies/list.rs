use std::{sync::Arc, time::Duration};

use queue_core::{Backend, Guarantees, QueueKind};
use queue_recipes::*;
use queue_redis::RedisBackend;
use queue_sim::{
    plan::Process,
    wire::RedisEnvironment,
    world::{Environment, MemoryEnvironment},
};
use real_redis::ServerError;

use crate::TrialCondition;

/// A strategy to play, at the pace of the simulation: it has milliseconds in place of seconds.
#[derive(Debug, Clone)]
pub(crate) struct Strategy {
    /// The features that it has, and the rules that it declares to break.
    pub(crate) guarantees: Guarantees,
    on: On,
}

/// The backend of a strategy.
#[derive(Debug, Clone, Copy)]
enum On {
    /// The default queues in memory.
    Memory,
    /// The default queues on Redis.
    Redis,
    /// A recipe, and the facts that the simulator needs about it.
    Recipe(fn(RedisBackend, Process) -> Arc<dyn Backend>, Sight),
}

/// The facts that the simulator can see of a recipe besides its answers.
#[derive(Debug, Clone, Copy)]
enum Sight {
    /// Nothing.
    Answers,
    /// The length of its queue, which this command answers.
    Length(&'static [&'static str]),
    /// Nothing, and its times are the server's own, which run beside the virtual time.
    ServerTimes,
}

impl Strategy {
    /// Whether it is a default strategy, which has all calls and keeps every rule.
    pub(crate) const fn is_default(&self) -> bool {
        !matches!(self.on, On::Recipe(..))
    }

    /// Whether the same decisions play the same run. If the server's own clock decides, which runs beside the virtual
    /// time, they do not, so no plan is kept.
    pub(crate) const fn is_repeatable(&self) -> bool {
        !matches!(self.on, On::Recipe(_, Sight::ServerTimes))
    }

    /// The environment in which it is played under this condition.
    ///
    /// # Errors
    ///
    /// If no server starts.
    pub(crate) fn environment(
        &self,
        condition: TrialCondition,
    ) -> Result<Box<dyn Environment>, ServerError> {
        let ahead = condition == TrialCondition::ClockAhead;
        Ok(match self.on {
            On::Memory => Box::new(MemoryEnvironment::new()),
            On::Redis => Box::new(RedisEnvironment::start()?),
            On::Recipe(serve, sight) => {
                let length = match sight {
                    Sight::Length(command) => Some(command),
                    Sight::Answers | Sight::ServerTimes => None,
                };
                let builder = RedisEnvironment::builder().serving(length, ahead, serve);
                Box::new(builder.start()?)
            }
        })
    }

    /// Whether it is played under the condition. The default queues use one clock, and always play equal bodies. A
    /// recipe plays equal bodies only if it declares the rules that they break, because otherwise they are one message
    /// to its callers.
    pub(crate) fn plays(&self, condition: TrialCondition) -> bool {
        match condition {
            TrialCondition::EqualBodies => {
                let mut caveats = self.guarantees.caveats.iter();
                caveats.any(|caveat| caveat.when == condition.when())
            }
            TrialCondition::ClockAhead => !self.is_default(),
            _ => true,
        }
    }
}

const POLL: Duration = Duration::from_millis(5);
const BLOCK: Duration = Duration::from_millis(20);
const UNIT: Duration = Duration::from_millis(10);
const NOTHING: Sight = Sight::Answers;
const LIST: Sight = Sight::Length(&["LLEN", "queue"]);
const ZSET: Sight = Sight::Length(&["ZCARD", "queue"]);

fn zset_json() -> ZsetJson {
    ZsetJson::default().poll(POLL)
}

fn shared_backup() -> SharedBackup {
    SharedBackup::default().poll(POLL)
}

macro_rules! recipes {
    ($($recipe:expr, $sight:expr;)*) => {
        /// The recipes, in the order of the table.
        pub(crate) fn recipes() -> Vec<Strategy> {
            vec![$(Strategy {
                guarantees: ($recipe)(Process(0)).guarantees(),
                on: On::Recipe(|redis, process| Arc::new(RecipeBackend::new(&redis, ($recipe)(process))), $sight),
            },)*]
        }
    };
}

recipes! {
    |_| ZsetString::default().unit(UNIT).previous(UNIT * 3).poll(POLL), NOTHING;
    |_| WaitActive::default().tick(POLL).timeout(BLOCK), NOTHING;
    |_| zset_json(), NOTHING;
    |_| zset_json().with_priority(), NOTHING;
    |_| zset_json().with_processing(), NOTHING;
    |_| BlockingList::default().timeout(BLOCK), NOTHING;
    |process: Process| PrivateBackup::of_client(format!("client-{}", process.0)).timeout(BLOCK), NOTHING;
    |_| shared_backup(), NOTHING;
    |_| shared_backup().with_checker(BLOCK * 3), NOTHING;
    |process: Process| Stream::consumer(format!("client-{}", process.0)).poll(POLL), Sight::ServerTimes;
    |_| PriorityLists::default().timeout(BLOCK), NOTHING;
    |_| Rotation::default().poll(POLL), NOTHING;
    |_| FixedLength::naive(), LIST;
    |_| FixedLength::newest_last(), LIST;
    |_| FixedLength::newest_first(), LIST;
    |_| FixedLength::trim(), LIST;
    |_| FixedLength::trim_in_two(), LIST;
    |_| DistinctZset::default(), ZSET;
    |_| DistinctZset::default().add_first(), ZSET;
    |_| KeyLock::default(), LIST;
}

/// All strategies, in the order of the table: the default ones first.
pub(crate) fn all() -> Vec<Strategy> {
    let defaults = QueueKind::ALL.into_iter().flat_map(|kind| {
        [
            ("default in memory", On::Memory),
            ("default on Redis", On::Redis),
        ]
        .map(|(name, on)| {
            let guarantees = Guarantees::all(name, kind);
            Strategy { guarantees, on }
        })
    });
    defaults.chain(recipes()).collect()
}
