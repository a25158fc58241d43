//! The settings of a server that decide what it stores, and which sizes it accepts.

use redis::Value;

use super::{Channel, accepted_sizes::Limit};
use crate::error::Lack;

/// A server older than 7.0 accepts only one pattern. This one matches `save`, `proto-max-bulk-len`,
/// `client-query-buffer-limit` and a few others.
const PATTERN: &str = "[spc][arl][voi][et]*";

/// The settings.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct ConfigReply {
    /// Whether snapshots are on, if known.
    pub(super) saves: Option<bool>,
    /// The largest part of a request that the server accepts, if calls may send larger ones.
    pub(super) limit: Option<Limit>,
    /// Why the settings are unknown.
    pub(super) lack: Option<Lack>,
}

impl ConfigReply {
    /// Asks the server. A setting that the server does not return is unknown. No part of a call has more than `largest`
    /// bytes.
    pub(super) async fn of(channel: &Channel, largest: u64) -> Self {
        let mut command = redis::cmd("CONFIG");
        command.arg("GET").arg(PATTERN);
        match channel.request(&command).await {
            Ok(settings) => Self::read(&settings, largest),
            Err(failure) => Self {
                lack: failure.lack(),
                ..Self::read(&Value::Nil, largest)
            },
        }
    }

    fn read(settings: &Value, largest: u64) -> Self {
        let text = |value: &Value| match value {
            Value::BulkString(bytes) => String::from_utf8(bytes.clone()).ok(),
            Value::SimpleString(text) => Some(text.clone()),
            _ => None,
        };
        let setting = |name: &str| match settings {
            Value::Map(settings) => settings
                .iter()
                .find_map(|(own, value)| (text(own)? == name).then(|| text(value))?),
            _ => None,
        };
        let limit = |name| {
            let bytes = setting(name)?.parse().ok()?;
            Limit::of(name, bytes, largest)
        };
        let limits = ["proto-max-bulk-len", "client-query-buffer-limit"];
        Self {
            saves: setting("save").map(|save| !save.is_empty()),
            limit: limits
                .into_iter()
                .filter_map(limit)
                .min_by_key(Limit::bytes),
            lack: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1024 * 1024;

    fn config(settings: &[(&str, &str)]) -> ConfigReply {
        let bulk = |text: &str| Value::BulkString(text.as_bytes().to_vec());
        let settings = settings
            .iter()
            .map(|(name, value)| (bulk(name), bulk(value)));
        ConfigReply::read(&Value::Map(settings.collect()), 8 * MIB)
    }

    #[test]
    fn the_smaller_limit_counts_and_only_if_we_send_more() {
        let limit = |bulk: u64, buffer: u64| {
            let settings = [
                ("client-query-buffer-limit", &*buffer.to_string()),
                ("proto-max-bulk-len", &*bulk.to_string()),
            ];
            let limit = config(&settings).limit;
            limit.map(|limit| limit.to_string())
        };
        assert_eq!(limit(512 * MIB, 1024 * MIB), None);
        assert_eq!(
            limit(MIB, 1024 * MIB).as_deref(),
            Some("proto-max-bulk-len (1048576 bytes)")
        );
        assert_eq!(
            limit(4 * MIB, 2 * MIB).as_deref(),
            Some("client-query-buffer-limit (2097152 bytes)")
        );
    }

    #[test]
    fn snapshots_are_on_off_or_unknown() {
        assert_eq!(config(&[("save", "3600 1")]).saves, Some(true));
        assert_eq!(config(&[("save", "")]).saves, Some(false));
        assert_eq!(config(&[("saver", "")]).saves, None);
        assert_eq!(ConfigReply::read(&Value::Nil, MIB).saves, None);
    }
}
