//! A cluster of servers for one test.

use std::{
    cell::Cell,
    collections::BTreeSet,
    fmt::Write,
    thread,
    time::{Duration, Instant},
};

use redis::Value;

use super::{Server, ServerBuilder, ServerError};

/// The longest time for the servers to agree: far more than it takes, also on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);
const LOOK: Duration = Duration::from_millis(10);
/// The time after which a server has given up a failover that an operator asked for.
const GIVES_UP: Duration = Duration::from_secs(5);
const SLOTS: usize = 16_384;
/// The number of keys that move to another server in one step.
const CHUNK: usize = 100;

/// A Redis Cluster of real servers on loopback ports, for this test alone: primaries that share the
/// slots, and replicas.
///
/// ```
/// use real_redis::{Cluster, Server};
///
/// let cluster = Cluster::start(3, 0, Server::builder())?;
/// let (from, to) = (cluster.owner(7)?, 1);
/// cluster.migrate(7, from, to)?;
/// assert_eq!(cluster.owner(7)?, to);
/// # Ok::<(), real_redis::ServerError>(())
/// ```
#[derive(Debug)]
pub struct Cluster {
    servers: Vec<Server>,
    ids: Vec<String>,
    primaries: usize,
}

impl Cluster {
    /// Starts `primaries` primaries, each with `replicas` replicas, all from these settings, and waits
    /// until they agree. The slots are in equal ranges, in the order of the primaries.
    ///
    /// # Errors
    ///
    /// The errors of [`ServerBuilder::start`]; and if the servers do not agree within a minute.
    pub fn start(
        primaries: usize,
        replicas: usize,
        settings: ServerBuilder,
    ) -> Result<Self, ServerError> {
        let settings = settings
            .with_tcp()
            .with_line("cluster-enabled yes")
            .with_line("cluster-announce-ip 127.0.0.1");
        let count = primaries * (1 + replicas);
        let servers: Result<Vec<Server>, _> =
            (0..count).map(|_| settings.clone().start()).collect();
        let servers = servers?;
        let ids = servers
            .iter()
            .map(|server| server.ask(&["CLUSTER", "MYID"]));
        let cluster = Self {
            ids: ids.collect::<Result<_, _>>()?,
            servers,
            primaries,
        };
        cluster.join()?;
        Ok(cluster)
    }

    /// The servers: the primaries of the beginning, then the replicas, in the order of their primaries
    /// again and again.
    pub fn servers(&self) -> &[Server] {
        &self.servers
    }

    /// The id by which the servers know this one.
    pub fn id(&self, server: usize) -> &str {
        &self.ids[server]
    }

    /// The URL of its first servers.
    pub fn url(&self) -> String {
        let first = self.servers.iter().take(self.primaries);
        let places: Vec<_> = first.map(place).collect();
        let settings = self.servers[0].settings();
        settings.tcp_url("+cluster", &places.join(","))
    }

    /// The server that has this slot according to all running servers.
    ///
    /// # Errors
    ///
    /// If none has it.
    pub fn owner(&self, slot: u16) -> Result<usize, ServerError> {
        let asked = self.running().next();
        let server = asked.ok_or_else(|| ServerError::new("no server of the cluster runs"))?;
        for (first, last, id) in owners(server)? {
            if (first..=last).contains(&slot) {
                let at = self.ids.iter().position(|other| *other == id);
                return at.ok_or_else(|| ServerError::new(format!("a stranger has slot {slot}")));
            }
        }
        Err(ServerError::new(format!("nobody has slot {slot}")))
    }

    /// Moves a slot and its keys from one server to another, as `redis-cli --cluster reshard` does: key by
    /// key, while the servers go on serving. Continues a move that stopped half-way.
    ///
    /// # Errors
    ///
    /// If a server refuses. The move has stopped half-way then.
    pub fn migrate(&self, slot: u16, from: usize, to: usize) -> Result<(), ServerError> {
        self.begin_to_migrate(slot, from, to, usize::MAX)?;
        // The new owner first: otherwise no server would have the slot if the last step failed. Servers
        // that do not run learn of the move later.
        let owners = owners(&self.servers[to])?;
        let has_slots = |id: &String| owners.iter().any(|(.., owner)| owner == id);
        let others = (0..self.servers.len())
            .filter(|other| ![to, from].contains(other) && has_slots(&self.ids[*other]));
        for server in [to, from].into_iter().chain(others) {
            if self.servers[server].process_id().is_some() {
                self.set_slot(server, slot, &["NODE", &self.ids[to]])?;
            }
        }
        Ok(())
    }

    /// Moves at most `keys` keys of a slot, and stops half-way, as an interrupted
    /// [`migrate`](Self::migrate) does. Until the move continues, no server takes a call that needs keys of
    /// both.
    ///
    /// # Errors
    ///
    /// If a server refuses.
    pub fn begin_to_migrate(
        &self,
        slot: u16,
        from: usize,
        to: usize,
        keys: usize,
    ) -> Result<(), ServerError> {
        self.set_slot(to, slot, &["IMPORTING", &self.ids[from]])?;
        self.set_slot(from, slot, &["MIGRATING", &self.ids[to]])?;
        self.move_keys(slot, from, to, keys)
    }

    fn set_slot(&self, server: usize, slot: u16, words: &[&str]) -> Result<(), ServerError> {
        let number = slot.to_string();
        let command = [&["CLUSTER", "SETSLOT", &number], words].concat();
        self.servers[server].ask::<()>(&command)
    }

    /// Whether the servers can move a slot [in one step](Self::migrate_at_once).
    ///
    /// # Errors
    ///
    /// If a server does not answer.
    pub fn migrates_at_once(&self) -> Result<bool, ServerError> {
        let server = &self.servers[0];
        let commands: Vec<Value> = server.ask(&["COMMAND", "INFO", "cluster|migrateslots"])?;
        Ok(commands.iter().any(|command| *command != Value::Nil))
    }

    /// Moves a slot with all its keys in one step, by `CLUSTER MIGRATESLOTS`, which Valkey has from 9.0 on.
    ///
    /// # Errors
    ///
    /// If a server refuses, or does not know the command.
    pub fn migrate_at_once(&self, slot: u16, from: usize, to: usize) -> Result<(), ServerError> {
        let (number, id) = (slot.to_string(), &self.ids[to]);
        let words = ["MIGRATESLOTS", "SLOTSRANGE", &number, &number, "NODE", id];
        self.servers[from].ask::<()>(&[&["CLUSTER"], &words[..]].concat())?;
        self.wait_until("the slot has moved", || {
            for server in self.running() {
                let moved = |(first, last, owner): &(u16, u16, String)| {
                    (*first..=*last).contains(&slot) && owner == id
                };
                if !owners(server)?.iter().any(moved) {
                    return Ok(false);
                }
            }
            Ok(true)
        })
    }

    fn move_keys(
        &self,
        slot: u16,
        from: usize,
        to: usize,
        mut most: usize,
    ) -> Result<(), ServerError> {
        let tried = |error| ServerError::tried("a slot cannot be moved", error);
        let mut source = self.servers[from].connect()?;
        let target = &self.servers[to];
        let port = target.port().unwrap_or_default();
        while most > 0 {
            let keys: Vec<Vec<u8>> = redis::cmd("CLUSTER")
                .arg("GETKEYSINSLOT")
                .arg(slot)
                .arg(CHUNK.min(most))
                .query(&mut source)
                .map_err(tried)?;
            if keys.is_empty() {
                return Ok(());
            }
            most -= keys.len();
            let mut migrate = redis::cmd("MIGRATE");
            migrate.arg("127.0.0.1").arg(port).arg("").arg(0);
            migrate.arg(PATIENCE.as_millis() as u64);
            if let Some(password) = &target.settings().password {
                migrate.arg("AUTH").arg(password);
            }
            migrate.arg("KEYS").arg(keys);
            migrate.exec(&mut source).map_err(tried)?;
        }
        Ok(())
    }

    /// Makes a replica take over from its primary by `CLUSTER FAILOVER`, for which it first gets all data.
    /// Returns when all servers that run know of it.
    ///
    /// # Errors
    ///
    /// If that takes longer than a minute.
    pub fn fail_over(&self, replica: usize) -> Result<(), ServerError> {
        let (server, id) = (&self.servers[replica], &self.ids[replica]);
        let begun: Cell<Option<Instant>> = Cell::default();
        self.wait_until("the replica takes over", || {
            // A second request during its attempt would restart the attempt.
            let tries = begun.get().is_some_and(|begun| begun.elapsed() < GIVES_UP);
            if !tries && server.ask::<()>(&["CLUSTER", "FAILOVER"]).is_ok() {
                begun.set(Some(Instant::now()));
            }
            for asked in self.running() {
                if !owners(asked)?.iter().any(|(.., owner)| owner == id) {
                    return Ok(false);
                }
            }
            Ok(true)
        })
    }

    /// Waits until all servers that run say that the cluster serves every slot.
    ///
    /// # Errors
    ///
    /// If that takes longer than a minute.
    pub fn wait_until_it_serves(&self) -> Result<(), ServerError> {
        self.wait_until("the cluster serves", || {
            for server in self.running() {
                let info: String = server.ask(&["CLUSTER", "INFO"])?;
                if !info.contains("cluster_state:ok") {
                    return Ok(false);
                }
            }
            Ok(true)
        })
    }

    /// Waits until all servers that run know the same latest configuration epoch.
    ///
    /// # Errors
    ///
    /// If that takes longer than a minute.
    pub fn wait_for_one_epoch(&self) -> Result<(), ServerError> {
        self.wait_until("one epoch", || {
            let mut epochs = BTreeSet::new();
            for server in self.running() {
                let info: String = server.ask(&["CLUSTER", "INFO"])?;
                let epoch = info
                    .lines()
                    .find(|line| line.starts_with("cluster_current_epoch"));
                epochs.insert(epoch.map(str::to_owned));
            }
            Ok(epochs.len() == 1)
        })
    }

    fn running(&self) -> impl Iterator<Item = &Server> {
        let servers = self.servers.iter();
        servers.filter(|server| server.process_id().is_some())
    }

    fn join(&self) -> Result<(), ServerError> {
        let mut first = 0;
        for (number, server) in self.servers.iter().take(self.primaries).enumerate() {
            let end = SLOTS * (number + 1) / self.primaries;
            // One by one, since servers before 7.0 take no ranges.
            let slots: Vec<String> = (first..end).map(|slot| slot.to_string()).collect();
            let slots = slots.iter().map(String::as_str);
            let command: Vec<&str> = ["CLUSTER", "ADDSLOTS"].into_iter().chain(slots).collect();
            server.ask::<()>(&command)?;
            first = end;
        }
        for (number, server) in self.servers.iter().enumerate().skip(1) {
            // Different epochs, so that the servers need not agree on them.
            let epoch = (number + 1).to_string();
            server.ask::<()>(&["CLUSTER", "SET-CONFIG-EPOCH", &epoch])?;
            let port = self.servers[0].port().unwrap_or_default().to_string();
            server.ask::<()>(&["CLUSTER", "MEET", "127.0.0.1", &port])?;
        }
        self.wait_until("the servers know each other", || {
            for server in &self.servers {
                let nodes: String = server.ask(&["CLUSTER", "NODES"])?;
                let known = |id: &String| nodes.contains(id.as_str());
                if !self.ids.iter().all(known) || nodes.contains("handshake") {
                    return Ok(false);
                }
            }
            Ok(true)
        })?;
        for (number, server) in self.servers.iter().enumerate().skip(self.primaries) {
            let primary = &self.ids[number % self.primaries];
            server.ask::<()>(&["CLUSTER", "REPLICATE", primary])?;
        }
        self.wait_until_it_serves()?;
        self.wait_until("the replicas follow", || {
            for server in &self.servers[self.primaries..] {
                if server.info("replication", "master_link_status")?.as_deref() != Some("up") {
                    return Ok(false);
                }
            }
            // A primary grants no failover to a server that it does not yet know as a replica.
            for server in &self.servers {
                let nodes: String = server.ask(&["CLUSTER", "NODES"])?;
                let flags = nodes.lines().filter_map(|node| node.split(' ').nth(2));
                let replicas = flags.filter(|flags| flags.split(',').any(|flag| flag == "slave"));
                if replicas.count() != self.servers.len() - self.primaries {
                    return Ok(false);
                }
            }
            Ok(true)
        })
    }

    /// Waits until `holds` returns true.
    ///
    /// # Errors
    ///
    /// If that takes longer than a minute; and if the check itself fails.
    pub fn wait_until(
        &self,
        what: &str,
        holds: impl Fn() -> Result<bool, ServerError>,
    ) -> Result<(), ServerError> {
        let start = Instant::now();
        while !holds()? {
            if start.elapsed() > PATIENCE {
                let mut text = format!("not within {PATIENCE:?}: {what}");
                for server in self.running() {
                    let nodes = server.ask(&["CLUSTER", "NODES"]);
                    let nodes = nodes.unwrap_or_else(|error| format!("{error}\n"));
                    let (place, log) = (place(server), server.end_of_log());
                    let _ = write!(
                        text,
                        "\n{place} says:\n{nodes}and at the end of its log:\n{log}"
                    );
                }
                return Err(ServerError::new(text));
            }
            thread::sleep(LOOK);
        }
        Ok(())
    }
}

fn place(server: &Server) -> String {
    format!("127.0.0.1:{}", server.port().unwrap_or_default())
}

/// The owners of the slots: the first slot, the last one, and the id of the server.
fn owners(server: &Server) -> Result<Vec<(u16, u16, String)>, ServerError> {
    let nodes: String = server.ask(&["CLUSTER", "NODES"])?;
    let mut owners = Vec::new();
    for line in nodes.lines() {
        let mut words = line.split(' ');
        let id = words.next().unwrap_or_default();
        for range in words.skip(7).filter(|word| !word.starts_with('[')) {
            let (first, last) = range.split_once('-').unwrap_or((range, range));
            if let (Ok(first), Ok(last)) = (first.parse(), last.parse()) {
                owners.push((first, last, id.to_owned()));
            }
        }
    }
    Ok(owners)
}
