//! A web service with its jobs. docs/jobs.md explains each part, and its section 'A whole service' shows how to use it.
//!
//! The environment says where the queues are (`QUEUE_URL`) and where to listen (`ADDRESS`). With the feature `postgres`,
//! `src/shop.rs` puts orders and their mails into one transaction.

mod jobs;
#[cfg(feature = "postgres")]
mod shop;
mod web;

use std::{env, error::Error, io, num::NonZeroU32, sync::Arc, time::Duration};

use metrics_exporter_prometheus::PrometheusBuilder;
use queue_kit::{
    Jobs, Worker,
    schedule::{Missed, Periodic, Scheduler, Schedules, Slot},
    shutdown,
};
use queue_ops::web::Web;

use self::jobs::{Mail, Report, handlers, send};

/// The program, as `qk workers` lists it.
const PROGRAM: &str = concat!("service ", env!("CARGO_PKG_VERSION"));
/// The buckets of histograms, which the dashboard of `docs/monitoring` asks for.
const SECONDS: [f64; 8] = [0.001, 0.01, 0.1, 0.5, 1.0, 5.0, 30.0, 300.0];

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let backend = env::var("QUEUE_URL").unwrap_or("memory:".to_owned());
    let address = env::var("ADDRESS").unwrap_or("127.0.0.1:8080".to_owned());
    tracing_subscriber::fmt().with_writer(io::stderr).init();
    let metrics = PrometheusBuilder::new().set_buckets(&SECONDS)?;
    let metrics = metrics.install_recorder()?;
    let queues = queue_kit::connect(&backend).await?;
    let jobs = queues.delay("jobs").open::<Jobs>().await?;
    let mails = queues.grouped("mails").open::<Mail>().await?;

    let schedules = Schedules::open(&queues, "schedules").await?;
    let nightly = Periodic::cron("nightly-report", "30 2 * * *", "Europe/Berlin")?;
    let mut scheduler = Scheduler::new(&schedules);
    let nightly = nightly.missed(Missed::RunOnce).unless_running();
    let report = |slot: &Slot| Report {
        day: slot.local().date(),
    };
    scheduler.add_job(nightly, "jobs", report).await?;

    let results = NonZeroU32::new(100_000).expect("more than 0");
    let worker = Worker::new(jobs.clone()).keep_results(Duration::from_secs(3600), results);
    let worker = worker.concurrency(32).lease(Duration::from_secs(5));
    let worker = worker.register(&queues, PROGRAM);
    let mailer = Worker::new(mails.clone()).concurrency(8);
    let mailer = mailer.register(&queues, PROGRAM);
    let health = [worker.health(), mailer.health()];
    let service = (jobs, mails, health, metrics);
    // Visitors need no token, so the page changes nothing, and shows no bodies.
    let page = Web::new(Arc::clone(queues.backend())).redact(|_, _| None);
    let endpoints = web::endpoints(service).nest("/ops", page.router());
    #[cfg(feature = "postgres")]
    let (endpoints, shop) = {
        let shop = shop::Shop::open().await?;
        (endpoints.merge(shop::endpoints(shop.clone())), shop)
    };
    let listener = tokio::net::TcpListener::bind(&address).await?;
    // All parts catch the signals before the line, because its reader may stop the program at once.
    let [first, second, third, fourth] = std::array::from_fn(|_| shutdown());
    #[cfg(feature = "postgres")]
    let shop = part(shop::run(shop, queues, [shutdown(), shutdown()]));
    #[cfg(not(feature = "postgres"))]
    let shop = std::future::ready(Ok::<_, Box<dyn Error>>(()));
    println!("listening on http://{}", listener.local_addr()?);
    let (_, report, ..) = tokio::try_join!(
        part(axum::serve(listener, endpoints).with_graceful_shutdown(first)),
        part(worker.router(handlers()).run_until(second)),
        part(mailer.run_until(third, send)),
        part(scheduler.run_until(fourth)),
        shop,
    )?;
    println!("{:?}", report.counts);
    Ok(())
}

/// A part of the service. The first error of any part ends the program.
async fn part<T, E: Error + 'static>(
    part: impl IntoFuture<Output = Result<T, E>>,
) -> Result<T, Box<dyn Error>> {
    Ok(part.await?)
}
