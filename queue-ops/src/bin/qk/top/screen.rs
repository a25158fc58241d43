//! The live view on the terminal.

use queue_core::sanitized;
use queue_ops::{Diagnosis, Rates, Sample, duration_in_words as words};
use ratatui::{
    Frame,
    layout::{Constraint, Layout, Rect},
    style::{Modifier, Style},
    text::{Line, Text},
    widgets::{Block, Clear, Paragraph, Row, Table, Wrap},
};

use super::view::{Front, View};

const HELP: &str = "j k     choose a queue; also arrows, page up and down, g and G\n/       show queues with this in their names; esc shows all\nenter   say why it stands still\np       pause it, or hand out messages again\nq       quit";

/// The heights of a bar, from nothing to all.
const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
/// Bars of a row.
pub(crate) const BAR_COUNT: usize = 20;
/// The width of the columns with the queue's name and with its state; the name takes what is left.
const WIDTHS: (u16, u16) = (12, 16);
/// The other columns with their widths, in their order, and the ranks by which a narrow terminal leaves them out.
const COLUMNS: [(&str, u16, u8); 10] = [
    ("KIND", 8, 2),
    ("READY", 8, 9),
    ("OLDEST", 9, 8),
    ("DELAYED", 8, 3),
    ("LEASED", 7, 6),
    ("DEAD", 7, 5),
    ("IN/S", 7, 4),
    ("OUT/S", 7, 7),
    ("FAILED/S", 8, 1),
    ("OUT", BAR_COUNT as u16, 0),
];

/// The columns that fit, by their places in `COLUMNS`.
fn columns(width: u16) -> Vec<usize> {
    let mut kept: Vec<usize> = (0..COLUMNS.len()).collect();
    let needs = |kept: &[usize]| {
        let columns = kept.iter().map(|at| COLUMNS[*at].1 + 1);
        WIDTHS.0 + 1 + WIDTHS.1 + columns.sum::<u16>()
    };
    while needs(&kept) > width && !kept.is_empty() {
        let least = kept.iter().copied().min_by_key(|at| COLUMNS[*at].2);
        kept.retain(|at| Some(*at) != least);
    }
    kept
}

pub(crate) fn draw(frame: &mut Frame<'_>, view: &mut View) {
    let [list, foot] =
        Layout::vertical([Constraint::Min(3), Constraint::Length(1)]).areas(frame.area());
    let columns = columns(list.width);
    let head = columns.iter().map(|at| COLUMNS[*at].0);
    let head = ["QUEUE"].into_iter().chain(head).chain(["STATE"]);
    let widths = columns.iter().map(|at| Constraint::Length(COLUMNS[*at].1));
    let widths = [Constraint::Min(WIDTHS.0)]
        .into_iter()
        .chain(widths)
        .chain([Constraint::Length(WIDTHS.1)]);
    let rows: Vec<Row<'_>> = view.shown().map(|sample| row(sample, &columns)).collect();
    let table = Table::new(rows, widths)
        .header(Row::new(head).style(Style::new().add_modifier(Modifier::BOLD)))
        .row_highlight_style(Style::new().add_modifier(Modifier::REVERSED));
    // One row has the heading.
    view.rows = usize::from(list.height).saturating_sub(1);
    frame.render_stateful_widget(table, list, &mut view.table);
    frame.render_widget(Line::from(foot_text(view)), foot);
    match &view.front {
        Front::Nothing => {}
        Front::Help => front(frame, "Keys", HELP.into()),
        Front::Why(diagnosis) => front(frame, diagnosis.queue.as_str(), why(diagnosis)),
        Front::Pause(queue, pause) => {
            let question = match pause {
                true => format!("Stop handing out messages of {queue}? y / n"),
                false => format!("Hand out messages of {queue} again? y / n"),
            };
            front(frame, queue, question.into());
        }
    }
}

/// The line below the list: an error, or the filter, or which queues are shown.
fn foot_text(view: &View) -> String {
    if let Some(error) = &view.error {
        return sanitized(error).into_owned();
    }
    let (shown, all) = (view.shown().count(), view.count());
    let filter = sanitized(&view.filter);
    let first = view.table.offset() + 1;
    let last = (view.table.offset() + view.rows).min(shown);
    match (view.filters, view.filter.is_empty()) {
        (true, _) => format!("/{filter}_   {shown} of {all} queues"),
        (false, false) => format!("{shown} of {all} queues have `{filter}`   esc all   q quit"),
        (false, true) if shown > view.rows => {
            format!("? help   / filter   q quit   {first} to {last} of {all} queues")
        }
        (false, true) => "? help   / filter   q quit".to_owned(),
    }
}

fn row(sample: &Sample, columns: &[usize]) -> Row<'static> {
    let name = sample.info.name.to_string();
    let Some(counters) = &sample.info.counters else {
        return Row::new([name]);
    };
    let depth = counters.depth;
    let oldest = counters.oldest_ready.filter(|_| depth.ready > 0);
    let last = sample.rates.last().copied().unwrap_or_default();
    let cells = [
        sample.info.kind.to_string(),
        depth.ready.to_string(),
        oldest.map(words).unwrap_or_default(),
        depth.delayed.to_string(),
        depth.leased.to_string(),
        depth.dead.to_string(),
        rate(last.pushed),
        rate(last.acked),
        rate(last.failed),
        bars(&sample.rates),
    ];
    let state = match counters.paused {
        true => "paused".to_owned(),
        false if sample.stands_for.is_zero() => String::new(),
        false => format!("stands {}", words(sample.stands_for)),
    };
    let shown = columns.iter().map(|at| cells[*at].clone());
    Row::new([name].into_iter().chain(shown).chain([state]))
}

fn rate(rate: f64) -> String {
    match rate {
        0.0 => "0".to_owned(),
        0.0..10.0 => format!("{rate:.1}"),
        _ => format!("{rate:.0}"),
    }
}

/// The last rates of acks, each as a bar of the highest.
fn bars(rates: &[Rates]) -> String {
    let shown = &rates[rates.len().saturating_sub(BAR_COUNT)..];
    let highest = shown.iter().map(|rates| rates.acked).fold(0.0, f64::max);
    let bar = |rates: &Rates| match highest > 0.0 {
        true => BARS[((rates.acked / highest * 7.0).round() as usize).min(7)],
        false => BARS[0],
    };
    shown.iter().map(bar).collect()
}

fn why(diagnosis: &Diagnosis) -> Text<'static> {
    let mut lines = Vec::new();
    if diagnosis.is_healthy() {
        lines.push(Line::from(diagnosis.headline()));
    }
    for finding in &diagnosis.findings {
        lines.push(Line::from(finding.to_string()));
        if let Some(remedy) = &finding.remedy {
            lines.push(Line::from(format!("  → {}", remedy.what.clone())));
        }
    }
    Text::from(lines)
}

/// A box in front of the list.
fn front(frame: &mut Frame<'_>, title: &str, text: Text<'_>) {
    let area = frame.area();
    let width = area.width.saturating_sub(4).min(90);
    let wrapped = Paragraph::new(text).wrap(Wrap { trim: false });
    // Long lines take several rows.
    let height = area.height.saturating_sub(2).min(16);
    let place = Rect {
        x: (area.width.saturating_sub(width)) / 2,
        y: (area.height.saturating_sub(height)) / 2,
        width,
        height,
    };
    frame.render_widget(Clear, place);
    frame.render_widget(
        wrapped.block(Block::bordered().title(title.to_owned())),
        place,
    );
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use queue_core::{Backend, Queues};
    use queue_memory::MemoryBackend;
    use queue_ops::{Sampler, diagnose};
    use ratatui::{Terminal, backend::TestBackend};

    use super::*;
    use crate::top::view::Key;

    /// The text on a terminal of this width.
    fn shown(view: &mut View, width: u16) -> String {
        let mut terminal = Terminal::new(TestBackend::new(width, 20)).unwrap();
        terminal.draw(|frame| draw(frame, view)).unwrap();
        terminal.backend().to_string()
    }

    #[tokio::test(start_paused = true)]
    async fn rates_and_findings_are_shown() {
        let backend: Arc<dyn Backend> = Arc::new(MemoryBackend::new());
        let queues = Queues::from(Arc::clone(&backend));
        let orders = queues.reliable("orders").open::<u64>().await.unwrap();
        let mut sampler = Sampler::new(Arc::clone(&backend), 200.try_into().unwrap());
        let mut view = View::new(sampler.sample().await.unwrap());
        for _ in 0..3 {
            orders.push_all(&[1; 8]).await.unwrap();
            let lease = std::time::Duration::from_secs(60);
            for _ in 0..4 {
                orders
                    .receive(lease, lease)
                    .await
                    .unwrap()
                    .unwrap()
                    .ack()
                    .await
                    .unwrap();
            }
            tokio::time::sleep(std::time::Duration::from_secs(2)).await;
            view.sampled(sampler.sample().await);
        }
        orders.queue().pause().await.unwrap();
        view.sampled(sampler.sample().await);
        let screen = shown(&mut view, 140);
        assert!(
            screen.contains("orders") && screen.contains("paused"),
            "{screen}"
        );
        // Eight in and four out in each two seconds.
        assert!(
            screen.contains("4.0") && screen.contains("2.0") && screen.contains("███"),
            "{screen}"
        );
        // A narrower terminal leaves columns out, and cuts no heading.
        for (width, columns) in [(140, 12), (118, 11), (80, 8), (60, 5)] {
            let screen = shown(&mut view, width);
            let head = screen.lines().next().unwrap().trim_matches('"');
            let head: Vec<&str> = head.split_whitespace().collect();
            let is_whole = |name: &&str| COLUMNS.iter().any(|(heading, ..)| heading == name);
            let inner = &head[1..head.len() - 1];
            assert_eq!(
                (head[0], head[head.len() - 1]),
                ("QUEUE", "STATE"),
                "{screen}"
            );
            assert!(inner.iter().all(is_whole), "{screen}");
            assert_eq!(head.len(), columns, "{screen}");
        }
        view.explained(diagnose(&*backend, "orders").await);
        assert!(shown(&mut view, 140).contains("paused; 12 ready wait: `qk resume orders`"));
        // A narrow terminal shows what fits, and does not fail.
        for width in [1, 10, 40] {
            shown(&mut view, width);
        }
        view.press(Key::Char('?'));
        view.press(Key::Char('?'));
        assert!(shown(&mut view, 80).contains("say why it stands still"));
    }
}
