use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    future::poll_fn,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::{Context, Poll, Waker},
    time::Duration,
};

use queue_core::Task;
use tokio::{
    task::unconstrained,
    time::{self, Instant},
};

use super::{
    panics::said,
    ready::{Ready, TaskId, TaskWaker},
};
use crate::plan::{Chance, ChoicePoint, Decisions, Process, What};

/// The number of polls in one instant of virtual time from which a run counts as spinning, unless
/// [`Executor::spins_after`] sets another number.
const SPINNING: u32 = 200_000;

/// Runs the tasks of a run, one at a time. Clones are handles to the same executor.
#[derive(Clone)]
pub struct Executor(Arc<ExecutorInner>);

struct ExecutorInner {
    ready: Arc<Ready>,
    tasks: Mutex<Tasks>,
    decisions: Decisions,
    /// The chance that the next task to poll is not the last one.
    preemption: Chance,
}

#[derive(Default)]
struct Tasks {
    slots: BTreeMap<TaskId, TaskSlot>,
    last_id: TaskId,
    /// The number of tasks that the run waits for.
    awaited: usize,
    /// The task polled last.
    last: TaskId,
    /// The number of decisions about the next task that were taken after a task of this process.
    picks: BTreeMap<Process, u32>,
    /// Stalled processes.
    stalled: BTreeSet<Process>,
    panicked: Option<(Process, String)>,
    standing: Standing,
}

/// The polls since virtual time last moved.
struct Standing {
    since: Option<Instant>,
    polls: u32,
    /// The number of polls that counts as spinning.
    most: u32,
    /// The processes polled in the second half of them.
    processes: BTreeSet<Process>,
}

impl Default for Standing {
    fn default() -> Self {
        Self {
            since: None,
            polls: 0,
            most: SPINNING,
            processes: BTreeSet::new(),
        }
    }
}

impl Standing {
    /// Counts a poll of this process's task.
    fn count(&mut self, process: Process) {
        let now = Some(Instant::now());
        if self.since != now {
            self.since = now;
            self.polls = 0;
            self.processes.clear();
        }
        self.polls += 1;
        if self.polls > self.most / 2 {
            self.processes.insert(process);
        }
    }

    fn is_over(&self) -> bool {
        self.polls >= self.most
    }
}

struct TaskSlot {
    process: Process,
    awaited: bool,
    /// Whether the task became ready while its process was stalled.
    held: bool,
    /// `None` while it is polled.
    task: Option<Task>,
    waker: Waker,
}

/// The end of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum End {
    /// Every awaited task has ended or crashed.
    Finished,
    /// No task was ready before the horizon: the tasks of these processes wait for something that never
    /// comes.
    Hung(Vec<Process>),
    /// The tasks of these processes went on although no time passed.
    Spinning(Vec<Process>),
    /// An awaited task panicked with this message.
    Panicked(Process, String),
}

impl Executor {
    /// An executor without tasks. `preemption` is the chance, in percent, that the next task to poll is another ready
    /// task than the last.
    pub fn new(decisions: Decisions, preemption: Chance) -> Self {
        Self(Arc::new(ExecutorInner {
            ready: Arc::default(),
            tasks: Mutex::default(),
            decisions,
            preemption,
        }))
    }

    /// Sets the number of polls in one instant of virtual time at which the run ends as spinning;
    /// by default 200,000.
    pub fn spins_after(&self, polls: u32) {
        self.lock().standing.most = polls;
    }

    /// Spawns a task that the run waits for.
    pub fn spawn(&self, process: Process, task: Task) {
        self.add(process, true, task);
    }

    /// Drops all tasks of a process. A task that crashes its own process ends at its next await.
    pub fn crash(&self, process: Process) {
        let mut tasks = self.lock();
        let slots = tasks.slots.iter();
        let of_process = slots.filter(|(_, slot)| slot.process == process);
        let ids: Vec<TaskId> = of_process.map(|(id, _)| *id).collect();
        let dropped: Vec<TaskSlot> = ids.into_iter().filter_map(|id| tasks.remove(id)).collect();
        drop(tasks);
        // Not under the lock: dropping a task may abort others.
        drop(dropped);
    }

    /// Stops polling the tasks of a process for the given time, as if it stood still. Wake-ups meanwhile are not
    /// lost. A task that stalls its own process stalls from its next await on.
    pub fn stall(&self, process: Process, pause: Duration) {
        if !self.lock().stalled.insert(process) {
            return;
        }
        let executor = self.clone();
        let wake_up = async move {
            time::sleep(pause).await;
            executor.wake(process);
        };
        self.add(Process::WORLD, false, Box::pin(wake_up));
    }

    fn wake(&self, process: Process) {
        let mut tasks = self.lock();
        tasks.stalled.remove(&process);
        let slots = tasks.slots.iter();
        let held = slots.filter(|(_, slot)| slot.process == process && slot.held);
        let held: Vec<TaskId> = held.map(|(id, _)| *id).collect();
        for id in &held {
            if let Some(slot) = tasks.slots.get_mut(id) {
                slot.held = false;
            }
        }
        drop(tasks);
        for id in held {
            self.0.ready.add(id);
        }
    }

    /// Polls tasks until all that the run waits for have ended, or until the horizon. The remaining
    /// tasks stay where they are.
    pub async fn run(&self, horizon: Duration) -> End {
        let mut list = Vec::new();
        // Unconstrained: tokio's budget would cover this whole future, and a task that spent it would be ready for
        // ever.
        let all = unconstrained(poll_fn(|cx| self.poll_ready(cx, &mut list)));
        match time::timeout(horizon, all).await {
            Ok(end) => end,
            Err(_) => End::Hung(self.awaited_processes()),
        }
    }

    fn poll_ready(&self, cx: &Context<'_>, list: &mut Vec<TaskId>) -> Poll<End> {
        if let Some(end) = self.end() {
            return Poll::Ready(end);
        }
        loop {
            self.0.ready.list(cx.waker(), list);
            let Some(id) = self.pick(list) else {
                return Poll::Pending;
            };
            if self.poll(id)
                && let Some(end) = self.end()
            {
                return Poll::Ready(end);
            }
        }
    }

    fn end(&self) -> Option<End> {
        let tasks = self.lock();
        if let Some((process, message)) = &tasks.panicked {
            return Some(End::Panicked(*process, message.clone()));
        }
        if tasks.awaited == 0 {
            return Some(End::Finished);
        }
        let processes = || tasks.standing.processes.iter().copied().collect();
        let spinning = tasks.standing.is_over();
        spinning.then(|| End::Spinning(processes()))
    }

    /// Picks the last task again if it is ready and no decision says otherwise. The others follow
    /// in their order.
    fn pick(&self, ready: &mut [TaskId]) -> Option<TaskId> {
        if ready.len() > 1 {
            let mut tasks = self.lock();
            if let Some(at) = ready.iter().position(|id| *id == tasks.last) {
                ready[..=at].rotate_right(1);
            }
            let process = tasks.slots.get(&tasks.last).map(|slot| slot.process);
            let process = process.unwrap_or_default();
            let nth = tasks.picks.entry(process).or_default();
            let point = ChoicePoint::new(process, *nth, What::Pick);
            *nth += 1;
            drop(tasks);
            let options = u32::try_from(ready.len()).unwrap_or(u32::MAX);
            let picked = self.0.decisions.draw(point, options, self.0.preemption);
            ready.swap(0, picked as usize);
        }
        ready.first().copied()
    }

    /// Polls a task. Returns true if the run is over.
    fn poll(&self, id: TaskId) -> bool {
        self.0.ready.remove(id);
        let mut tasks = self.lock();
        let Tasks { slots, stalled, .. } = &mut *tasks;
        let Some(slot) = slots.get_mut(&id) else {
            return false;
        };
        if stalled.contains(&slot.process) {
            slot.held = true;
            return false;
        }
        let Some(mut task) = slot.task.take() else {
            return false;
        };
        let (process, awaited, waker) = (slot.process, slot.awaited, slot.waker.clone());
        tasks.last = id;
        tasks.standing.count(process);
        drop(tasks);
        let mut cx = Context::from_waker(&waker);
        let polled = catch_unwind(AssertUnwindSafe(|| task.as_mut().poll(&mut cx)));
        let mut tasks = self.lock();
        match polled {
            Ok(Poll::Pending) => {
                // If another task aborted it during the poll, it is dropped here.
                if let Some(slot) = tasks.slots.get_mut(&id) {
                    slot.task = Some(task);
                    return tasks.is_over();
                }
            }
            Ok(Poll::Ready(())) => drop(tasks.remove(id)),
            Err(panic) => {
                drop(tasks.remove(id));
                if awaited {
                    tasks.panicked.get_or_insert((process, said(&*panic)));
                }
            }
        }
        let is_over = tasks.is_over();
        drop(tasks);
        drop(task);
        is_over
    }

    pub(super) fn spawn_daemon(&self, process: Process, task: Task) -> TaskId {
        self.add(process, false, task)
    }

    pub(super) fn abort(&self, id: TaskId) {
        let slot = self.lock().remove(id);
        // Not under the lock: dropping a task may abort others.
        drop(slot);
    }

    fn add(&self, process: Process, awaited: bool, task: Task) -> TaskId {
        let mut tasks = self.lock();
        tasks.last_id += 1;
        let id = tasks.last_id;
        let waker = Waker::from(Arc::new(TaskWaker {
            task: id,
            ready: Arc::clone(&self.0.ready),
        }));
        tasks.awaited += usize::from(awaited);
        let slot = TaskSlot {
            process,
            awaited,
            held: false,
            task: Some(task),
            waker,
        };
        tasks.slots.insert(id, slot);
        drop(tasks);
        self.0.ready.add(id);
        id
    }

    fn awaited_processes(&self) -> Vec<Process> {
        let tasks = self.lock();
        let awaited = tasks.slots.values().filter(|slot| slot.awaited);
        let mut processes: Vec<Process> = awaited.map(|slot| slot.process).collect();
        processes.sort_unstable();
        processes.dedup();
        processes
    }

    fn lock(&self) -> MutexGuard<'_, Tasks> {
        self.0.tasks.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Tasks {
    fn is_over(&self) -> bool {
        self.awaited == 0 || self.panicked.is_some() || self.standing.is_over()
    }

    fn remove(&mut self, id: TaskId) -> Option<TaskSlot> {
        let slot = self.slots.remove(&id)?;
        self.awaited -= usize::from(slot.awaited);
        Some(slot)
    }
}

impl fmt::Debug for Executor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let tasks = self.lock();
        f.debug_struct("Executor")
            .field("tasks", &tasks.slots.len())
            .field("awaited", &tasks.awaited)
            .finish_non_exhaustive()
    }
}
