//! The page of workers.

use std::time::Duration;

use axum::extract::State;
use maud::{Markup, html};

use super::{
    Web,
    frame::Frame,
    show::{Failed, live_page},
};
use crate::duration_in_words as words;

pub(super) async fn workers(State(web): State<Web>, frame: Frame) -> Result<Markup, Failed> {
    let mut workers = queue_core::workers(&*web.backend).await?;
    workers.sort_by_key(|worker| !worker.gone);
    let span = |millis| words(Duration::from_millis(millis));
    let content = html! {
        @if workers.is_empty() {
            p { "No worker registers. A program does it by " code { "register" } " of its worker." }
        } @else {
            div.scroll { table {
                thead { tr {
                    @for head in ["State", "Worker", "Program", "Queues", "Busy", "Ran for", "Last beat"] { th scope="col" { (head) } }
                } }
                tbody { @for worker in &workers { @let record = &worker.record; tr {
                    td { @if worker.gone { strong.badge.standstill { "gone" } } @else { "works" } }
                    td.text { (record.holder) } td.text { (record.program) } td.text { (record.queues.join(", ")) }
                    td { (record.in_flight) " of " (record.slots) }
                    td { (span(record.uptime_ms)) } td { (span(worker.last_beat_ms)) " ago" }
                } } }
            } }
        }
    };
    Ok(live_page(&web, &frame, "Workers", "qk workers", &content))
}
