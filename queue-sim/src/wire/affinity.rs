//! One core for both ends of the wire: the thread that plays runs, and its server. They take turns,
//! so that a second core has nothing to do, and to wake it each time, where it has fallen asleep
//! meanwhile, takes longer than what it is woken for.
//!
//! Where the system cannot say, as outside of Linux, it is left to it.

pub(super) use system::{Held, OneCore};

#[cfg(target_os = "linux")]
mod system {
    use std::{
        collections::BTreeMap,
        sync::{Mutex, MutexGuard, PoisonError},
    };

    use rustix::thread::{CpuSet, Pid, gettid, sched_getaffinity, sched_getcpu, sched_setaffinity};

    /// How many environments of this process are on each core, so that tests that run side by side are
    /// on different ones.
    static TAKEN: Mutex<BTreeMap<usize, usize>> = Mutex::new(BTreeMap::new());

    fn taken() -> MutexGuard<'static, BTreeMap<usize, usize>> {
        TAKEN.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The core of one environment.
    #[derive(Debug)]
    pub(in super::super) struct OneCore {
        core: usize,
        /// Those that a thread may have between runs.
        all: CpuSet,
    }

    impl OneCore {
        /// One that no other environment has, or as few as possible; the caller's if it can be.
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

        /// The line of the server's configuration that keeps it there.
        pub(in super::super) fn line(&self) -> String {
            format!("server_cpulist {}", self.core)
        }

        /// Keeps the calling thread there, until what this answers is dropped.
        pub(in super::super) fn hold(&self) -> Held {
            let mut one = CpuSet::new();
            one.set(self.core);
            let thread = gettid();
            // It is only about speed: a system that refuses is left to its own ways.
            let _ = sched_setaffinity(Some(thread), &one);
            Held {
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

    /// A thread is kept on one core while this is there.
    #[derive(Debug)]
    pub(in super::super) struct Held {
        thread: Pid,
        all: CpuSet,
    }

    impl Drop for Held {
        fn drop(&mut self) {
            let _ = sched_setaffinity(Some(self.thread), &self.all);
        }
    }
}

#[cfg(not(target_os = "linux"))]
mod system {
    /// There is none.
    #[derive(Debug)]
    pub(in super::super) enum OneCore {}

    #[derive(Debug)]
    pub(in super::super) enum Held {}

    impl OneCore {
        pub(in super::super) const fn choose() -> Option<Self> {
            None
        }

        pub(in super::super) fn line(&self) -> String {
            match *self {}
        }

        pub(in super::super) const fn hold(&self) -> Held {
            match *self {}
        }
    }
}
