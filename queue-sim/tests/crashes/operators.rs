//! Queues in use on a cluster whose slots move, while an operator removes, opens, reconfigures and pauses them and
//! clients drop their calls: divided queues and undivided ones, confirmed calls and others.
//!
//! `QUEUE_FAULT_ROUNDS` is the number of rounds. Each round has its own seed, which it prints, and its own
//! traffic. It ends with failovers, during which the operator does nothing, because a failover may also
//! undo a removal (R1).

use std::{sync::Arc, time::Duration};

use queue_core::*;

use super::{
    clusters::{Fault, Scene},
    operator::{ACTS, Managed},
    remains::Remains,
    rounds::{Chance, Rounds, all_flow, connect, flow_during, shuffled, warm_up},
};
use crate::{
    ground::at_last,
    habits::Habits,
    ledger::Toll,
    traffic::{Errors, Subject, Traffic},
};

const PARTITIONS: usize = 4;
/// The number of each act in a round.
const ACTS_OF_EACH: usize = 3;
/// The number of handles: for each kind one to a whole queue and one to each partition, with a confirmation
/// and without.
const HANDLES: u64 = 4 * (1 + PARTITIONS as u64) * 2;
/// The number of tasks, two for each handle: one that batches pushes, and one for `settle_and_lease`.
const TASKS: u64 = 2 * HANDLES;
/// How long a call waits for the replica, which may be away.
const FOR_A_COPY: Duration = Duration::from_millis(200);
/// The faults while the operator is at work: they lose nothing.
const MOVES: [Fault; 4] = [Fault::Move, Fault::MoveInTwo, Fault::Move, Fault::Planned];
/// The faults afterwards, one in each round.
const FAILOVERS: [Fault; 3] = [Fault::Kill, Fault::KillAhead, Fault::Freeze];

/// A queue by all its handles.
struct Queue {
    backend: Arc<dyn Backend>,
    subject: Subject,
}

impl Queue {
    async fn open(
        backend: &Arc<dyn Backend>,
        confirming: &Arc<dyn Backend>,
        name: String,
        kind: QueueKind,
    ) -> Self {
        let open = || Subject::open(&**backend, Some(&**confirming), &name, kind);
        let subject = at_last(open).await;
        warm_up(&subject).await;
        Self {
            backend: Arc::clone(backend),
            subject,
        }
    }

    async fn flow(&self, habits: Habits) -> Managed {
        Managed {
            backend: Arc::clone(&self.backend),
            flow: Traffic::of(&self.subject, Errors::Transient, habits).await,
        }
    }
}

/// The slots of this queue: its own slot, or its partitions' slots.
fn slots_of(scene: &Scene, names: &[QueueName], name: &QueueName) -> Vec<u16> {
    let partitions = format!("{name}--");
    let own = names.iter().filter(|other| *other == name);
    let partitions: Vec<_> = names
        .iter()
        .filter(|other| other.as_str().starts_with(&partitions))
        .collect();
    let all = if partitions.is_empty() {
        own.collect()
    } else {
        partitions
    };
    let slot = |name: &&QueueName| {
        let key = format!("qk:{{{name}}}:meta");
        let slot = scene.cluster.servers()[0].ask(&["CLUSTER", "KEYSLOT", &key]);
        slot.expect("a slot")
    };
    all.iter().map(slot).collect()
}

/// Two divided queues and two undivided ones, of kinds by the seed; one of each two keeps its order.
async fn flows_of(seed: u64, divided: &[Queue], whole: &[Queue]) -> Vec<Managed> {
    let first = seed as usize % divided.len();
    let mut flows = Vec::new();
    for (nth, queues) in [divided, divided, whole, whole].into_iter().enumerate() {
        let ordered = nth.is_multiple_of(2);
        let habits = Habits {
            clients: if ordered { 4 } else { 1 },
            name: format!("{seed}-"),
            batch: if ordered { 3 } else { 1 },
            drops_writes: true,
            drops_receives: !ordered,
        };
        let queue = &queues[(first + nth) % queues.len()];
        flows.push(queue.flow(habits).await);
    }
    flows
}

async fn play(scene: &mut Scene, names: &[QueueName], seed: u64, all: &[Managed]) -> Vec<Toll> {
    let flows: Vec<Arc<Traffic>> = all.iter().map(|one| Arc::clone(&one.flow)).collect();
    scene.places = all
        .iter()
        .flat_map(|one| {
            let slots = slots_of(scene, names, one.name()).into_iter();
            slots.map(|slot| (slot, Arc::clone(&one.flow)))
        })
        .collect();
    let scene = &*scene;
    let mut chance = Chance(seed);
    let acts = (0..ACTS_OF_EACH).flat_map(|_| ACTS);
    let acts = shuffled(acts.collect(), &mut chance);
    let moves = shuffled(MOVES.to_vec(), &mut chance);
    let first = chance.below(scene.places.len());
    let failover = FAILOVERS[chance.below(FAILOVERS.len())];
    let strikes = async {
        let operates = async {
            for act in acts {
                let managed = &all[chance.below(all.len())];
                managed.act(act, &mut chance).await;
            }
        };
        let moves = async {
            for (nth, fault) in moves.into_iter().enumerate() {
                all_flow(&flows, &format!("flow before {fault:?}")).await;
                println!("{fault:?}");
                scene.strike(fault, first + nth).await;
            }
        };
        tokio::join!(operates, moves);
        println!("{failover:?}");
        scene.strike(failover, first).await;
        all_flow(&flows, "flow after the last fault").await;
    };
    let tolls = flow_during(&flows, strikes).await;
    println!("{tolls:?}");
    for (managed, toll) in all.iter().zip(&tolls) {
        assert!(toll.lost < toll.accepted, "{}: {toll:?}", managed.name());
    }
    tolls
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_promise_is_broken_where_an_operator_changes_queues_in_use() {
    let rounds = Rounds::of_each(1);
    let cluster = Scene::start();
    let backend: Arc<dyn Backend> = Arc::new(connect(&cluster.url()).await);
    let copy = Confirmation::replicas(1).within(FOR_A_COPY);
    let confirming = at_last(|| backend.confirmed(copy)).await;
    let partitions: Arc<dyn Backend> =
        Arc::new(Partitioned::new(Arc::clone(&backend), PARTITIONS).expect("a few partitions"));
    let confirming_partitions = at_last(|| partitions.confirmed(copy)).await;
    let (mut divided, mut whole) = (Vec::new(), Vec::new());
    for kind in QueueKind::LEASING {
        let name = format!("divided-{kind}");
        divided.push(Queue::open(&partitions, &confirming_partitions, name, kind).await);
        let name = format!("whole-{kind}");
        whole.push(Queue::open(&backend, &confirming, name, kind).await);
    }
    let most = std::num::NonZeroUsize::new(limits::MAX_PAGE).expect("positive");
    let listed = at_last(|| backend.queues(None, most)).await;
    let names: Vec<QueueName> = listed.into_iter().map(|info| info.name).collect();
    let mut scene = Scene::on(cluster, Vec::new());
    let before = Remains::of(scene.all()).and_tasks(TASKS);
    let mut tolls = Vec::new();
    for seed in rounds.seeds() {
        println!("QUEUE_FAULT_SEED={seed} QUEUE_FAULT_ROUNDS=1");
        let all = flows_of(seed, &divided, &whole).await;
        tolls.extend(play(&mut scene, &names, seed, &all).await);
    }
    before.come_back(scene.all(), &tolls).await;
}
