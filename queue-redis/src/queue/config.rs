//! A queue's stored configuration: text that an operator can read and scripts can search.

use std::{num::NonZeroUsize, time::Duration};

use queue_core::{
    Error, ErrorKind, GroupOrder, LAYOUT_VERSION, LeaseRate, OnDeath, QueueConfig, QueueKind,
    Result, config_mismatch, millis_ceil,
};

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
        if let Some(leasing) = config.leasing_mut() {
            leasing.max_attempts = self.number("max_attempts")?;
            leasing.dead_letter_cap = self.number("dead_letter_cap")?;
            leasing.at_once = match self.find("at_once") {
                Some(_) => Some(self.number("at_once")?),
                None => None,
            };
            leasing.rate = self.rate()?;
        }
        match &mut config {
            QueueConfig::Priority(config) => config.ageing = self.duration("ageing")?,
            QueueConfig::Grouped(config) => {
                config.per_group = self.number("per_group")?;
                config.order = match self.number::<u8>("loose")? {
                    0 => GroupOrder::Strict,
                    _ => GroupOrder::Loose,
                };
                config.on_death = match self.find("on_death") {
                    None => OnDeath::Continue,
                    Some(_) => OnDeath::Park,
                };
            }
            QueueConfig::Bounded(config) => config.capacity = self.capacity()?.get(),
            QueueConfig::Rotating(config) => config.pace = self.duration("pace")?,
            _ => {}
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

    fn duration(&self, name: &str) -> Result<Option<Duration>> {
        match self.value(name)? {
            "none" => Ok(None),
            _ => Ok(Some(Duration::from_millis(self.number(name)?))),
        }
    }

    fn number<N: std::str::FromStr>(&self, name: &str) -> Result<N> {
        self.value(name)?.parse().map_err(|_| self.unreadable(name))
    }

    fn rate(&self) -> Result<Option<LeaseRate>> {
        let Some(text) = self.find("rate") else {
            return Ok(None);
        };
        let parts = text.split_once('/');
        let read = parts.and_then(|(most, per)| Some((most.parse().ok()?, per.parse().ok()?)));
        let (most, per) = read.ok_or_else(|| self.unreadable("rate"))?;
        Ok(Some(LeaseRate::new(most, Duration::from_millis(per))))
    }

    fn value(&self, name: &str) -> Result<&str> {
        self.find(name).ok_or_else(|| self.unreadable(name))
    }

    fn find(&self, name: &str) -> Option<&str> {
        let entries = self.config.split(' ');
        let mut entries = entries.filter_map(|entry| entry.split_once('='));
        entries.find_map(|(stored, value)| (stored == name).then_some(value))
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
    let mut text = format!("kind={} layout={LAYOUT_VERSION}", config.kind());
    if let Some(leasing) = config.leasing() {
        text.push_str(&format!(
            " max_attempts={} dead_letter_cap={}",
            leasing.max_attempts, leasing.dead_letter_cap
        ));
        // Limits are left out if there are none; the scripts look for both names.
        if let Some(most) = leasing.at_once {
            text.push_str(&format!(" at_once={most}"));
        }
        if let Some(rate) = leasing.rate {
            text.push_str(&format!(" rate={}/{}", rate.most, millis_ceil(rate.per)));
        }
    }
    match config {
        QueueConfig::Priority(config) => {
            text.push_str(&format!(" ageing={}", millis(config.ageing)));
        }
        QueueConfig::Grouped(config) => {
            let loose = u8::from(config.order == GroupOrder::Loose);
            text.push_str(&format!(" per_group={} loose={loose}", config.per_group));
            if config.on_death == OnDeath::Park {
                text.push_str(" on_death=park");
            }
        }
        QueueConfig::Rotating(config) => text.push_str(&format!(" pace={}", millis(config.pace))),
        _ => {}
    }
    text
}

fn millis(duration: Option<Duration>) -> String {
    duration.map_or_else(|| "none".to_owned(), |some| millis_ceil(some).to_string())
}

#[cfg(test)]
mod tests {
    use queue_core::{GroupedConfig, PriorityConfig, RotatingConfig};

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
