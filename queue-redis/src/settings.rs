//! The settings of stored configurations: the one list by which they are written, read, and told from damage.
//!
//! The scripts get the list as `SETTINGS`, in place of the line `--- @settings` of `lua/lib/config.lua`. A new setting
//! is one entry here.

use std::{sync::LazyLock, time::Duration};

use queue_core::{
    GroupOrder, GroupedConfig, LeaseRate, LeasingConfig, OnDeath, QueueConfig, millis_ceil,
};

/// A setting of a stored configuration.
pub(crate) struct Setting {
    pub(crate) name: &'static str,
    /// Lua's patterns of its stored values.
    forms: &'static [&'static str],
    /// Whether it may be left out, and then has the value of [`QueueConfig::of`].
    pub(crate) optional: bool,
    /// Its stored value; `None` if the kind has no such setting, or if it is left out.
    pub(crate) write: fn(&QueueConfig) -> Option<String>,
    /// Sets it to a stored value; `None` if this cannot be read, or the kind has no such setting.
    pub(crate) read: fn(&mut QueueConfig, &str) -> Option<()>,
}

/// All settings, in the order in which they are stored.
pub(crate) const SETTINGS: &[Setting] = &[
    Setting {
        name: "max_attempts",
        forms: &["%d+"],
        optional: false,
        write: |config| leasing(config, |leasing| leasing.max_attempts),
        read: |config, value| config.leasing_mut()?.max_attempts.set(value),
    },
    Setting {
        name: "dead_letter_cap",
        forms: &["%d+"],
        optional: false,
        write: |config| leasing(config, |leasing| leasing.dead_letter_cap),
        read: |config, value| config.leasing_mut()?.dead_letter_cap.set(value),
    },
    Setting {
        name: "at_once",
        forms: &["%d+"],
        optional: true,
        write: |config| config.leasing()?.at_once.map(|most| most.to_string()),
        read: |config, value| {
            config.leasing_mut()?.at_once = Some(value.parse().ok()?);
            Some(())
        },
    },
    Setting {
        name: "rate",
        forms: &["%d+/%d+"],
        optional: true,
        write: |config| config.leasing()?.rate.map(rate),
        read: |config, value| config.leasing_mut()?.rate.set(value),
    },
    Setting {
        name: "ageing",
        forms: MILLIS,
        optional: false,
        write: |config| match config {
            QueueConfig::Priority(config) => Some(millis(config.ageing)),
            _ => None,
        },
        read: |config, value| match config {
            QueueConfig::Priority(config) => config.ageing.set(value),
            _ => None,
        },
    },
    Setting {
        name: "per_group",
        forms: &["%d+"],
        optional: false,
        write: |config| Some(grouped(config)?.per_group.to_string()),
        read: |config, value| grouped_mut(config)?.per_group.set(value),
    },
    Setting {
        name: "loose",
        forms: &["[01]"],
        optional: false,
        write: |config| {
            let loose = grouped(config)?.order == GroupOrder::Loose;
            Some(u8::from(loose).to_string())
        },
        read: |config, value| {
            grouped_mut(config)?.order = match value {
                "0" => GroupOrder::Strict,
                "1" => GroupOrder::Loose,
                _ => return None,
            };
            Some(())
        },
    },
    Setting {
        name: "on_death",
        forms: &["park"],
        optional: true,
        write: |config| {
            let parks = grouped(config)?.on_death == OnDeath::Park;
            parks.then(|| "park".to_owned())
        },
        read: |config, value| {
            let config = grouped_mut(config)?;
            (value == "park").then(|| config.on_death = OnDeath::Park)
        },
    },
    Setting {
        name: "group_rate",
        forms: &["%d+/%d+"],
        optional: true,
        write: |config| grouped(config)?.group_rate.map(rate),
        read: |config, value| grouped_mut(config)?.group_rate.set(value),
    },
    Setting {
        name: "pace",
        forms: MILLIS,
        optional: false,
        write: |config| match config {
            QueueConfig::Rotating(config) => Some(millis(config.pace)),
            _ => None,
        },
        read: |config, value| match config {
            QueueConfig::Rotating(config) => config.pace.set(value),
            _ => None,
        },
    },
];

/// An optional time, which is stored also if there is none.
const MILLIS: &[&str] = &["%d+", "none"];

/// The list as the entries of a table of Lua: each has the name, whether the setting may be left out, and the patterns.
pub(crate) fn in_lua() -> &'static str {
    static TEXT: LazyLock<String> = LazyLock::new(|| {
        let entry = |setting: &Setting| {
            let forms = setting.forms.iter().map(|form| format!(", '{form}'"));
            let forms = forms.collect::<String>();
            format!(
                "    {{ '{}', {}{forms} }},\n",
                setting.name, setting.optional
            )
        };
        SETTINGS.iter().map(entry).collect()
    });
    &TEXT
}

fn leasing<T: ToString>(config: &QueueConfig, of: fn(&LeasingConfig) -> T) -> Option<String> {
    config.leasing().map(|leasing| of(leasing).to_string())
}

fn grouped(config: &QueueConfig) -> Option<&GroupedConfig> {
    match config {
        QueueConfig::Grouped(config) => Some(config),
        _ => None,
    }
}

fn grouped_mut(config: &mut QueueConfig) -> Option<&mut GroupedConfig> {
    match config {
        QueueConfig::Grouped(config) => Some(config),
        _ => None,
    }
}

fn rate(rate: LeaseRate) -> String {
    format!("{}/{}", rate.most, millis_ceil(rate.per))
}

fn millis(duration: Option<Duration>) -> String {
    duration.map_or_else(|| "none".to_owned(), |some| millis_ceil(some).to_string())
}

/// A field that a stored value is read into.
trait Field {
    fn set(&mut self, value: &str) -> Option<()>;
}

impl Field for u32 {
    fn set(&mut self, value: &str) -> Option<()> {
        *self = value.parse().ok()?;
        Some(())
    }
}

impl Field for u64 {
    fn set(&mut self, value: &str) -> Option<()> {
        *self = value.parse().ok()?;
        Some(())
    }
}

impl Field for Option<LeaseRate> {
    fn set(&mut self, value: &str) -> Option<()> {
        let (most, per) = value.split_once('/')?;
        let per = Duration::from_millis(per.parse().ok()?);
        *self = Some(LeaseRate::new(most.parse().ok()?, per));
        Some(())
    }
}

impl Field for Option<Duration> {
    fn set(&mut self, value: &str) -> Option<()> {
        *self = match value {
            "none" => None,
            _ => Some(Duration::from_millis(value.parse().ok()?)),
        };
        Some(())
    }
}
