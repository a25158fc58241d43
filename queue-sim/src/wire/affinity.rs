//! Keeps both ends of the wire on one core: the thread that plays runs, and its server. They alternate, so a second
//! core would only fall asleep, and waking it takes longer than its work.
//!
//! On systems other than Linux, the system places both ends.

pub(super) use system::{OneCore, PinnedThread};

#[cfg(target_os = "linux")]
mod system {
    use std::{
        collections::BTreeMap,
        sync::{Mutex, MutexGuard, PoisonError},
    };

    use rustix::thread::{CpuSet, Pid, gettid, sched_getaffinity, sched_getcpu, sched_setaffinity};

    /// The number of this program's environments on each core, so that tests that run side by side
    /// use different cores.
    static TAKEN: Mutex<BTreeMap<usize, usize>> = Mutex::new(BTreeMap::new());

    fn taken() -> MutexGuard<'static, BTreeMap<usize, usize>> {
        TAKEN.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The core of one environment.
    #[derive(Debug)]
    pub(in super::super) struct OneCore {
        core: usize,
        /// The cores that the thread may use between runs.
        all: CpuSet,
    }

    impl OneCore {
        /// Chooses a core that the fewest environments have: the caller's core, if it is such a core.
        pub(in super::super) fn choose() -> Option<Self> {
            let all = sched_getaffinity(None).ok()?;
            let here = sched_getcpu();
            let mut taken = taken();
            let cores = (0..CpuSet::MAX_CPU).filter(|core| all.is_set(*core));
            let core = cores.min_by_key(|core| {
                let others = taken.get(core).copied().unwrap_or_default();
                (others, *core != here)
            })?;
            *taken.entry(core).or_default() += 1;
            Some(Self { core, all })
        }

        /// The line of the server's configuration that keeps it on the core.
        pub(in super::super) fn line(&self) -> String {
            format!("server_cpulist {}", self.core)
        }

        /// Keeps the calling thread on the core, until the caller drops the returned value.
        pub(in super::super) fn hold(&self) -> PinnedThread {
            let mut one = CpuSet::new();
            one.set(self.core);
            let thread = gettid();
            // This concerns only speed, so a refusal does not matter.
            let _ = sched_setaffinity(Some(thread), &one);
            PinnedThread {
                thread,
                all: self.all,
            }
        }
    }

    impl Drop for OneCore {
        fn drop(&mut self) {
            if let Some(environments) = taken().get_mut(&self.core) {
                *environments -= 1;
            }
        }
    }

    /// Keeps a thread on one core while it lives.
    #[derive(Debug)]
    pub(in super::super) struct PinnedThread {
        thread: Pid,
        all: CpuSet,
    }

    impl Drop for PinnedThread {
        fn drop(&mut self) {
            let _ = sched_setaffinity(Some(self.thread), &self.all);
        }
    }
}

#[cfg(not(target_os = "linux"))]
mod system {
    /// No value of this type exists.
    #[derive(Debug)]
    pub(in super::super) enum OneCore {}

    #[derive(Debug)]
    pub(in super::super) enum PinnedThread {}

    impl OneCore {
        pub(in super::super) const fn choose() -> Option<Self> {
            None
        }

        pub(in super::super) fn line(&self) -> String {
            match *self {}
        }

        pub(in super::super) const fn hold(&self) -> PinnedThread {
            match *self {}
        }
    }
}
