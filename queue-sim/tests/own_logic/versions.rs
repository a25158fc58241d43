//! A rolling deploy: workers of two versions of a program on one queue, while producers of both push.

use std::{collections::BTreeSet, pin::Pin, time::Duration};

use queue_core::{Job, Jobs, Json, LeasingExt, Push, Reliable, ReliableConfig, Timestamp};
use queue_sim::{
    sim::{BoxError, Drained, Effects, Ledger, Rules, Run, RunRecord, Sim, check, sim},
    world::EPOCH,
};
use queue_worker::{Backoff, Context, Router, Worker};
use serde::{Deserialize, Serialize};

/// The time of each run at which the last worker of the old version ends, after the run's beginning.
const DEPLOYED: Duration = Duration::from_secs(5 * 60);
/// With a back-off that doubles, more attempts than fit into the deploy; and some that faults may spend.
const ATTEMPTS: u32 = 20;

mod old {
    use super::*;

    #[derive(Debug, Serialize, Deserialize)]
    pub(super) struct Welcome {
        pub(super) user: u64,
    }
    impl Job for Welcome {
        const NAME: &'static str = "welcome";
    }

    pub(super) fn router(sent: Ledger) -> Router {
        Router::new().on(send(sent, |job: &Welcome| job.user))
    }
}

mod new {
    use super::*;

    /// Has a field more.
    #[derive(Debug, Serialize, Deserialize)]
    pub(super) struct Welcome {
        pub(super) user: u64,
        #[serde(default)]
        pub(super) language: Option<String>,
    }
    impl Job for Welcome {
        const NAME: &'static str = "welcome";
    }

    /// The old version does not know it.
    #[derive(Debug, Serialize, Deserialize)]
    pub(super) struct Goodbye {
        pub(super) user: u64,
    }
    impl Job for Goodbye {
        const NAME: &'static str = "goodbye";
    }

    pub(super) fn router(sent: Ledger) -> Router {
        Router::new()
            .on(send(sent.clone(), |job: &Welcome| job.user))
            .on(send(sent, |job: &Goodbye| job.user))
    }
}

/// The handler of a job: sends a mail of its type to its user, once.
fn send<J: Job + Send + 'static>(
    sent: Ledger,
    user: fn(&J) -> u64,
) -> impl Fn(J, Context) -> Pin<Box<dyn Future<Output = ()> + Send>> + Send + Sync + 'static {
    move |job, _| {
        let (sent, mail) = (sent.clone(), format!("{} {}", J::NAME, user(&job)));
        Box::pin(async move {
            let _ = sent.apply_once(mail).await;
        })
    }
}

/// Serves the queue until `end`, and begins again after an error.
async fn serve(run: &Run, router: fn(Ledger) -> Router, end: Option<Timestamp>) {
    let work = async || -> Result<(), BoxError> {
        let jobs = run.queues();
        let config = ReliableConfig::default().with_max_attempts(ATTEMPTS);
        let jobs = jobs.reliable("jobs").config(config).open::<Jobs>().await?;
        let worker = Worker::new(jobs)
            .holder(format!("process {}", run.process()))
            .retry(Backoff::exponential(Duration::from_secs(1)))
            .seed(run.seed())
            .spawn(run.spawner());
        let ended = async {
            match end {
                Some(end) => run.sleep(end.since(run.now())).await,
                None => run.shutdown().await,
            }
        };
        worker
            .router(router(run.ledger("sent")))
            .run_until(ended)
            .await?;
        Ok(())
    };
    while let Err(_fault) = work().await {
        run.sleep(Duration::from_secs(1)).await;
    }
}

async fn push<J: Job + Serialize + Sync>(jobs: &Reliable<()>, job: &J) -> Result<(), BoxError> {
    let _pushed = jobs.queue().push_one(Push::of_job(job, &Json)?).await?;
    Ok(())
}

fn deploy(name: &str, old_router: fn(Ledger) -> Router) -> Sim {
    let config = ReliableConfig::default().with_max_attempts(ATTEMPTS);
    let deployed = EPOCH.plus_millis(DEPLOYED.as_millis() as u64);
    sim(name)
        .reliable::<()>("jobs", config)
        .producer(|jobs| async move {
            for user in 1..=2 {
                push(&jobs, &old::Welcome { user }).await?;
            }
            Ok(())
        })
        .producer(|jobs| async move {
            let language = Some("de".to_owned());
            push(&jobs, &new::Welcome { user: 3, language }).await?;
            for user in 1..=2 {
                push(&jobs, &new::Goodbye { user }).await?;
            }
            Ok(())
        })
        .and()
        .process("old worker", move |run| async move {
            serve(&run, old_router, Some(deployed)).await;
            Ok(())
        })
        .process("new worker", |run| async move {
            serve(&run, new::router, None).await;
            Ok(())
        })
        .check(Rules::all())
        .check(Drained::within(Duration::from_secs(24 * 3_600)))
        .check(Effects::at_most_once())
        .check(check::that("each job of both versions is done", all_done))
        .seeds(64)
}

fn all_done(run: &RunRecord) -> Result<(), String> {
    let expected = [
        "goodbye 1",
        "goodbye 2",
        "welcome 1",
        "welcome 2",
        "welcome 3",
    ];
    let done: BTreeSet<&str> = run.effects.iter().map(|effect| &*effect.key).collect();
    match done.into_iter().eq(expected) {
        true => Ok(()),
        false => Err(format!("done: {:?}; dead: {}", run.effects, run.dead.len())),
    }
}

#[test]
fn two_versions_of_a_worker_share_a_queue() {
    deploy("rolling deploy", old::router).run();
}

#[test]
fn an_old_worker_that_buries_what_it_does_not_know_loses_jobs_of_the_new_version() {
    let broken = deploy("burying deploy", |sent| old::router(sent).bury_unknown()).try_run();
    let broken = broken.expect_err("a goodbye is buried").to_string();
    assert!(
        broken.contains("each job of both versions is done"),
        "{broken}"
    );
}
