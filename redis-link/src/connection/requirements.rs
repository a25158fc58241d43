//! Checks a server by its `INFO`, before anything is stored there.

use std::fmt;

use queue_core::{Error, ErrorKind};
use redis::Value;

use crate::error::{CLUSTER, Lack, NO_CLUSTER};

const OLDEST: (u32, u32) = (6, 2);
const UNCHECKED: &str = "eviction and persistence are unchecked";

/// A finding that does not rule the server out, but that an operator should know.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Warning {
    /// This user may not call `INFO`: the server's eviction policy and its persistence are unknown.
    Unchecked,
    /// The user may not run a command that the backend does not strictly need.
    Forbidden {
        /// The command, with its channel if it has one.
        command: String,
        /// The loss without the command.
        cost: &'static str,
    },
    /// The server does not have a command that the backend does not strictly need: the command was renamed, or a proxy
    /// does not know it.
    Missing {
        /// The command.
        command: String,
        /// The loss without the command.
        cost: &'static str,
    },
    /// The server refuses parts of a request that are larger than this setting (its name and its bytes). A call with a
    /// larger value is refused, whatever the program's own limits are.
    RequestLimit(String),
    /// The server evicts keys when it is full, and the program accepts that: data may disappear.
    Evicts(String),
    /// The server evicts keys with an expiry when it is full. Other keys are safe, but the setting may be an
    /// oversight.
    EvictsExpiring(String),
    /// Neither AOF nor snapshots are on: a restart of the server loses all data.
    NotPersistent,
}

impl Warning {
    /// The warning about a command that the backend does not strictly need, and the word after it, if one matters.
    pub(super) fn lacking(lack: Lack, command: &str, word: &str, cost: &'static str) -> Self {
        let command = format!("{command} {word}").trim_end().to_owned();
        match lack {
            Lack::Missing => Self::Missing { command, cost },
            Lack::Forbidden => Self::Forbidden { command, cost },
        }
    }

    /// The warning that the server's settings are unknown.
    pub(super) fn unchecked(lack: Lack) -> Self {
        match lack {
            Lack::Missing => Self::lacking(lack, "INFO", "", UNCHECKED),
            Lack::Forbidden => Self::Unchecked,
        }
    }
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unchecked => {
                write!(f, "{} INFO: {UNCHECKED}", Lack::Forbidden)
            }
            Self::Forbidden { command, cost } => {
                write!(f, "{} {command}: {cost}", Lack::Forbidden)
            }
            Self::Missing { command, cost } => {
                write!(f, "{} {command}: {cost}", Lack::Missing)
            }
            Self::RequestLimit(limit) => write!(
                f,
                "a part of a request has to be smaller than {limit}: larger values are refused, whatever the \
                 program's own limits are"
            ),
            Self::Evicts(policy) => {
                write!(f, "maxmemory-policy is {policy}: a full server drops data")
            }
            Self::EvictsExpiring(policy) => write!(
                f,
                "maxmemory-policy is {policy}: keys without an expiry are safe from it; \
                 noeviction says so clearly"
            ),
            Self::NotPersistent => f.write_str(
                "neither appendonly nor save is on: a restart of the server loses all data",
            ),
        }
    }
}

/// Checks a server by its `INFO`. An error says why the server is unfit.
pub fn check(info: &str, allow_eviction: bool, in_cluster: bool) -> Result<Vec<Warning>, Error> {
    let field = |name: &str| field(info, name);
    check_version(field("redis_version"))?;
    if field("loading") == Some("1") {
        return Err(Error::new(
            ErrorKind::Unavailable,
            "it is loading its data; try again later",
        ));
    }
    check_role(info, in_cluster)?;
    let mut warnings = Vec::new();
    match field("maxmemory_policy") {
        Some(policy) if policy.starts_with("allkeys-") => {
            if !allow_eviction {
                return Err(Error::new(
                    ErrorKind::Configuration,
                    format!(
                        "its maxmemory-policy is {policy}, which drops data when memory runs \
                         out: set it to noeviction, or accept the loss by allow_eviction"
                    ),
                ));
            }
            warnings.push(Warning::Evicts(policy.to_owned()));
        }
        Some(policy) if policy.starts_with("volatile-") => {
            warnings.push(Warning::EvictsExpiring(policy.to_owned()));
        }
        _ => {}
    }
    // `INFO` does not show whether `save` is set, so another request reads it.
    if field("aof_enabled") == Some("0") {
        warnings.push(Warning::NotPersistent);
    }
    Ok(warnings)
}

/// The value of a field, if the server knows it.
fn field<'a>(info: &'a str, name: &str) -> Option<&'a str> {
    info.lines().find_map(|line| {
        let value = line.trim_end().strip_prefix(name)?.strip_prefix(':')?;
        (!value.is_empty()).then_some(value)
    })
}

/// Refuses replicas, nodes of a cluster where a single server is expected, and the other way round.
fn check_role(info: &str, in_cluster: bool) -> Result<(), Error> {
    let field = |name: &str| field(info, name);
    let is_replica = field("role") == Some("slave");
    match field("cluster_enabled") == Some("1") {
        true if !in_cluster => return Err(Error::new(ErrorKind::Configuration, CLUSTER)),
        false if in_cluster => return Err(Error::new(ErrorKind::Configuration, NO_CLUSTER)),
        true if is_replica => {
            return Err(Error::new(
                ErrorKind::Unavailable,
                "it has become a replica, and another node has its slots",
            ));
        }
        _ => {}
    }
    if is_replica {
        let primary = match (field("master_host"), field("master_port")) {
            (Some(host), Some(port)) => format!(" of {host}:{port}"),
            _ => String::new(),
        };
        let text = format!(
            "it is a replica{primary}: a replica refuses every write; connect to the primary"
        );
        return Err(Error::new(ErrorKind::Configuration, text));
    }
    Ok(())
}

/// The reply of `HELLO`, which every user may call, in the form of `INFO`.
pub fn as_info(hello: &Value) -> String {
    let Value::Map(fields) = hello else {
        return String::new();
    };
    let text = |value: &Value| match value {
        Value::BulkString(bytes) => String::from_utf8_lossy(bytes).into_owned(),
        Value::SimpleString(text) => text.clone(),
        _ => String::new(),
    };
    let lines = fields
        .iter()
        .map(|(name, value)| match (&*text(name), &*text(value)) {
            ("version", version) => format!("redis_version:{version}\r\n"),
            ("mode", "cluster") => "cluster_enabled:1\r\n".to_owned(),
            ("role", "replica") => "role:slave\r\n".to_owned(),
            _ => String::new(),
        });
    lines.collect()
}

fn check_version(version: Option<&str>) -> Result<(), Error> {
    let Some(version) = version else {
        return Ok(());
    };
    let mut parts = version.split('.').map_while(|part| part.parse().ok());
    let found: (u32, u32) = (parts.next().unwrap_or(0), parts.next().unwrap_or(0));
    if found >= OLDEST {
        return Ok(());
    }
    Err(Error::new(
        ErrorKind::Configuration,
        format!(
            "it is Redis {version}: {}.{} or newer is needed",
            OLDEST.0, OLDEST.1
        ),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOUND: &str = "# Server\r\nredis_version:7.0.15\r\nrole:master\r\nloading:0\r\n\
                         maxmemory_policy:noeviction\r\naof_enabled:1\r\n";

    fn with(field: &str, value: &str) -> String {
        let kept = SOUND.lines().filter(|line| !line.starts_with(field));
        let mut info: String = kept.flat_map(|line| [line, "\r\n"]).collect();
        info.push_str(&format!("{field}:{value}\r\n"));
        info
    }

    #[test]
    fn a_sound_server_passes_without_a_warning() {
        assert_eq!(check(SOUND, false, false).unwrap(), []);
        assert_eq!(
            check(&with("redis_version", "6.2.0"), false, false).unwrap(),
            []
        );
        assert_eq!(
            check(&with("redis_version", "10.0.0"), false, false).unwrap(),
            []
        );
    }

    #[test]
    fn an_unfit_server_is_refused_with_the_reason() {
        for (field, value, named) in [
            ("redis_version", "6.0.20", "6.0.20"),
            ("redis_version", "5.0.7", "6.2"),
            ("role", "slave", "replica"),
            ("maxmemory_policy", "allkeys-lru", "noeviction"),
            ("cluster_enabled", "1", "Cluster"),
        ] {
            let error = check(&with(field, value), false, false).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Configuration, "{field}");
            assert!(!error.is_transient(), "{field}");
            assert!(error.to_string().contains(named), "{error}");
        }
        let error = check(&with("loading", "1"), false, false).unwrap_err();
        assert!(error.is_transient());
    }

    #[test]
    fn a_node_of_a_cluster_is_taken_where_one_is_asked_for() {
        let node = |role: &str| {
            let info = with("role", role) + "cluster_enabled:1\r\n";
            check(&info, false, true)
        };
        assert_eq!(node("master").unwrap(), []);
        assert!(node("slave").unwrap_err().is_transient());
        let alone = check(SOUND, false, true).unwrap_err();
        assert!(alone.to_string().contains("redis://"), "{alone}");
    }

    #[test]
    fn doubtful_server_settings_give_warnings() {
        let warnings = |field, value| check(&with(field, value), true, false).unwrap();
        assert_eq!(
            warnings("maxmemory_policy", "allkeys-lfu"),
            [Warning::Evicts("allkeys-lfu".to_owned())]
        );
        assert_eq!(
            warnings("maxmemory_policy", "volatile-ttl"),
            [Warning::EvictsExpiring("volatile-ttl".to_owned())]
        );
        assert_eq!(warnings("aof_enabled", "0"), [Warning::NotPersistent]);
    }

    /// A server's greeting to a user with no other rights.
    #[test]
    fn fields_of_a_greeting_are_checked_as_those_of_info() {
        let greeted = |version: &str, mode: &str, role: &str| {
            let fields = [("version", version), ("mode", mode), ("role", role)];
            let bulk = |text: &str| Value::BulkString(text.as_bytes().to_vec());
            let simple = |text: &str| Value::SimpleString(text.to_owned());
            let info = as_info(&Value::Map(
                fields.map(|(name, value)| (bulk(name), bulk(value))).into(),
            ));
            let fields = fields.map(|(name, value)| (simple(name), simple(value)));
            assert_eq!(as_info(&Value::Map(fields.into())), info);
            check(&info, false, false)
        };
        assert_eq!(greeted("7.0.15", "standalone", "master").unwrap(), []);
        for (version, mode, role, named) in [
            ("6.0.20", "standalone", "master", "6.0.20"),
            ("7.0.15", "cluster", "master", "Cluster"),
            ("7.0.15", "standalone", "replica", "replica"),
        ] {
            let error = greeted(version, mode, role).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Configuration);
            assert!(error.to_string().contains(named), "{error}");
        }
    }
}
