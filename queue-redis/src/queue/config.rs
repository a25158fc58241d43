//! A queue's stored configuration: text that an operator can read and scripts can search.

use std::{num::NonZeroUsize, time::Duration};

use queue_core::{
    BoundedConfig, DelayConfig, Error, ErrorKind, LAYOUT_VERSION, LeasingConfig, PriorityConfig,
    QueueConfig, QueueKind, ReliableConfig, Result, RotatingConfig, config_mismatch, millis_ceil,
};

/// The stored configuration of a queue.
#[derive(Debug, Clone)]
pub(crate) struct Stored {
    /// The text that the functions below write.
    pub(crate) config: String,
    /// A bounded queue's capacity. It lives apart, since a resize changes it.
    pub(crate) capacity: u64,
    /// Whether a resize has changed it.
    pub(crate) resized: bool,
}

impl Stored {
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

    /// Whether an open with this configuration is allowed.
    pub(crate) fn agrees(&self, config: &QueueConfig) -> Result<()> {
        match config {
            QueueConfig::Reliable(config) => config.check_stored(&self.reliable()?),
            QueueConfig::Delay(config) => config.check_stored(&self.delay()?),
            QueueConfig::Priority(config) => config.check_stored(&self.priority()?),
            QueueConfig::Bounded(config) => config.check_stored(&self.bounded()?, self.resized),
            QueueConfig::Rotating(config) => config.check_stored(&self.rotating()?),
        }
    }

    /// The configuration.
    pub(crate) fn read(&self) -> Result<QueueConfig> {
        let kind = kind_named(self.value("kind")?);
        let kind = kind.ok_or_else(|| self.unreadable("kind"))?;
        self.check_kind(kind)?;
        Ok(match kind {
            QueueKind::Reliable => self.reliable()?.into(),
            QueueKind::Delay => self.delay()?.into(),
            QueueKind::Priority => self.priority()?.into(),
            QueueKind::Bounded => self.bounded()?.into(),
            QueueKind::Rotating => self.rotating()?.into(),
        })
    }

    fn reliable(&self) -> Result<ReliableConfig> {
        let mut config = ReliableConfig::default();
        config.leasing = self.leasing()?;
        Ok(config)
    }

    fn delay(&self) -> Result<DelayConfig> {
        let mut config = DelayConfig::default();
        config.leasing = self.leasing()?;
        Ok(config)
    }

    fn priority(&self) -> Result<PriorityConfig> {
        let mut config = PriorityConfig::default();
        config.leasing = self.leasing()?;
        config.ageing = self.duration("ageing")?;
        Ok(config)
    }

    pub(crate) fn bounded(&self) -> Result<BoundedConfig> {
        let mut config = BoundedConfig::new(self.capacity()?.get());
        config.leasing = self.leasing()?;
        Ok(config)
    }

    fn rotating(&self) -> Result<RotatingConfig> {
        let mut config = RotatingConfig::default();
        config.pace = self.duration("pace")?;
        Ok(config)
    }

    fn capacity(&self) -> Result<NonZeroUsize> {
        let capacity = usize::try_from(self.capacity).ok();
        capacity
            .and_then(NonZeroUsize::new)
            .ok_or_else(|| self.unreadable("capacity"))
    }

    fn leasing(&self) -> Result<LeasingConfig> {
        let mut config = LeasingConfig::default();
        config.max_attempts = self.number("max_attempts")?;
        config.dead_letter_cap = self.number("dead_letter_cap")?;
        Ok(config)
    }

    fn duration(&self, name: &str) -> Result<Option<Duration>> {
        match self.value(name)? {
            "none" => Ok(None),
            _ => Ok(Some(Duration::from_millis(self.number(name)?))),
        }
    }

    fn number<N: std::str::FromStr>(&self, name: &str) -> Result<N> {
        self.value(name)?.parse().map_err(|_| self.unreadable(name))
    }

    fn value(&self, name: &str) -> Result<&str> {
        let mut entries = self
            .config
            .split(' ')
            .filter_map(|entry| entry.split_once('='));
        entries
            .find_map(|(stored, value)| (stored == name).then_some(value))
            .ok_or_else(|| self.unreadable(name))
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

/// The kind of this name, as configurations and the list of queues store it.
pub(crate) fn kind_named(name: &str) -> Option<QueueKind> {
    let mut kinds = QueueKind::ALL.into_iter();
    kinds.find(|kind| kind.as_str() == name)
}

/// A configuration as stored text, without a bounded queue's capacity.
pub(crate) fn text(config: &QueueConfig) -> String {
    let start = format!("kind={} layout={LAYOUT_VERSION}", config.kind());
    let leasing = |leasing: &LeasingConfig| {
        format!(
            "{start} max_attempts={} dead_letter_cap={}",
            leasing.max_attempts, leasing.dead_letter_cap
        )
    };
    match config {
        QueueConfig::Reliable(config) => leasing(&config.leasing),
        QueueConfig::Delay(config) => leasing(&config.leasing),
        QueueConfig::Bounded(config) => leasing(&config.leasing),
        QueueConfig::Priority(config) => {
            let rest = leasing(&config.leasing);
            format!("{rest} ageing={}", millis(config.ageing))
        }
        QueueConfig::Rotating(config) => format!("{start} pace={}", millis(config.pace)),
    }
}

fn millis(duration: Option<Duration>) -> String {
    duration.map_or_else(|| "none".to_owned(), |some| millis_ceil(some).to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stored(config: String) -> Stored {
        Stored {
            config,
            capacity: 3,
            resized: false,
        }
    }

    #[test]
    fn a_configuration_is_read_as_it_was_written() {
        let config = PriorityConfig::default()
            .with_max_attempts(7)
            .with_dead_letter_cap(0)
            .with_ageing(Duration::from_millis(1500));
        let stored = stored(text(&config.clone().into()));
        assert_eq!(stored.priority().unwrap(), config);
        assert!(stored.check_kind(QueueKind::Priority).is_ok());
        let error = stored.check_kind(QueueKind::Delay).unwrap_err().to_string();
        assert!(
            error.contains("priority") && error.contains("delay"),
            "{error}"
        );
    }

    #[test]
    fn no_pace_is_none() {
        let config = RotatingConfig::default();
        assert_eq!(
            stored(text(&config.clone().into())).rotating().unwrap(),
            config
        );
    }

    #[test]
    fn another_layout_and_nonsense_are_told() {
        let other = stored("kind=delay layout=99 max_attempts=1".to_owned());
        let error = other.check_kind(QueueKind::Delay).unwrap_err();
        assert!(error.to_string().contains("99"));
        assert_eq!(other.delay().unwrap_err().kind(), ErrorKind::ConfigMismatch);
    }
}
