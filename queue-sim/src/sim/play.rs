//! Plays one run of a simulation.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use queue_core::{
    Backend, Counters, DeathReason, Layered, MessageId, QueueConfig, QueueName, Result, Running,
    Spawn, Task,
};
use tokio::{
    runtime::Handle,
    sync::{oneshot, watch},
    time::{self, Instant},
};

use super::{
    RunRecord,
    actors::{Actor, Actors},
    audit::{Audit, Left},
    builder::{ProcessScript, Role, Sim},
    ledger::Books,
    panics::guarded,
    run::Run,
};
use crate::{
    engine::{in_virtual_time, yield_now},
    history::{Event, Recorder},
    plan::{ChoicePoint, Decisions, Process, What},
    run::Frame,
    world::{Environment, Fault, FaultMix, World, by_rule},
};

/// The process that reads the queues from outside, without faults.
pub(super) const AUDITOR: Process = Process(u8::MAX);
/// The least time that faults last, in leases, after the producers have ended and no message is
/// delayed. It lets crashed processes come back and crash again.
const FAULT_LEASES: u32 = 12;
/// The most ends of one process with an error that faults can explain.
const MOST_RESTARTS: u32 = 10;
/// The number of the auditor's reads in one lease.
const READS_PER_LEASE: u32 = 2;

/// Plays one run.
pub(super) fn play(
    sim: &Sim,
    environment: &mut dyn Environment,
    decisions: &Decisions,
) -> RunRecord {
    in_virtual_time(async {
        let parameter = |nth| ChoicePoint::new(Process::WORLD, 0, What::Parameter).nth(nth);
        let preemption = [5, 20, 50, 90][decisions.choose(parameter(0), 4) as usize];
        let possible = environment.faults().iter().copied();
        let possible: Vec<Fault> = possible
            .filter(|fault| sim.fault_set.faults.contains(fault))
            .collect();
        let mut faults = FaultMix::drawn(decisions, &possible).sparing(AUDITOR);
        for (index, process) in sim.processes.iter().enumerate() {
            if process.role == Role::Producer {
                faults = faults.sparing(process_number(index));
            }
        }
        let frame = Frame::new(environment, decisions, preemption, faults, sim.lease);
        let director = Arc::new(Director {
            sim: sim.clone(),
            world: Arc::clone(&frame.world),
            actors: Actors::new(frame.context.clone(), sim.lease),
            books: Books::default(),
            shutdown: watch::Sender::new(false),
            log: Mutex::default(),
        });
        let directing = Arc::clone(&director);
        let executor = &frame.context.executor;
        executor.spawn(
            Process::WORLD,
            Box::pin(async move { directing.direct().await }),
        );
        let horizon = sim.patience * 2 + Duration::from_secs(3600);
        let end = executor.run(horizon).await;
        let log = std::mem::take(&mut *director.log.lock().unwrap_or_else(PoisonError::into_inner));
        let mut failures = log.failures;
        // The executor's handles drop their tasks. Any task still alive in the runtime was spawned
        // past the executor.
        let strays = Handle::current().metrics().num_alive_tasks();
        if strays > 0 {
            failures.push((
                "tokio::spawn".to_owned(),
                format!(
                    "{strays} tasks survived their processes: spawn them by Run::spawner, so that they \
                     crash with the process"
                ),
            ));
        }
        RunRecord {
            queues: director.queues(),
            handled: sim.handled.iter().cloned().collect(),
            history: frame.end([], &end),
            effects: director.books.effects(),
            ledgers: director.books.opened(),
            processes: director.processes(),
            drained: log.drained,
            dead: log.dead,
            counters: log.counters,
            failures,
            end,
            plan: decisions.taken(),
        }
    })
}

fn process_number(index: usize) -> Process {
    Process(u8::try_from(index + 1).unwrap_or(u8::MAX - 1))
}

/// Facts that are known only at the end of a run.
#[derive(Debug, Default)]
struct PlayLog {
    drained: Option<Duration>,
    dead: BTreeMap<(QueueName, MessageId), DeathReason>,
    counters: BTreeMap<QueueName, Counters>,
    failures: Vec<(String, String)>,
}

/// Directs a run: starts the processes, and starts them again after crashes; ends the faults; waits
/// until nothing is left; and shuts the workers down.
struct Director {
    sim: Sim,
    world: Arc<dyn World>,
    actors: Actors,
    books: Books,
    shutdown: watch::Sender<bool>,
    log: Mutex<PlayLog>,
}

impl Director {
    async fn direct(self: Arc<Self>) {
        let backend = match self.world.connect(AUDITOR).await {
            Ok(backend) => backend,
            Err(error) => return self.failed("auditor", error.to_string()),
        };
        // The journal records the auditor as it records the processes: the auditor's reads reclaim expired leases,
        // which may decide the order of later events.
        let recorder = Recorder::new(AUDITOR, self.actors.context().journal.clone());
        let recorded = Layered::new(recorder, Arc::clone(&backend));
        let audit = match Audit::open(&self.sim, &recorded).await {
            Ok(audit) => audit,
            Err(error) => return self.failed("auditor", error.to_string()),
        };
        let mut producers = Vec::new();
        let mut workers = Vec::new();
        for (index, script) in self.sim.processes.iter().enumerate() {
            let (sender, ended) = oneshot::channel();
            let keeper = Arc::clone(&self).keep(process_number(index), script.clone(), sender);
            let running = self.spawner(Process::WORLD).spawn(Box::pin(keeper));
            match script.role {
                Role::Worker => workers.push((ended, running)),
                _ => producers.push((ended, running)),
            }
        }
        for (ended, _running) in producers {
            // A keeper that is gone has reported its process's failure.
            let _ = ended.await;
        }
        let drained = self.drain(&audit).await;
        let ended = match drained {
            Ok(drained) => {
                self.log(|log| log.drained = drained);
                audit.dead().await
            }
            Err(error) => Err(error),
        };
        match ended {
            Ok(dead) => self.log(|log| log.dead = dead),
            Err(error) => self.failed("auditor", error.to_string()),
        }
        // Stalled processes go on with a half-done handler, and the history shows what they do then.
        time::sleep(self.sim.lease * 3).await;
        self.shutdown.send_replace(true);
        for (ended, _running) in workers {
            let _ = ended.await;
        }
        if let Err(error) = self.count(&*backend).await {
            self.failed("auditor", error.to_string());
        }
        for left in self.world.leaks().await {
            self.failed("left behind", by_rule(&left));
        }
    }

    /// Writes down the queues' counters. No rule checks these calls, so the journal does not record
    /// them, and no other call may follow them.
    async fn count(&self, backend: &dyn Backend) -> Result<()> {
        let audit = Audit::open(&self.sim, backend).await?;
        let counters = audit.counters().await?;
        self.log(|log| log.counters = counters);
        Ok(())
    }

    /// Waits until nothing is left, with faults for a while and then without. Returns the time from the last fault
    /// until then.
    async fn drain(&self, audit: &Audit) -> Result<Option<Duration>> {
        let pause = self.sim.lease / READS_PER_LEASE;
        let begun = Instant::now();
        let mut quiet_since = begun;
        let drained = loop {
            let left = audit.left().await?;
            if left == Left::Nothing {
                break true;
            }
            if left == Left::Later {
                quiet_since = Instant::now();
            }
            if quiet_since.elapsed() > self.sim.lease * FAULT_LEASES
                || begun.elapsed() > self.sim.patience
            {
                break false;
            }
            time::sleep(pause).await;
        };
        self.actors.calm();
        self.world.heal().await;
        let healed = Instant::now();
        self.actors.context().journal.note(Event::Healed);
        if drained {
            return Ok(Some(Duration::ZERO));
        }
        while healed.elapsed() < self.sim.patience {
            if audit.left().await? == Left::Nothing {
                return Ok(Some(healed.elapsed()));
            }
            time::sleep(pause).await;
        }
        Ok(None)
    }

    /// Keeps a process alive. A producer has one life; a worker starts again after every crash.
    async fn keep(
        self: Arc<Self>,
        process: Process,
        script: ProcessScript,
        _ended: oneshot::Sender<()>,
    ) {
        let fragile = script.role.crashes();
        let rough = self.actors.is_rough();
        let mut restarts = 0;
        loop {
            let actor = self.actors.enters(process, fragile);
            let doom = fragile.then(|| actor.doom()).flatten();
            let (life, ended) = self.live(actor, &script);
            let _doomed = doom.map(|doom| self.doom(process, doom));
            let ended = ended.await;
            drop(life);
            self.actors.leaves(process);
            match ended {
                Ok(Ok(())) => return,
                // While faults strike, a supervisor restarts a process that ends with an error.
                Ok(Err(_)) if fragile && rough && restarts < MOST_RESTARTS => {
                    restarts += 1;
                    time::sleep(self.sim.lease / 10).await;
                }
                Ok(Err(failure)) => {
                    if script.role != Role::ProducerUnderFaults {
                        self.failed(&script.name, failure);
                    }
                    return;
                }
                // The process crashed, and its supervisor starts it again.
                Err(_) => yield_now().await,
            }
        }
    }

    /// One life of a process. Returns how it ended, or `None` if it crashed.
    fn live(
        self: &Arc<Self>,
        actor: Actor,
        script: &ProcessScript,
    ) -> (Running, oneshot::Receiver<Result<(), String>>) {
        let (sender, ended) = oneshot::channel();
        let director = Arc::clone(self);
        let script = Arc::clone(&script.script);
        let process = actor.process();
        let life = async move {
            let asked = director.shutdown.subscribe();
            let Self {
                world,
                actors,
                books,
                ..
            } = &*director;
            let run = loop {
                match Run::connect(world, actors, actor.clone(), books, asked.clone()).await {
                    Ok(run) => break run,
                    // Waits, like a process that cannot connect yet.
                    Err(_) => time::sleep(Duration::from_millis(100)).await,
                }
            };
            let log = match guarded(|| script(run)).await {
                Ok(ended) => ended.map_err(|failure| failure.to_string()),
                Err(panic) => Err(format!("panicked: {panic}")),
            };
            // If the run is over, the receiver is gone.
            let _ = sender.send(log);
        };
        (self.spawner(process).spawn(Box::pin(life)), ended)
    }

    fn doom(self: &Arc<Self>, process: Process, after: Duration) -> Running {
        let actors = self.actors.clone();
        let doomed: Task = Box::pin(async move {
            time::sleep(after).await;
            actors.crash(process);
        });
        self.spawner(Process::WORLD).spawn(doomed)
    }

    fn spawner(&self, process: Process) -> impl Spawn + use<> {
        self.actors.context().executor.spawner(process)
    }

    fn failed(&self, process: &str, failure: String) {
        self.log(|log| log.failures.push((process.to_owned(), failure)));
    }

    fn log(&self, what: impl FnOnce(&mut PlayLog)) {
        what(&mut self.log.lock().unwrap_or_else(PoisonError::into_inner));
    }

    fn queues(&self) -> BTreeMap<QueueName, QueueConfig> {
        let queues = self.sim.queues.iter();
        let named = queues.filter_map(|(name, config)| {
            let name = QueueName::new(name).ok()?;
            Some((name, config.clone()))
        });
        named.collect()
    }

    fn processes(&self) -> BTreeMap<Process, String> {
        let scripts = self.sim.processes.iter().enumerate();
        scripts
            .map(|(index, script)| (process_number(index), script.name.clone()))
            .collect()
    }
}
