//! A queue's stored configuration: text that an operator can read and scripts can search.

use std::num::NonZeroUsize;

use queue_core::{
    Error, ErrorKind, LAYOUT_VERSION, QueueConfig, QueueKind, Result, config_mismatch,
};

use crate::settings::SETTINGS;

/// Precedes the token in the mark of a queue that may be missing in the list of queues. The scripts know this text.
const MARK: &str = " unlisted=";

/// The text of a configuration with a mark.
pub(crate) fn marked(config: &str, token: &str) -> String {
    format!("{config}{MARK}{token}")
}

/// The stored configuration of a queue.
#[derive(Debug, Clone)]
pub(crate) struct Stored {
    /// The text that the functions below write.
    pub(crate) config: String,
    /// The token of its mark, if it may be missing in the list of queues.
    pub(crate) unlisted: Option<String>,
    /// A bounded queue's capacity. It is stored separately, because a resize changes it.
    pub(crate) capacity: u64,
    /// Whether a resize has changed the capacity.
    pub(crate) resized: bool,
}

impl Stored {
    /// Reads the stored text, which may end in a mark.
    pub(crate) fn new(text: String, capacity: u64, resized: bool) -> Self {
        let (config, unlisted) = match text.rsplit_once(MARK) {
            Some((config, token)) => (config.to_owned(), Some(token.to_owned())),
            None => (text, None),
        };
        Self {
            config,
            unlisted,
            capacity,
            resized,
        }
    }

    /// Refuses another kind or another layout.
    pub(crate) fn check_kind(&self, kind: QueueKind) -> Result<()> {
        let stored = self.value("kind")?;
        if stored != kind.as_str() {
            return Err(config_mismatch("kind", stored, kind));
        }
        let layout = self.value("layout")?;
        if layout != LAYOUT_VERSION.to_string() {
            return Err(config_mismatch("layout version", layout, LAYOUT_VERSION));
        }
        Ok(())
    }

    /// The configuration.
    pub(crate) fn read(&self) -> Result<QueueConfig> {
        let kind = kind_named(self.value("kind")?);
        let kind = kind.ok_or_else(|| self.unreadable("kind"))?;
        self.check_kind(kind)?;
        let mut config = QueueConfig::of(kind, 1);
        for setting in SETTINGS {
            let is_due = !setting.optional && (setting.write)(&config).is_some();
            let stored = self.find(setting.name);
            let read = stored.and_then(|value| (setting.read)(&mut config, value));
            // `check_understood` names optional ones.
            if is_due && read.is_none() {
                return Err(self.unreadable(setting.name));
            }
        }
        if let QueueConfig::Bounded(config) = &mut config {
            config.capacity = self.capacity()?.get();
        }
        self.check_understood(&config)?;
        Ok(config)
    }

    /// Refuses a setting of a newer version: this version would not keep what it promises.
    fn check_understood(&self, read: &QueueConfig) -> Result<()> {
        let understood = text(read);
        let is_understood = |entry: &&str| understood.split(' ').any(|own| own == *entry);
        match self.config.split(' ').find(|entry| !is_understood(entry)) {
            None => Ok(()),
            Some(setting) => Err(Error::new(
                ErrorKind::ConfigMismatch,
                format!(
                    "the queue is stored with {setting}, which this version does not know: use a \
                     newer one, or have it reconfigure the queue without that"
                ),
            )),
        }
    }

    fn capacity(&self) -> Result<NonZeroUsize> {
        let capacity = usize::try_from(self.capacity).ok();
        capacity
            .and_then(NonZeroUsize::new)
            .ok_or_else(|| self.unreadable("capacity"))
    }

    fn value(&self, name: &str) -> Result<&str> {
        self.find(name).ok_or_else(|| self.unreadable(name))
    }

    fn find(&self, name: &str) -> Option<&str> {
        find(&self.config, name)
    }

    fn unreadable(&self, name: &str) -> Error {
        Error::new(
            ErrorKind::ConfigMismatch,
            format!(
                "the stored configuration [{}] has no {name} that this version understands: it is \
                 another version's; use another name or prefix",
                self.config
            ),
        )
    }
}

/// The value of a setting in the text of a configuration.
fn find<'a>(config: &'a str, name: &str) -> Option<&'a str> {
    let mut entries = config.split(' ').filter_map(|entry| entry.split_once('='));
    entries.find_map(|(stored, value)| (stored == name).then_some(value))
}

/// The number of attempts in the text of a configuration; without limit if it has none, as that of a ring.
pub(crate) fn max_attempts(config: &str) -> u32 {
    let attempts = find(config, "max_attempts").and_then(|value| value.parse().ok());
    attempts.unwrap_or(u32::MAX)
}

/// The kind of this name, as configurations and the list of queues store it.
pub(crate) fn kind_named(name: &str) -> Option<QueueKind> {
    let mut kinds = QueueKind::ALL.into_iter();
    kinds.find(|kind| kind.as_str() == name)
}

/// A configuration as stored text, without a bounded queue's capacity.
pub(crate) fn text(config: &QueueConfig) -> String {
    let mut text = format!("kind={} layout={LAYOUT_VERSION}", config.kind());
    for setting in SETTINGS {
        if let Some(value) = (setting.write)(config) {
            text.push_str(&format!(" {}={value}", setting.name));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use queue_core::{GroupedConfig, OnDeath, PriorityConfig, RotatingConfig};

    use super::*;

    fn stored(config: String) -> Stored {
        Stored::new(config, 3, false)
    }

    #[test]
    fn a_configuration_is_read_as_it_was_written() {
        let config = PriorityConfig::default()
            .with_max_attempts(7)
            .with_dead_letter_cap(0)
            .with_at_once(3)
            .with_rate(10, Duration::from_secs(60))
            .with_ageing(Duration::from_millis(1500));
        let stored = stored(text(&config.clone().into()));
        assert_eq!(stored.read().unwrap(), config.into());
        assert!(stored.check_kind(QueueKind::Priority).is_ok());
        let error = stored.check_kind(QueueKind::Delay).unwrap_err().to_string();
        assert!(
            error.contains("priority") && error.contains("delay"),
            "{error}"
        );
    }

    #[test]
    fn a_mark_is_no_part_of_the_configuration() {
        let config = QueueConfig::of(QueueKind::Reliable, 1);
        let stored = stored(marked(&text(&config), "2f00"));
        assert_eq!(stored.read().unwrap(), config);
        assert_eq!(stored.config, text(&config));
        assert_eq!(stored.unlisted.as_deref(), Some("2f00"));
    }

    #[test]
    fn parking_is_stored() {
        let config = GroupedConfig::loose(3).with_on_death(OnDeath::Park);
        let config = QueueConfig::from(config);
        assert_eq!(stored(text(&config)).read().unwrap(), config);
    }

    #[test]
    fn no_pace_is_none() {
        let config = RotatingConfig::default();
        let config = QueueConfig::from(config);
        assert_eq!(stored(text(&config)).read().unwrap(), config);
    }

    #[test]
    fn a_setting_of_a_newer_version_is_refused_by_its_name() {
        for kind in QueueKind::ALL {
            let config = text(&QueueConfig::of(kind, 1));
            let error = stored(format!("{config} tomorrow=7")).read().unwrap_err();
            assert_eq!(error.kind(), ErrorKind::ConfigMismatch);
            assert!(error.to_string().contains("tomorrow=7"), "{error}");
        }
        let parks = text(&GroupedConfig::loose(3).with_on_death(OnDeath::Park).into());
        let error = stored(parks.replace("park", "retry")).read().unwrap_err();
        assert!(error.to_string().contains("on_death=retry"), "{error}");
    }

    #[test]
    fn another_layout_and_nonsense_are_named() {
        let nonsense = format!("kind=delay layout={LAYOUT_VERSION} max_attempts=1");
        let error = stored(nonsense).read().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::ConfigMismatch);
        assert!(error.to_string().contains("dead_letter_cap"), "{error}");
        let other = stored("kind=delay layout=99 max_attempts=1".to_owned());
        let error = other.check_kind(QueueKind::Delay).unwrap_err();
        assert!(error.to_string().contains("99"));
        assert_eq!(other.read().unwrap_err().kind(), ErrorKind::ConfigMismatch);
    }
}
