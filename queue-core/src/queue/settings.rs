//! The settings of a configuration as text.

use std::time::Duration;

use super::{LeaseRate, QueueConfig};
use crate::millis_ceil;

impl QueueConfig {
    /// Its stored settings by name, as `qk reconfigure` takes them: `("max_attempts", "5")`. A time is in milliseconds,
    /// and a limit that is left out is `none`.
    pub fn settings(&self) -> Vec<(&'static str, String)> {
        let mut settings = Vec::new();
        if let Some(leasing) = self.leasing() {
            settings.push(("max_attempts", leasing.max_attempts.to_string()));
            settings.push(("dead_letter_cap", leasing.dead_letter_cap.to_string()));
            settings.push(("at_once", limit(leasing.at_once)));
            settings.push(("rate", rate(leasing.rate)));
        }
        match self {
            Self::Reliable(_) | Self::Delay(_) => {}
            Self::Priority(config) => settings.push(("ageing_ms", millis(config.ageing))),
            Self::Grouped(config) => {
                settings.push(("order", config.order.to_string()));
                settings.push(("per_group", config.per_group.to_string()));
                settings.push(("on_death", config.on_death.to_string()));
                settings.push(("group_rate", rate(config.group_rate)));
            }
            Self::Bounded(config) => settings.push(("capacity", config.capacity.to_string())),
            Self::Rotating(config) => settings.push(("pace_ms", millis(config.pace))),
        }
        settings
    }
}

fn limit<T: ToString>(limit: Option<T>) -> String {
    limit.map_or_else(|| "none".to_owned(), |limit| limit.to_string())
}

fn rate(rate: Option<LeaseRate>) -> String {
    limit(rate.map(|rate| format!("{}/{}", rate.most, millis_ceil(rate.per))))
}

fn millis(time: Option<Duration>) -> String {
    limit(time.map(millis_ceil))
}
