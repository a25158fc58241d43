//! A primary, its replica, and three sentinels. A failover may undo unconfirmed calls that were answered
//! during it (R1), and nothing else.

use std::{collections::HashMap, sync::Arc, time::Duration};

use real_redis::Server;

use super::{
    copies::{Clients, judge},
    remains::Remains,
    rounds::{Rounds, all_flow},
    servers::{copy_all, cut_off, follows, is_primary},
};
use crate::{
    ground::{administer, until},
    traffic::Traffic,
};

/// Of each fault.
const ROUNDS: u64 = 3;
const SENTINELS: usize = 3;
/// How long the old primary still acts as a primary.
const SPELL: Duration = Duration::from_millis(100);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fault {
    /// `kill -9` of the primary.
    Kill,
    /// The same while the replica lacks the last messages, which are lost.
    KillAhead,
    /// SIGSTOP of the primary, and SIGCONT once it has a successor: until it learns that, it acts as a
    /// primary.
    Freeze,
    /// `SENTINEL FAILOVER`, which does not wait for the replica.
    Planned,
}

const FAULTS: [Fault; 4] = [Fault::Kill, Fault::KillAhead, Fault::Freeze, Fault::Planned];

struct Scene {
    servers: [Server; 2],
    sentinels: Vec<Server>,
    primary: usize,
}

impl Scene {
    async fn start() -> Self {
        let start = || Server::builder().with_tcp().start().expect("a server");
        let servers = [start(), start()];
        let port = servers[0].port().expect("it has a port");
        administer(&servers[1], &format!("REPLICAOF 127.0.0.1 {port}"));
        until("the replica follows", || follows(&servers[1], &servers[0])).await;
        let sentinels = (0..SENTINELS).map(|_| {
            let sentinel = Server::builder()
                .with_tcp()
                .with_watch("orders", &servers[0], SENTINELS as u32)
                .expect("it has a port")
                .with_line("sentinel down-after-milliseconds orders 1000")
                .with_line("sentinel failover-timeout orders 4000");
            sentinel.start().expect("a sentinel")
        });
        let scene = Self {
            sentinels: sentinels.collect(),
            servers,
            primary: 0,
        };
        scene.may_fail_over(false);
        for sentinel in &scene.sentinels {
            // Sentinels ping slowly by default, and before 7.0 that cannot be changed. A sentinel promotes
            // no replica that has been silent for five pings, and in a failover it hears from a replica
            // once a second.
            let hasten =
                "SENTINEL DEBUG PING-PERIOD 500 INFO-PERIOD 100 ASK-PERIOD 100 TILT-PERIOD 1000";
            let hasten: Vec<&str> = hasten.split(' ').collect();
            let _ = sentinel.ask::<()>(&hasten);
            until("the sentinels know each other, and the replica", || {
                let known: String = sentinel.ask(&["INFO", "sentinel"]).expect("text");
                known.contains(&format!("slaves=1,sentinels={SENTINELS}"))
            })
            .await;
        }
        scene
    }

    fn all(&self) -> impl Iterator<Item = &Server> + Clone {
        self.servers.iter()
    }

    fn url(&self) -> String {
        let sentinels = self.sentinels.iter();
        let ports = sentinels.map(|sentinel| sentinel.port().expect("it has a port"));
        let places: Vec<_> = ports.map(|port| format!("127.0.0.1:{port}")).collect();
        format!("redis+sentinel://{}/orders", places.join(","))
    }

    /// A failover that no fault of a round causes would undo calls unexpectedly. Only one sentinel ever
    /// starts a failover, and the others vote for it: several that start at once would each vote for
    /// themselves. Sentinels write their files before they ask the others, so on a slow disk every election
    /// could fail in this way.
    fn may_fail_over(&self, may: bool) {
        for (place, sentinel) in self.sentinels.iter().enumerate() {
            let may = may && place == 0;
            let quorum = if may { 2 } else { SENTINELS + 1 };
            administer(sentinel, &format!("SENTINEL SET orders quorum {quorum}"));
        }
    }

    fn all_name(&self, server: usize) -> bool {
        let port = self.servers[server]
            .port()
            .expect("it has a port")
            .to_string();
        self.sentinels.iter().all(|sentinel| {
            let ask = ["SENTINEL", "GET-MASTER-ADDR-BY-NAME", "orders"];
            let named: Vec<String> = sentinel.ask(&ask).expect("a place");
            named.get(1) == Some(&port)
        })
    }

    /// Whether every sentinel sees the replica at work.
    fn all_see_the_replica(&self) -> bool {
        self.sentinels.iter().all(|sentinel| {
            let replicas = sentinel.ask(&["SENTINEL", "REPLICAS", "orders"]);
            let replicas: Vec<HashMap<String, String>> = replicas.expect("replicas");
            replicas.iter().any(|replica| replica["flags"] == "slave")
        })
    }

    async fn strike(&mut self, fault: Fault, flows: &[Arc<Traffic>]) {
        let (old, new) = (self.primary, 1 - self.primary);
        let (primary, replica) = (&self.servers[old], &self.servers[new]);
        for flow in flows {
            flow.ledger().failover_begins();
        }
        copy_all(primary);
        match fault {
            Fault::Kill => primary.kill().expect("it ran"),
            Fault::KillAhead => {
                cut_off(replica, primary);
                all_flow(flows, "flow that will be lost").await;
                primary.kill().expect("it ran");
                replica.thaw().expect("it runs");
                until("the replica is seen", || self.all_see_the_replica()).await;
            }
            Fault::Freeze => primary.freeze().expect("it runs"),
            Fault::Planned => {}
        }
        self.may_fail_over(true);
        until("the replica takes over", || {
            if fault == Fault::Planned {
                // The command is refused while a failover is under way.
                let _ = self.sentinels[0].ask::<()>(&["SENTINEL", "FAILOVER", "orders"]);
            }
            is_primary(replica)
        })
        .await;
        until("the sentinels name it", || self.all_name(new)).await;
        match fault {
            Fault::Kill | Fault::KillAhead => primary.start_again().expect("it starts"),
            Fault::Freeze => primary.thaw().expect("it runs"),
            Fault::Planned => {}
        }
        // Sentinels would demote the old primary too, ten seconds later. Until then there are two
        // primaries.
        tokio::time::sleep(SPELL).await;
        let port = replica.port().expect("it has a port").to_string();
        until("the old primary follows", || {
            // Sentinels may cut the connection that sends this command.
            let followed = primary.ask::<()>(&["REPLICAOF", "127.0.0.1", &port]);
            followed.is_ok() && follows(primary, replica)
        })
        .await;
        self.may_fail_over(false);
        for flow in flows {
            flow.ledger().failover_is_over();
        }
        until("it is seen", || self.all_see_the_replica()).await;
        self.primary = new;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn confirmed_messages_outlive_every_primary() {
    let rounds = Rounds::of_each(ROUNDS);
    let mut scene = Scene::start().await;
    let clients = Clients::connect(&scene.url()).await;
    let flows = clients.flows().await;
    let before = Remains::of(scene.all());
    let tolls = rounds
        .play(&flows, &FAULTS, async |fault, _| {
            scene.strike(fault, &flows).await;
        })
        .await;
    judge(&tolls);
    before.come_back(scene.all(), &tolls).await;
}
