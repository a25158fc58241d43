//! A cluster of three primaries, each with a replica. A failover may undo unconfirmed calls that the
//! primary answered during the failover (R1), and nothing else. A slot that moves loses nothing.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
    time::Duration,
};

use queue_core::QueueKind;
use real_redis::{Cluster, Server};
use tokio::{task::block_in_place, time::Instant};

use super::{
    copies::{Clients, judge},
    remains::Remains,
    rounds::{Rounds, all_flow},
    servers::{copy_all, cut_off, follows, is_primary, slot_of},
};
use crate::{ground::administer, traffic::Traffic};

/// Of each fault.
const ROUNDS: u64 = 2;
/// How long a slot stays half-way.
const SPELL: Duration = Duration::from_millis(50);
/// Redis keeps old votes (its pull request 8753). A server that won an election and was demoted counts
/// those votes again if it is elected within twice the node timeout. It then has no new epoch, so the
/// primary that it replaced becomes primary again when it is back, without its data in memory.
const OLD_VOTES_COUNT: Duration = Duration::from_millis(2_100);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fault {
    /// `kill -9` of a primary.
    Kill,
    /// The same while its replica lacks the last messages, which are lost.
    KillAhead,
    /// SIGSTOP of a primary, and SIGCONT once it has a successor: until it learns that, it acts as a
    /// primary.
    Freeze,
    /// `CLUSTER FAILOVER`, which waits for the replica, and so loses nothing.
    Planned,
    /// A slot moves key by key.
    Move,
    /// The same, by a mover that stops half-way; another goes on.
    MoveInTwo,
    /// The same while a third primary is killed. The source and the target of a move must not die: a
    /// successor does not know of the move, and would create the queue again although it is at the other
    /// node.
    MoveAndKill,
    /// A slot moves in one step.
    MoveAtOnce,
}

const FAULTS: [Fault; 7] = [
    Fault::Kill,
    Fault::KillAhead,
    Fault::Freeze,
    Fault::Planned,
    Fault::Move,
    Fault::MoveInTwo,
    Fault::MoveAndKill,
];

pub(super) struct Scene {
    pub(super) cluster: Cluster,
    /// The slots of the queues, and the traffic there.
    pub(super) places: Vec<(u16, Arc<Traffic>)>,
    /// When each server last won an election.
    elected: Mutex<BTreeMap<usize, Instant>>,
}

impl Scene {
    pub(super) fn on(cluster: Cluster, places: Vec<(u16, Arc<Traffic>)>) -> Self {
        Self {
            cluster,
            places,
            elected: Mutex::default(),
        }
    }

    pub(super) fn start() -> Cluster {
        let settings = Server::builder()
            .with_line("cluster-node-timeout 1000")
            // So that an election starts at once.
            .with_line("cluster-replica-validity-factor 0")
            // A failover that no fault of a round causes would undo calls unexpectedly.
            .with_line("cluster-replica-no-failover yes");
        Cluster::start(3, 1, settings).expect("a cluster")
    }

    pub(super) fn all(&self) -> impl Iterator<Item = &Server> + Clone {
        self.cluster.servers().iter()
    }

    fn server(&self, number: usize) -> &Server {
        &self.cluster.servers()[number]
    }

    fn owner(&self, slot: u16) -> usize {
        self.cluster.owner(slot).expect("somebody has it")
    }

    fn primaries(&self) -> Vec<usize> {
        let all = 0..self.cluster.servers().len();
        all.filter(|number| is_primary(self.server(*number)))
            .collect()
    }

    fn replica_of(&self, primary: usize) -> usize {
        let mut all = self.all();
        let replica = all.position(|server| follows(server, self.server(primary)));
        replica.expect("each primary has one")
    }

    /// The traffic on the queues of this server.
    fn flows_at(&self, server: usize) -> Vec<Arc<Traffic>> {
        let mut flows: Vec<Arc<Traffic>> = Vec::new();
        for (slot, flow) in &self.places {
            if self.owner(*slot) == server && !flows.iter().any(|known| Arc::ptr_eq(known, flow)) {
                flows.push(Arc::clone(flow));
            }
        }
        flows
    }

    pub(super) async fn strike(&self, fault: Fault, round: usize) {
        let (slot, _) = self.places[round % self.places.len()];
        let owner = self.owner(slot);
        let primaries = self.primaries();
        let others: Vec<usize> = primaries
            .into_iter()
            .filter(|other| *other != owner)
            .collect();
        let to = others[round / self.places.len() % others.len()];
        match fault {
            Fault::Kill | Fault::KillAhead | Fault::Freeze => {
                self.fail_over(fault, owner, || {}).await;
            }
            Fault::Planned => self.hand_over(owner).await,
            Fault::Move => self.move_on(slot, owner, to),
            Fault::MoveInTwo => {
                self.move_half(slot, owner, to).await;
                self.move_on(slot, owner, to);
            }
            Fault::MoveAndKill => {
                let third = others.into_iter().find(|other| *other != to);
                self.move_half(slot, owner, to).await;
                let third = third.expect("there are three");
                self.fail_over(Fault::Kill, third, || {
                    self.move_on(slot, owner, to);
                })
                .await;
            }
            Fault::MoveAtOnce => {
                let moved = self.cluster.migrate_at_once(slot, owner, to);
                moved.expect("it moves");
            }
        }
    }

    async fn move_half(&self, slot: u16, from: usize, to: usize) {
        let moved = self.cluster.begin_to_migrate(slot, from, to, 2);
        moved.expect("it begins");
        tokio::time::sleep(SPELL).await;
    }

    /// Moves the rest of a slot. While a primary is away, the servers refuse to move slots.
    fn move_on(&self, slot: u16, from: usize, to: usize) {
        self.wait_until("the slot moves", || {
            let moved = self.cluster.migrate(slot, from, to);
            moved.is_ok() || self.owner(slot) == to
        });
    }

    /// Strikes a primary, and waits until its replica is the primary and it follows the replica.
    /// `meanwhile` runs in between.
    async fn fail_over(&self, fault: Fault, victim: usize, meanwhile: impl FnOnce()) {
        let successor = self.replica_of(victim);
        self.may_be_elected(successor).await;
        let (primary, replica) = (self.server(victim), self.server(successor));
        let flows = self.flows_at(victim);
        for flow in &flows {
            flow.ledger().failover_begins();
        }
        copy_all(primary);
        match fault {
            Fault::Freeze => primary.freeze().expect("it runs"),
            Fault::KillAhead => {
                cut_off(replica, primary);
                all_flow(&flows, "flow that will be lost").await;
                primary.kill().expect("it ran");
                replica.thaw().expect("it runs");
            }
            _ => primary.kill().expect("it ran"),
        }
        administer(replica, "CONFIG SET cluster-replica-no-failover no");
        meanwhile();
        self.wait_until("the replica takes over", || is_primary(replica));
        self.was_elected(successor);
        administer(replica, "CONFIG SET cluster-replica-no-failover yes");
        match fault {
            Fault::Freeze => primary.thaw().expect("it runs"),
            _ => primary.start_again().expect("it starts"),
        }
        self.settle(primary, replica);
        for flow in &flows {
            flow.ledger().failover_is_over();
        }
    }

    /// Waits until an election of this server would be a new one.
    async fn may_be_elected(&self, server: usize) {
        let elected = self
            .elected
            .lock()
            .expect("none panics")
            .get(&server)
            .copied();
        if let Some(elected) = elected {
            tokio::time::sleep_until(elected + OLD_VOTES_COUNT).await;
        }
    }

    fn was_elected(&self, server: usize) {
        let mut elected = self.elected.lock().expect("none panics");
        elected.insert(server, Instant::now());
    }

    async fn hand_over(&self, victim: usize) {
        let replica = self.replica_of(victim);
        self.may_be_elected(replica).await;
        let taken_over = block_in_place(|| self.cluster.fail_over(replica));
        taken_over.expect("it takes over");
        self.was_elected(replica);
        self.settle(self.server(victim), self.server(replica));
    }

    fn settle(&self, old: &Server, new: &Server) {
        self.wait_until("the old primary follows", || follows(old, new));
        let serves = self.cluster.wait_until_it_serves();
        serves.expect("all agree");
        self.wait_until("all replicas follow", || {
            let primaries = self.primaries();
            primaries.len() == 3
                && primaries.iter().all(|primary| {
                    let mut all = self.all();
                    all.any(|server| follows(server, self.server(*primary)))
                })
        });
    }

    /// Waits until `holds`, which an earlier step must bring about. A failure shows how each server sees
    /// the cluster.
    fn wait_until(&self, what: &str, holds: impl Fn() -> bool) {
        let waited = block_in_place(|| self.cluster.wait_until(what, || Ok(holds())));
        waited.expect("what follows from earlier steps");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn moving_slots_lose_nothing_and_failovers_lose_nothing_confirmed() {
    let rounds = Rounds::of_each(ROUNDS);
    let cluster = Scene::start();
    let clients = Clients::connect(&cluster.url()).await;
    let mut slots = Vec::new();
    for (number, kind) in QueueKind::LEASING.into_iter().enumerate() {
        let slot = slot_of(&cluster, kind);
        slots.push(slot);
        // Each primary has one, so that all connections that there will be are there before the faults.
        let (owner, to) = (cluster.owner(slot).expect("somebody has it"), number % 3);
        if owner != to {
            cluster.migrate(slot, owner, to).expect("it moves");
            // Otherwise the next move could begin an epoch that is not the latest, and the servers disagree for ever.
            cluster.wait_for_one_epoch().expect("all agree");
        }
    }
    let flows = clients.flows().await;
    let places = slots.into_iter().zip(flows.iter().cloned());
    let scene = Scene::on(cluster, places.collect());
    let mut faults = FAULTS.to_vec();
    if scene.cluster.migrates_at_once().expect("it answers") {
        faults.push(Fault::MoveAtOnce);
    }
    let before = Remains::of(scene.all());
    let tolls = rounds
        .play(&flows, &faults, async |fault, round| {
            scene.strike(fault, round).await;
        })
        .await;
    judge(&tolls);
    before.come_back(scene.all(), &tolls).await;
}
