//! The types of jobs, and their handlers.

use std::time::Duration;

use queue_kit::{
    Context, Failure, Job, Router,
    worker::{JobSettings, Output},
};
use serde::{Deserialize, Serialize};

/// Cancels an order that was not paid in time.
#[derive(Serialize, Deserialize)]
pub(crate) struct CancelUnpaid {
    pub(crate) order: u64,
    pub(crate) unpaid_seconds: u64,
}
impl Job for CancelUnpaid {
    const NAME: &'static str = "cancel-unpaid";
}

/// Writes a customer's data, page by page.
#[derive(Serialize, Deserialize)]
pub(crate) struct Export {
    customer: u64,
    pages: u32,
}
impl Job for Export {
    const NAME: &'static str = "export";
}

/// A mail to a customer. The mails of a customer are sent in order.
#[derive(Serialize, Deserialize)]
pub(crate) struct Mail {
    pub(crate) customer: u64,
    text: String,
}

/// Reports the figures of a day.
#[derive(Serialize, Deserialize)]
pub(crate) struct Report {
    pub(crate) day: String,
}
impl Job for Report {
    const NAME: &'static str = "report";
}

pub(crate) fn handlers() -> Router {
    let exports = JobSettings::new()
        .timeout(Duration::from_secs(60))
        .at_most(8);
    Router::new()
        .on(|job: CancelUnpaid, _| async move { Output(format!("order {} cancelled", job.order)) })
        .on(|job: Report, _| async move { println!("the figures of {}", job.day) })
        .on_with(exports, export)
}

pub(crate) async fn send(mail: Mail, _: Context) {
    println!("to customer {}: {}", mail.customer, mail.text);
}

async fn export(job: Export, cx: Context) -> Result<Output<String>, Failure> {
    if job.pages == 0 {
        return Err(Failure::bury("an export has a page at least"));
    }
    for page in 1..=job.pages {
        cx.progress(&format!("page {page} of {}", job.pages))?;
        tokio::select! {
            () = tokio::time::sleep(Duration::from_millis(20)) => {}
            // The next process begins it again, and this attempt does not count.
            () = cx.shutting_down() => return Err(Failure::defer("shutdown", Duration::ZERO)),
        }
    }
    Ok(Output(format!("exports/{}.csv", job.customer)))
}
