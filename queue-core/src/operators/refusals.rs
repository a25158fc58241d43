//! The list of configurations that programs asked for, and that were refused.

use std::{
    collections::BTreeMap,
    env,
    hash::{DefaultHasher, Hash, Hasher},
    sync::{Mutex, PoisonError},
    time::Duration,
};

use serde::{Deserialize, Serialize};

use super::{OperatorsList, OperatorsRecord};
use crate::{
    AnyQueue, Backend, Error, ErrorKind, Holder, MessageId, Pushed, QueueConfig, QueueKind,
    QueueName, Result,
};

/// Characters of a program's name that are kept.
const LONGEST: usize = 64;

/// A program that opened a queue with a configuration that differs from the stored one, and was refused.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct RefusalRecord {
    /// The queue.
    pub queue: String,
    /// The name of the program's file.
    pub program: String,
    /// Its host and process at the last refusal, as a worker's default holder names them.
    pub holder: String,
    /// The kind that it asked for.
    pub kind: QueueKind,
    /// The settings that it asked for, see [`QueueConfig::settings`].
    pub settings: BTreeMap<String, String>,
    /// How often it was refused this configuration, at least: of two refusals at the same time one may be counted.
    pub times: u64,
}

impl OperatorsRecord for RefusalRecord {
    const LIST: &'static str = "qk-refusals";
    const CAPACITY: usize = 200;
    const LISTED: Duration = Duration::from_secs(86_400);
}

impl RefusalRecord {
    fn of_this_process(queue: &QueueName, config: &QueueConfig) -> Self {
        let file = env::current_exe().ok();
        let name = file.as_deref().and_then(|file| file.file_name());
        let name = name.map(|name| name.to_string_lossy());
        let settings = config.settings().into_iter();
        Self {
            queue: queue.to_string(),
            program: name.unwrap_or_default().chars().take(LONGEST).collect(),
            holder: Holder::of_this_process().to_string(),
            kind: config.kind(),
            settings: settings
                .map(|(name, value)| (name.to_owned(), value))
                .collect(),
            times: 1,
        }
    }

    /// The queue, and the program that asks for it: the next process of a program takes the place of the last one on its host.
    fn asker(&self) -> (&str, &str, &str) {
        let process = self.holder.rfind("process ").unwrap_or(0);
        (&self.queue, &self.program, &self.holder[..process])
    }

    /// The key of the record in the list.
    fn key(&self) -> String {
        let mut hasher = DefaultHasher::new();
        self.asker().hash(&mut hasher);
        format!("{:016x}", hasher.finish())
    }

    fn is_repeat_of(&self, other: &Self) -> bool {
        let asked = self.kind == other.kind && self.settings == other.settings;
        asked && self.asker() == other.asker()
    }
}

/// The refusals that the opens of this process have listed.
#[derive(Debug, Default)]
pub(crate) struct OwnRefusals(Mutex<BTreeMap<QueueName, MessageId>>);

impl OwnRefusals {
    /// Lists an open that was refused because of its configuration, for operators. Takes it off the list when a later
    /// open of this process succeeds. A successful open without a refusal before it makes no call.
    ///
    /// The open's result is what it was, whether or not the list could be written.
    pub(crate) async fn note(
        &self,
        backend: &dyn Backend,
        queue: &QueueName,
        config: &QueueConfig,
        opened: &Result<AnyQueue>,
    ) {
        match opened {
            Err(error) if error.kind() == ErrorKind::ConfigMismatch => {
                if let Ok(Some(id)) = Box::pin(list(backend, queue, config)).await {
                    self.lock(|own| own.insert(queue.clone(), id));
                }
            }
            Ok(_) => {
                if let Some(id) = self.lock(|own| own.remove(queue)) {
                    let _: Result<(), Error> = Box::pin(take_off(backend, id)).await;
                }
            }
            Err(_) => {}
        }
    }

    fn lock<T>(&self, act: impl FnOnce(&mut BTreeMap<QueueName, MessageId>) -> T) -> T {
        act(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

async fn list(
    backend: &dyn Backend,
    queue: &QueueName,
    config: &QueueConfig,
) -> Result<Option<MessageId>> {
    let mut record = RefusalRecord::of_this_process(queue, config);
    let listed = OperatorsList::<RefusalRecord>::read(backend).await?;
    let before = listed
        .iter()
        .find(|listed| record.is_repeat_of(&listed.record));
    let times = before.map_or(0, |before| before.record.times);
    record.times = record.times.saturating_add(times);
    let list = OperatorsList::open(backend).await?;
    let written = list.write(&[(record.key(), record)]).await?;
    Ok(written.into_iter().find_map(Pushed::id))
}

async fn take_off(backend: &dyn Backend, id: MessageId) -> Result<()> {
    OperatorsList::<RefusalRecord>::open(backend)
        .await?
        .remove(id)
        .await
}
