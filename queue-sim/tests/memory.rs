//! The suite on the memory backend: directly, through every pointer and a decorator, and on
//! threads.

#[path = "memory/wrapping.rs"]
mod wrapping;

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use queue_core::Backend;
use queue_memory::MemoryBackend;
use queue_sim::{Capabilities, Capability, Harness, Play, conformance};
use tokio::runtime::{Builder, Runtime};

use self::wrapping::{Wrapped, Wrapping};

/// One thread, and the virtual time of tokio.
#[derive(Debug)]
struct InVirtualTime {
    backend: MemoryBackend,
    wrapping: Wrapping,
    runtime: Runtime,
}

impl InVirtualTime {
    fn new(wrapping: Wrapping) -> Self {
        let runtime = Builder::new_current_thread()
            .enable_time()
            .start_paused(true)
            .build()
            .expect("a runtime");
        let entered = runtime.enter();
        let backend = MemoryBackend::new();
        drop(entered);
        Self {
            backend,
            wrapping,
            runtime,
        }
    }
}

#[async_trait]
impl Harness for InVirtualTime {
    fn capabilities(&self) -> Capabilities {
        Capabilities::all()
    }

    fn run(&self, case: Play<'_>) {
        self.runtime.block_on(case);
    }

    async fn connect(&self) -> Arc<dyn Backend> {
        Arc::new(Wrapped::new(self.backend.clone(), self.wrapping))
    }

    async fn advance(&self, by: Duration) {
        tokio::time::advance(by).await;
    }
}

/// Four threads, and time as it passes.
#[derive(Debug, Default)]
struct OnThreads(MemoryBackend);

#[async_trait]
impl Harness for OnThreads {
    fn capabilities(&self) -> Capabilities {
        Capabilities::all()
            .without(Capability::ExactClock)
            .without(Capability::VirtualTime)
    }

    fn run(&self, case: Play<'_>) {
        let runtime = Builder::new_multi_thread()
            .worker_threads(4)
            .enable_time()
            .build();
        runtime.expect("a runtime").block_on(case);
    }

    async fn connect(&self) -> Arc<dyn Backend> {
        Arc::new(self.0.clone())
    }

    async fn advance(&self, by: Duration) {
        tokio::time::sleep(by).await;
    }
}

mod direct {
    queue_sim::conformance!(super::InVirtualTime::new(super::Wrapping::None));
}

mod through_arc {
    queue_sim::conformance!(super::InVirtualTime::new(super::Wrapping::Arc));
}

mod through_box {
    queue_sim::conformance!(super::InVirtualTime::new(super::Wrapping::Box));
}

mod through_a_decorator {
    queue_sim::conformance!(super::InVirtualTime::new(super::Wrapping::PassThrough));
}

mod on_threads {
    queue_sim::conformance!(super::OnThreads::default());
}

#[test]
fn in_virtual_time_no_case_is_skipped() {
    let harness = InVirtualTime::new(Wrapping::None);
    let plan = conformance::plan(&harness.capabilities());
    assert!(plan.skipped.is_empty(), "{:?}", plan.skipped);
    assert!(plan.played.len() > 500, "{} cases", plan.played.len());
}

#[test]
fn every_rule_has_a_case() {
    let leasing = ["reliable", "delay", "priority", "bounded"];
    let rules = [
        "l1", "l2", "l3", "l4", "l5", "l6", "l7", "l8", "l9", "l10", "l12", "l13", "r1",
    ];
    let mut expected: Vec<String> = Vec::new();
    for kind in leasing {
        for rule in rules
            .iter()
            .chain(&["batches", "limits", "operators", "waiting"])
        {
            expected.push(format!("{kind}::{rule}_"));
        }
        expected.push(format!("{kind}::configuration_"));
    }
    for kind in ["reliable", "priority", "bounded"] {
        expected.push(format!("{kind}::l11_"));
    }
    let own: [(&str, &[&str]); 7] = [
        ("reliable", &["f1", "f2"]),
        ("delay", &["d1", "d2", "d3", "d4", "d5"]),
        ("priority", &["p1", "p2", "p3", "p4"]),
        ("bounded", &["b1", "b2", "b3", "b4", "b5", "b6", "b7"]),
        ("rotating", &["t1", "t2", "t3", "t4", "waiting", "limits"]),
        ("backend", &["configuration", "limits", "operators"]),
        (
            "once",
            &["o1", "o2", "o3", "o4", "o5", "limits", "operators"],
        ),
    ];
    for (kind, rules) in own {
        expected.extend(rules.iter().map(|rule| format!("{kind}::{rule}_")));
    }
    for start in expected {
        let names = conformance::cases().iter().map(|case| case.name());
        assert!(
            names.clone().any(|name| name.starts_with(&start)),
            "no case is {start}…"
        );
    }
}
