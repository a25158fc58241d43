//! Facts about a queue and its server that calls do not show.

use std::{collections::BTreeMap, time::Duration};

use queue_core::{Denied, Facts, QueueName, Result, ServerFacts, Timestamp, in_millis};
use redis::{Cmd, FromRedisValue, Value};
use redis_link::Client;

use super::RedisBackend;
use crate::{keys, rights};

/// Entries of the server's log of refused calls that are read.
const DENIALS: usize = 10;
/// The beginning of the name that the connections of `qk` have on the server, in its list of clients.
const OPERATORS_CLIENT: &str = " name=qk-";
/// Processes at a marker that are read.
const REGISTERED: usize = 1_000;

/// The states of servers, by their addresses.
pub(super) type Servers = BTreeMap<String, Server>;

/// The state of a server.
#[derive(Debug, Clone)]
pub(super) struct Server {
    now: Timestamp,
    /// None if the user may not read it.
    facts: Option<ServerFacts>,
    /// The nodes of its cluster, as it knows them.
    nodes: Option<String>,
}

impl RedisBackend {
    /// The facts of a queue. The state of its server is read unless it is in `servers`.
    pub(super) async fn facts_of(&self, name: &QueueName, servers: &Servers) -> Result<Facts> {
        let meta = keys::meta(self.prefix(), name);
        let client = self.client().at(&meta);
        let server = match servers.get(&address(&client).await?) {
            Some(server) => server.clone(),
            None => self.server(&client).await?,
        };
        let mut facts = Facts::default();
        if let Some(registered) = waiting(&client, &meta, "arrivals", server.now).await? {
            facts.waiting = Some(registered.len() as u64);
            facts.waiting_holders = registered.iter().filter_map(|one| holder(one)).collect();
        }
        let for_room = waiting(&client, &meta, "room", server.now).await?;
        facts.waiting_for_room = for_room.map(|registered| registered.len() as u64);
        facts.server = server.facts;
        if let (Some(state), Some(nodes)) = (&mut facts.server, server.nodes) {
            state.moving_to = destination(&nodes, client.slot());
        }
        Ok(facts)
    }

    /// The states of the servers that have these queues, each read once. Where a server cannot be reached, the states of
    /// the servers before it.
    pub(super) async fn servers_of(&self, names: &[QueueName]) -> Servers {
        let mut servers = Servers::new();
        for name in names {
            let client = self.client().at(&keys::meta(self.prefix(), name));
            let Ok(address) = address(&client).await else {
                break;
            };
            if servers.contains_key(&address) {
                continue;
            }
            let Ok(server) = self.server(&client).await else {
                break;
            };
            servers.insert(address, server);
        }
        servers
    }

    /// The state of the server that this client sends to.
    async fn server(&self, client: &Client) -> Result<Server> {
        let now = client.time().await?;
        let mut server = Server {
            now,
            facts: None,
            nodes: None,
        };
        let Some(text) = allowed::<String>(client, &redis::cmd("INFO")).await? else {
            return Ok(server);
        };
        let info = Info(&text);
        let mut facts = ServerFacts::default();
        facts.address = address(client).await?;
        facts.version = info.version();
        facts.now = now;
        facts.memory = info.number("used_memory").unwrap_or(0);
        facts.memory_limit = info.number("maxmemory").filter(|limit| *limit > 0);
        let settings = settings(client).await?;
        facts.refuses_writes = refuses_writes(&info, &settings);
        facts.denied = denied(client, self.prefix()).await?;
        facts.warnings = queue_core::Backend::warnings(self);
        server.nodes = nodes(client).await?;
        server.facts = Some(facts);
        Ok(server)
    }
}

/// The address of the node that this client sends to.
async fn address(client: &Client) -> Result<String> {
    Ok(client.route().await?.node.address().to_string())
}

/// The reply to a command; none if the user may not call it, or if the server has no such command.
async fn allowed<T: FromRedisValue>(client: &Client, command: &Cmd) -> Result<Option<T>> {
    match client.ask(command, "a fact of the server").await {
        Ok(reply) => Ok(Some(reply)),
        Err(error) if error.is_transient() => Err(error),
        Err(_) => Ok(None),
    }
}

/// The registrations of the processes that wait at a marker of this queue and still listen; a process that was killed
/// stays registered until its time is over. None if the user may not read the marker.
async fn waiting(
    client: &Client,
    meta: &str,
    marker: &str,
    now: Timestamp,
) -> Result<Option<Vec<String>>> {
    let marker = format!("{}{marker}", meta.strip_suffix("meta").unwrap_or(meta));
    let mut range = redis::cmd("ZRANGEBYSCORE");
    range.arg(marker).arg(format!("({}", now.as_millis()));
    range.arg("+inf").arg("LIMIT").arg(0).arg(REGISTERED);
    let Some(mut registered) = allowed::<Vec<String>>(client, &range).await? else {
        return Ok(None);
    };
    if registered.is_empty() {
        return Ok(Some(registered));
    }
    let mut listening = redis::cmd("PUBSUB");
    listening.arg("NUMSUB");
    for registration in &registered {
        listening.arg(channel(registration));
    }
    let counts = allowed::<BTreeMap<String, u64>>(client, &listening).await?;
    if let Some(counts) = counts {
        registered.retain(|one| counts.get(channel(one)).is_some_and(|count| *count > 0));
    }
    Ok(Some(registered))
}

/// The channel of a registration. Behind a blank may follow the lease that the process wants: the registration's
/// number, the lease's length in milliseconds, and the holder's name.
fn channel(registration: &str) -> &str {
    registration.split(' ').next().unwrap_or_default()
}

fn holder(registration: &str) -> Option<String> {
    registration.splitn(4, ' ').nth(3).map(str::to_owned)
}

/// Settings by which a server refuses writes.
async fn settings(client: &Client) -> Result<BTreeMap<String, String>> {
    let mut settings = BTreeMap::new();
    for name in [
        "stop-writes-on-bgsave-error",
        "min-replicas-to-write",
        "min-replicas-max-lag",
    ] {
        // Servers before 7.0 take one name at a time.
        let mut get = redis::cmd("CONFIG");
        get.arg("GET").arg(name);
        settings.extend(
            allowed::<BTreeMap<String, String>>(client, &get)
                .await?
                .unwrap_or_default(),
        );
    }
    Ok(settings)
}

/// The nodes of the client's cluster, if it has one.
async fn nodes(client: &Client) -> Result<Option<String>> {
    if !client.is_clustered() {
        return Ok(None);
    }
    let mut nodes = redis::cmd("CLUSTER");
    nodes.arg("NODES");
    allowed::<String>(client, &nodes).await
}

/// Reads from the reply to `CLUSTER NODES` to which node the asked node sends this slot.
fn destination(nodes: &str, slot: u16) -> Option<String> {
    let mut lines = nodes.lines();
    let own = lines.find(|line| {
        line.split(' ')
            .nth(2)
            .is_some_and(|flags| flags.contains("myself"))
    })?;
    let mark = format!("[{slot}->-");
    let to = own
        .split(' ')
        .find_map(|word| word.strip_prefix(&mark)?.strip_suffix(']'))?;
    let mut lines = nodes.lines();
    let address = lines.find_map(|line| line.strip_prefix(to)?.split_whitespace().next());
    Some(
        address
            .unwrap_or(to)
            .split('@')
            .next()
            .unwrap_or(to)
            .to_owned(),
    )
}

/// The calls that the server refused for want of rights, of those that queues with this prefix make. Other programs
/// have users of their own.
async fn denied(client: &Client, prefix: &str) -> Result<Vec<Denied>> {
    let mut log = redis::cmd("ACL");
    log.arg("LOG").arg(DENIALS);
    let entries = allowed::<Vec<BTreeMap<String, Value>>>(client, &log).await?;
    let entries = entries.unwrap_or_default().into_iter();
    Ok(entries.filter_map(|entry| denial(&entry, prefix)).collect())
}

fn denial(entry: &BTreeMap<String, Value>, prefix: &str) -> Option<Denied> {
    let text =
        |name: &str| -> Option<String> { redis::from_redis_value(entry.get(name)?.clone()).ok() };
    // A tool of an operator tries what its user may do, and names what it lacks itself.
    let client = text("client-info").unwrap_or_default();
    if client.contains(OPERATORS_CLIENT) {
        return None;
    }
    // Failed logins are there as well.
    let what = match &*text("reason")? {
        "command" => {
            let command = text("object")?;
            let whole = command.split('|').next().unwrap_or(&command);
            let is_of_queues =
                |own: &str| own.eq_ignore_ascii_case(&command) || own.eq_ignore_ascii_case(whole);
            rights::commands(prefix)
                .any(is_of_queues)
                .then(|| command.to_uppercase())?
        }
        kind @ ("key" | "channel") => {
            let object = text("object")?;
            let is_own = object.strip_prefix(prefix)?.starts_with(':');
            is_own.then(|| format!("the {kind} {object}"))?
        }
        _ => return None,
    };
    let age: f64 = text("age-seconds")?.parse().ok()?;
    let times: u64 = text("count")?.parse().ok()?;
    Some(Denied::new(
        text("username")?,
        what,
        times,
        Duration::try_from_secs_f64(age).ok()?,
    ))
}

/// The reply to `INFO`.
struct Info<'a>(&'a str);

impl Info<'_> {
    fn field(&self, name: &str) -> Option<&str> {
        let mut lines = self.0.lines();
        lines
            .find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))
            .map(str::trim)
    }

    fn number(&self, name: &str) -> Option<u64> {
        self.field(name)?.parse().ok()
    }

    fn version(&self) -> String {
        // Valkey names a Redis version, too, for clients that ask for one.
        match self.field("valkey_version") {
            Some(version) => format!("Valkey {version}"),
            None => format!(
                "Redis {}",
                self.field("redis_version")
                    .unwrap_or("of an unknown version")
            ),
        }
    }
}

/// Why a server refuses writes, by its own account.
fn refuses_writes(info: &Info<'_>, settings: &BTreeMap<String, String>) -> Option<String> {
    let setting = |name: &str| settings.get(name).map(String::as_str);
    if info.field("loading") == Some("1") {
        return Some("it is loading its data".to_owned());
    }
    if info.field("role") == Some("slave") {
        let primary = info.field("master_host").unwrap_or("another server");
        return Some(format!("it is a replica of {primary}"));
    }
    let (used, limit) = (
        info.number("used_memory")?,
        info.number("maxmemory").unwrap_or(0),
    );
    if limit > 0 && used >= limit {
        return Some(format!("its memory is full: {used} of {limit} bytes"));
    }
    let needed: u64 = setting("min-replicas-to-write")
        .and_then(|needed| needed.parse().ok())
        .unwrap_or(0);
    let good = info.number("min_slaves_good_slaves");
    if let Some(good) = good.filter(|good| *good < needed) {
        let lag = Duration::from_secs(
            setting("min-replicas-max-lag")
                .and_then(|lag| lag.parse().ok())
                .unwrap_or(10),
        );
        return Some(format!(
            "{good} of {needed} replicas were heard of within {}",
            in_millis(lag)
        ));
    }
    if info.field("aof_last_write_status") == Some("err") {
        return Some("it cannot write its append-only file".to_owned());
    }
    let stops = setting("stop-writes-on-bgsave-error").is_none_or(|stops| stops == "yes");
    if stops && info.field("rdb_last_bgsave_status") == Some("err") {
        return Some("its last snapshot failed (`stop-writes-on-bgsave-error`)".to_owned());
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slot_that_moves_is_told_by_the_node_that_has_it() {
        let nodes = "aa 10.0.0.1:7000@17000 myself,master - 0 0 1 connected 0-5460 [93->-bb]\n\
                     bb 10.0.0.2:7001@17001 master - 0 0 2 connected 5461-10922\n";
        assert_eq!(destination(nodes, 93).as_deref(), Some("10.0.0.2:7001"));
        assert_eq!(destination(nodes, 94), None);
    }

    #[test]
    fn each_reason_of_a_server_that_refuses_writes_is_told() {
        let settings = BTreeMap::from([("min-replicas-to-write".to_owned(), "1".to_owned())]);
        for (info, reason) in [
            ("loading:1", Some("loading its data")),
            (
                "role:slave\r\nmaster_host:10.0.0.7",
                Some("a replica of 10.0.0.7"),
            ),
            (
                "role:master\r\nused_memory:900\r\nmaxmemory:800",
                Some("900 of 800 bytes"),
            ),
            (
                "used_memory:1\r\nmaxmemory:0\r\nmin_slaves_good_slaves:0",
                Some("0 of 1 replicas"),
            ),
            (
                "used_memory:1\r\naof_last_write_status:err",
                Some("append-only file"),
            ),
            (
                "used_memory:1\r\nrdb_last_bgsave_status:err",
                Some("last snapshot failed"),
            ),
            (
                "role:master\r\nused_memory:700\r\nmaxmemory:800\r\nrdb_last_bgsave_status:ok",
                None,
            ),
        ] {
            let found = refuses_writes(&Info(info), &settings);
            assert_eq!(found.is_some(), reason.is_some(), "{info}: {found:?}");
            assert!(
                found
                    .unwrap_or_default()
                    .contains(reason.unwrap_or_default()),
                "{info}"
            );
        }
    }
}
