//! The page of all queues.

use std::{num::NonZeroUsize, time::Duration};

use axum::extract::{Query, State};
use maud::{Markup, html};
use queue_core::QueueName;
use serde::Deserialize;

use super::{
    Web,
    asked::{ROWS, name},
    chart::{rate, sparkline},
    frame::Frame,
    listed::{Column, Order, Row, Totals, search},
    show::{Failed, live_page, number, severity_class},
    watch::{SAMPLED, Watch},
};
use crate::duration_in_words as words;

/// Queues that are read for a search or an order, if none are sampled.
const SEARCHED: usize = 1_000;

#[derive(Deserialize)]
pub(super) struct Asked {
    after: Option<String>,
    search: Option<String>,
    sort: Option<String>,
    /// The page of sampled queues, from 1 on.
    page: Option<usize>,
}

/// The queues that a list is made of.
struct Source {
    rows: Vec<Row>,
    /// The time since they were sampled; none if they were read now.
    age: Option<Duration>,
    /// Whether there may be queues that are not sampled.
    is_cut: bool,
    /// The name behind which there may be more.
    next: Option<QueueName>,
}

impl Source {
    /// A page of queues by name, or more of them for a search; the sampled queues, if there are more than a page.
    async fn read(
        web: &Web,
        after: Option<&QueueName>,
        most: NonZeroUsize,
    ) -> Result<Self, Failed> {
        let sampled = |watch: &Watch| watch.all(Row::sampled);
        let sampled = web.watch.as_ref().and_then(sampled);
        if let Some((age, rows)) = sampled.filter(|(_, rows)| rows.len() > ROWS) {
            return Ok(Self {
                is_cut: rows.len() >= SAMPLED.get(),
                rows,
                age: Some(age),
                next: None,
            });
        }
        let read = web.backend.queues(after, most).await?;
        let next = read.last().filter(|_| read.len() == most.get());
        let next = next.map(|last| last.name.clone());
        let rows = read.into_iter().map(|info| {
            let sampled = web.watch.as_ref();
            let sampled = sampled.and_then(|watch| watch.of(&info.name, Row::sampled));
            let (last, stands) =
                sampled.map_or((None, Duration::ZERO), |row| (row.last, row.stands));
            Row::new(info, last, stands)
        });
        Ok(Self {
            rows: rows.collect(),
            age: None,
            is_cut: false,
            next,
        })
    }
}

pub(super) async fn queues(
    State(web): State<Web>,
    frame: Frame,
    Query(asked): Query<Asked>,
) -> Result<Markup, Failed> {
    let after = asked.after.as_deref().map(name).transpose()?;
    let order = asked.sort.as_deref().map(Order::read).transpose()?;
    let text = asked.search.as_deref().unwrap_or_default().trim();
    let is_plain = order.is_none() && text.is_empty();
    let most = NonZeroUsize::new(if is_plain { ROWS } else { SEARCHED }).expect("more than 0");
    let mut source = Source::read(&web, after.as_ref(), most).await?;
    let order = order.unwrap_or_default();
    search(&mut source.rows, text, order);
    let view = View {
        web: &web,
        frame: &frame,
        text,
        order,
        page: asked.page.unwrap_or(1).max(1),
        is_plain,
    };
    Ok(live_page(
        &web,
        &frame,
        "Queues",
        "qk ls",
        &view.content(&source),
    ))
}

/// A list as it was asked for.
struct View<'a> {
    web: &'a Web,
    frame: &'a Frame,
    text: &'a str,
    order: Order,
    page: usize,
    is_plain: bool,
}

impl View<'_> {
    fn content(&self, source: &Source) -> Markup {
        let rows = &source.rows;
        let from = rows.len().min((self.page - 1).saturating_mul(ROWS));
        let shown = &rows[from..rows.len().min(from + ROWS)];
        html! {
            (self.search_form())
            @if rows.is_empty() {
                @if self.text.is_empty() { p { "There are no queues. A program that opens one makes it." } }
                @else { p { "No queue has " code { (self.text) } " in its name." } }
            } @else {
                (self.totals(&Totals::of(rows), source))
                (self.table(shown))
                (self.pager(rows.len(), source.next.as_ref()))
            }
        }
    }

    /// The address of the same list in another order, or at another page.
    fn address(&self, order: Order, page: usize) -> String {
        let page = if page > 1 {
            page.to_string()
        } else {
            String::new()
        };
        let query = [
            ("search", self.text),
            ("sort", &order.text()),
            ("page", &page),
        ];
        self.frame.query(&["queues"], &query)
    }

    fn search_form(&self) -> Markup {
        html! {
            form.search method="get" action=(self.frame.to(&["queues"])) role="search" {
                label for="search" { "Queues whose name has" }
                input id="search" name="search" type="search" value=(self.text) maxlength="128" autocapitalize="off" spellcheck="false";
                @if self.order != Order::default() { input type="hidden" name="sort" value=(self.order.text()); }
                button { "Search" }
                @if !self.is_plain { " " a href=(self.frame.to(&["queues"])) { "All queues" } }
            }
        }
    }

    fn totals(&self, totals: &Totals, source: &Source) -> Markup {
        let counts = [
            (
                if totals.queues == 1 {
                    "queue"
                } else {
                    "queues"
                },
                totals.queues,
                "",
            ),
            (
                "with findings",
                totals.with_findings,
                if totals.with_findings > 0 {
                    "standstill"
                } else {
                    "well"
                },
            ),
            ("ready", totals.ready, ""),
            ("delayed", totals.delayed, ""),
            ("leased", totals.leased, ""),
            (
                "dead",
                totals.dead,
                if totals.dead > 0 { "trouble" } else { "" },
            ),
        ];
        html! {
            ul.tiles aria-label="Totals" {
                @for (what, count, class) in counts { li class=(class) { strong { (number(count)) } " " (what) } }
                @if let Some((pushed, acked)) = totals.rates {
                    li { strong { (rate(pushed)) } " in/s" } li { strong { (rate(acked)) } " out/s" }
                }
            }
            p.aside {
                @match (source.age, &source.next) {
                    (Some(age), _) => {
                        "As sampled " (words(age)) " ago."
                        @if source.is_cut { " Only the first " (number(SAMPLED.get() as u64)) " queues by name are sampled." }
                    }
                    (None, Some(_)) if self.is_plain => { "The totals are of this page." }
                    (None, Some(_)) => { "Only the first " (number(SEARCHED as u64)) " queues by name were searched, because none are sampled." }
                    (None, None) => {}
                }
            }
        }
    }

    fn table(&self, rows: &[Row]) -> Markup {
        html! {
            div.scroll.list { table {
                thead { tr {
                    @for (column, head, _) in Column::ALL { (self.head(column, head)) }
                    @if self.web.watch.is_some() { th scope="col" { "Trend" } }
                } }
                tbody { @for row in rows { tr { (self.row(row)) } } }
            } }
        }
    }

    /// The head of a column, which sorts by it.
    fn head(&self, column: Column, head: &str) -> Markup {
        let is_sorted = self.order.by == column;
        let is_reversed = is_sorted && !self.order.is_reversed;
        let ascends = column.is_text() != self.order.is_reversed;
        let sorted = match (is_sorted, ascends) {
            (false, _) => None,
            (true, true) => Some("ascending"),
            (true, false) => Some("descending"),
        };
        let other = Order {
            by: column,
            is_reversed,
        };
        html! {
            th.number[column.is_number()] scope="col" aria-sort=[sorted] {
                a href=(self.address(other, 1)) { (head) }
                @if is_sorted { span.arrow aria-hidden="true" { (if ascends { " ▲" } else { " ▼" }) } }
            }
        }
    }

    fn row(&self, row: &Row) -> Markup {
        let info = &row.info;
        let line = || {
            let watch = self.web.watch.as_ref()?;
            watch.of(&info.name, |sample| sparkline(&sample.rates))
        };
        html! {
            td { @if let Some((severity, sentence)) = &row.finding { strong class={ "badge " (severity_class(*severity)) } { (sentence) } } }
            td.text { a href=(self.frame.to(&["queues", info.name.as_str()])) { (info.name) } }
            td { (info.kind) }
            @if let Some(counters) = info.counters {
                @let depth = counters.depth;
                td.number { (number(depth.ready)) }
                td.number { @if let Some(age) = counters.oldest_ready { (words(age)) } }
                @for count in [depth.delayed, depth.leased] { td.number { (number(count)) } }
                td.number.trouble[depth.dead > 0] { (number(depth.dead)) }
                @if let Some(last) = row.last { td.number { (rate(last.pushed)) } td.number { (rate(last.acked)) } }
                @else { td {} td {} }
                @if self.web.watch.is_some() { td.line { @if let Some(line) = line() { (line) } } }
            } @else { td colspan=(if self.web.watch.is_some() { "8" } else { "7" }) {} }
        }
    }

    fn pager(&self, all: usize, next: Option<&QueueName>) -> Markup {
        let pages = all.div_ceil(ROWS);
        html! {
            @if pages > 1 {
                nav.pager aria-label="Pages" {
                    @if self.page > 1 { a href=(self.address(self.order, self.page - 1)) rel="prev" { "Previous" } }
                    span { "Page " (number(self.page as u64)) " of " (number(pages as u64)) }
                    @if self.page < pages { a href=(self.address(self.order, self.page + 1)) rel="next" { "Next" } }
                }
            }
            @if let (true, Some(next)) = (self.is_plain, next) {
                p { a href=(self.frame.after(&["queues"], next.as_str())) { "More queues" } }
            }
        }
    }
}
