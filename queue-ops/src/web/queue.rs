//! The page of one queue.

use axum::extract::{Path, State};
use maud::{Markup, html};
use queue_core::{Counters, Group, Page, Paged, QueueKind, QueueName};

use super::{
    Web, adding,
    asked::{InQueue, name},
    chart::Chart,
    frame::Frame,
    group_table,
    show::{Failed, act, command, finding, live_page, number},
};
use crate::{
    ConsumerInfo, Diagnosis, Numbers, consumers::consumers_of, diagnose,
    duration_in_words as words, open::open_leasing, open_grouped,
};

pub(super) async fn queue(
    State(web): State<Web>,
    frame: Frame,
    Path(InQueue { queue }): Path<InQueue>,
) -> Result<Markup, Failed> {
    let queue = name(&queue)?;
    let diagnosis = diagnose(&*web.backend, queue.as_str()).await?;
    let numbers = diagnosis.numbers.as_ref();
    let consumers = match numbers.filter(|numbers| numbers.counters.is_some()) {
        Some(numbers) => consumers(&web, &queue, numbers).await?,
        None => Vec::new(),
    };
    let groups = match numbers.filter(|numbers| numbers.kind == QueueKind::Grouped) {
        Some(_) => {
            let grouped = open_grouped(&*web.backend, &queue).await?;
            Some(grouped.groups(Page::first(group_table::FIRST)).await?)
        }
        None => None,
    };
    let view = View {
        web: &web,
        frame: &frame,
        queue: &queue,
    };
    let command = command("why", &[queue.as_str()]);
    let content = view.content(&diagnosis, &consumers, groups.as_ref());
    Ok(live_page(&web, &frame, queue.as_str(), &command, &content))
}

async fn consumers(
    web: &Web,
    queue: &QueueName,
    numbers: &Numbers,
) -> Result<Vec<ConsumerInfo>, Failed> {
    let leasing = open_leasing(&*web.backend, queue).await?;
    let waiting = numbers.facts.waiting_holders.clone();
    Ok(consumers_of(&*leasing, numbers.now, waiting).await?)
}

struct View<'a> {
    web: &'a Web,
    frame: &'a Frame,
    queue: &'a QueueName,
}

impl View<'_> {
    fn content(
        &self,
        diagnosis: &Diagnosis,
        consumers: &[ConsumerInfo],
        groups: Option<&Paged<Group>>,
    ) -> Markup {
        let counters = diagnosis
            .numbers
            .as_ref()
            .and_then(|numbers| numbers.counters);
        html! {
            section aria-label="Diagnosis" {
                @if diagnosis.is_healthy() { div.finding.well { strong { (diagnosis.headline()) } } }
                @for one in &diagnosis.findings { (finding(one)) }
            }
            @if let Some(counters) = counters {
                h2 { "Messages" }
                (self.counts(&counters))
                (self.charts())
                @if let Some(groups) = groups { (group_table::section(self.frame, self.queue, groups)) }
                @if !consumers.is_empty() { (consumer_table(consumers)) }
                @if let (true, Some(numbers)) = (self.frame.acts(), &diagnosis.numbers) { (self.actions(&counters, numbers.kind)) }
            }
        }
    }

    fn to(&self, page: &[&str]) -> String {
        let own = ["queues", self.queue.as_str()];
        self.frame.to(&[&own, page].concat())
    }

    fn counts(&self, counters: &Counters) -> Markup {
        let depth = counters.depth;
        html! {
            div.counts { table { tbody {
                @for (place, count) in [("ready", depth.ready), ("delayed", depth.delayed), ("leased", depth.leased)] {
                    tr { th scope="row" { a href=(self.to(&["in", place])) { (place) } } td.number { (number(count)) } }
                }
                tr { th scope="row" { a href=(self.to(&["dead"])) { "dead" } } td.number.trouble[depth.dead > 0] { (number(depth.dead)) } }
                @for (what, count) in [
                    ("accepted", counters.accepted), ("acked", counters.acked), ("retried", counters.retried),
                    ("expired leases", counters.expired), ("died", counters.died),
                ] { tr { th scope="row" { (what) } td.number { (number(count)) } } }
                @if let Some(age) = counters.oldest_ready { tr { th scope="row" { "oldest ready" } td.number { (words(age)) } } }
            } } }
        }
    }

    fn charts(&self) -> Markup {
        let watch = self.web.watch.as_ref();
        let rates =
            watch.and_then(|watch| watch.of(self.queue, |sample| Chart::of_rates(&sample.rates)));
        let times = watch.and_then(|watch| watch.times(|times| times.charts(self.queue)));
        html! {
            @if let Some(rates) = rates {
                h2 { "Rates" }
                div.charts { (rates.render()) }
            }
            @if let Some(times) = times { (times) }
        }
    }

    fn actions(&self, counters: &Counters, kind: QueueKind) -> Markup {
        let (verb, what) = match counters.paused {
            true => ("resume", "Hand out messages again"),
            false => ("pause", "Stop handing out messages"),
        };
        html! {
            h2 { "Actions" }
            (act(&self.to(&[]), verb, what, &[]))
            (adding::form(self.frame, self.queue, kind))
        }
    }
}

fn consumer_table(consumers: &[ConsumerInfo]) -> Markup {
    html! {
        h2 { "Consumers" }
        div.scroll { table {
            thead { tr { th scope="col" { "Holder" } th scope="col" { "Waits" } th.number scope="col" { "Leased" } } }
            tbody { @for one in consumers { tr {
                td.text { (one.holder) } td { @if one.waits { "waits" } } td.number { (number(one.leased)) }
            } } }
        } }
    }
}
