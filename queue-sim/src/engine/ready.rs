//! The tasks that are ready to be polled.

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::{Wake, Waker},
};

/// A task's number, in the order of spawning.
pub(super) type TaskId = u64;

/// The ready tasks, and the waker for the next one.
#[derive(Debug, Default)]
pub(super) struct Ready(Mutex<ReadyState>);

#[derive(Debug, Default)]
struct ReadyState {
    /// Sorted. There are never many.
    tasks: Vec<TaskId>,
    outer: Option<Waker>,
}

impl Ready {
    pub(super) fn add(&self, task: TaskId) {
        let mut state = self.lock();
        if let Err(at) = state.tasks.binary_search(&task) {
            state.tasks.insert(at, task);
        }
        let outer = state.outer.take();
        drop(state);
        if let Some(outer) = outer {
            outer.wake();
        }
    }

    pub(super) fn remove(&self, task: TaskId) {
        let mut state = self.lock();
        if let Ok(at) = state.tasks.binary_search(&task) {
            state.tasks.remove(at);
        }
    }

    /// Lists the ready tasks in the order of their numbers. If there is none, the next one wakes
    /// `outer`.
    pub(super) fn list(&self, outer: &Waker, list: &mut Vec<TaskId>) {
        let mut state = self.lock();
        list.clear();
        list.extend_from_slice(&state.tasks);
        if list.is_empty() {
            state.outer = Some(outer.clone());
        }
    }

    fn lock(&self) -> MutexGuard<'_, ReadyState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The waker of a task.
#[derive(Debug)]
pub(super) struct TaskWaker {
    pub(super) task: TaskId,
    pub(super) ready: Arc<Ready>,
}

impl Wake for TaskWaker {
    fn wake(self: Arc<Self>) {
        self.ready.add(self.task);
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.ready.add(self.task);
    }
}
