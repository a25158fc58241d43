//! The queues of the list: searched, sorted, and added up.

use std::{cmp::Ordering, time::Duration};

use queue_core::{Counters, Error, QueueInfo, is_operators_list};

use crate::{Rates, Sample, Severity, duration_in_words as words};

/// A column of the list, by which it can be sorted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Column {
    Finding,
    Name,
    Kind,
    Ready,
    Oldest,
    Delayed,
    Leased,
    Dead,
    In,
    Out,
}

impl Column {
    /// All columns: the head, and the name in an address.
    pub(super) const ALL: [(Self, &str, &str); 10] = [
        (Self::Finding, "Finding", "finding"),
        (Self::Name, "Queue", "name"),
        (Self::Kind, "Kind", "kind"),
        (Self::Ready, "Ready", "ready"),
        (Self::Oldest, "Oldest", "oldest"),
        (Self::Delayed, "Delayed", "delayed"),
        (Self::Leased, "Leased", "leased"),
        (Self::Dead, "Dead", "dead"),
        (Self::In, "In/s", "in"),
        (Self::Out, "Out/s", "out"),
    ];

    /// Whether the column has texts, which begin with A. Numbers begin with the largest, findings with the worst.
    pub(super) const fn is_text(self) -> bool {
        matches!(self, Self::Name | Self::Kind)
    }

    pub(super) const fn is_number(self) -> bool {
        !matches!(self, Self::Finding | Self::Name | Self::Kind)
    }

    fn compare(self, one: &Row, other: &Row) -> Ordering {
        let count = |of: fn(&Counters) -> u64| {
            let count = |row: &Row| row.info.counters.as_ref().map(of);
            count(other).cmp(&count(one))
        };
        let rate = |of: fn(&Rates) -> f64| {
            let rate = |row: &Row| row.last.as_ref().map_or(-1.0, of);
            rate(other).total_cmp(&rate(one))
        };
        match self {
            Self::Finding => one.rank().cmp(&other.rank()),
            Self::Name => Ordering::Equal,
            Self::Kind => one.info.kind.to_string().cmp(&other.info.kind.to_string()),
            Self::Ready => count(|counters| counters.depth.ready),
            Self::Oldest => count(|counters| {
                let oldest = counters.oldest_ready.unwrap_or_default();
                u64::try_from(oldest.as_micros()).unwrap_or(u64::MAX)
            }),
            Self::Delayed => count(|counters| counters.depth.delayed),
            Self::Leased => count(|counters| counters.depth.leased),
            Self::Dead => count(|counters| counters.depth.dead),
            Self::In => rate(|rates| rates.pushed),
            Self::Out => rate(|rates| rates.acked),
        }
    }
}

/// An order of the list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Order {
    pub(super) by: Column,
    /// The other way round.
    pub(super) is_reversed: bool,
}

impl Order {
    /// Reads the order of an address: `ready`, or `-ready` for the other way round.
    pub(super) fn read(text: &str) -> Result<Self, Error> {
        let (name, is_reversed) = match text.strip_prefix('-') {
            Some(name) => (name, true),
            None => (text, false),
        };
        let found = Column::ALL.into_iter().find(|(.., own)| *own == name);
        match found {
            Some((by, ..)) => Ok(Self { by, is_reversed }),
            None => Err(Error::invalid(format!(
                "no column `{name}` to sort by: {}",
                Column::ALL.map(|(.., own)| own).join(", ")
            ))),
        }
    }

    /// The order as an address has it; nothing for that without asking.
    pub(super) fn text(self) -> String {
        let name = Column::ALL.into_iter().find(|(by, ..)| *by == self.by);
        let name = name.map_or("", |(.., name)| name);
        match self.is_reversed {
            false if self == Self::default() => String::new(),
            false => name.to_owned(),
            true => format!("-{name}"),
        }
    }
}

impl Default for Order {
    fn default() -> Self {
        Self {
            by: Column::Finding,
            is_reversed: false,
        }
    }
}

/// A queue of the list.
#[derive(Debug)]
pub(super) struct Row {
    pub(super) info: QueueInfo,
    /// The rates of the last sample.
    pub(super) last: Option<Rates>,
    /// How long it stands still, as far as the samples have seen.
    pub(super) stands: Duration,
    pub(super) finding: Option<(Severity, String)>,
}

impl Row {
    pub(super) fn new(info: QueueInfo, last: Option<Rates>, stands: Duration) -> Self {
        let finding = finding(&info, stands);
        Self {
            info,
            last,
            stands,
            finding,
        }
    }

    pub(super) fn sampled(sample: &Sample) -> Self {
        let last = sample.rates.last().copied();
        Self::new(sample.info.clone(), last, sample.stands_for)
    }

    /// The worst first; queues without a finding come last.
    fn rank(&self) -> (bool, Option<Severity>) {
        let severity = self.finding.as_ref().map(|(severity, _)| *severity);
        (severity.is_none(), severity)
    }
}

/// The finding that the counters and samples of a queue show. Its page has the diagnosis.
fn finding(info: &QueueInfo, stands: Duration) -> Option<(Severity, String)> {
    let Some(counters) = info.counters else {
        let sentence = "cannot be read: its page says why".to_owned();
        return Some((Severity::Standstill, sentence));
    };
    if counters.paused {
        return Some((Severity::Standstill, "paused".to_owned()));
    }
    let sentence = || format!("stands still for {}", words(stands));
    (!stands.is_zero()).then(|| (Severity::Standstill, sentence()))
}

/// Keeps the queues whose name has this text, in either case, and sorts them. Queues that are alike are sorted by name.
/// Lists for operators are last in every order.
pub(super) fn search(rows: &mut Vec<Row>, text: &str, order: Order) {
    let text = text.trim().to_ascii_lowercase();
    rows.retain(|row| row.info.name.as_str().to_ascii_lowercase().contains(&text));
    let is_list = |row: &Row| is_operators_list(&row.info.name);
    rows.sort_by(|one, other| {
        let lists = is_list(one).cmp(&is_list(other));
        let names = one.info.name.cmp(&other.info.name);
        let ordered = order.by.compare(one, other);
        let (ordered, names) = match (order.is_reversed, order.by) {
            (true, Column::Name) => (ordered, names.reverse()),
            (true, _) => (ordered.reverse(), names),
            (false, _) => (ordered, names),
        };
        lists.then(ordered).then(names)
    });
}

/// The numbers of all queues of a list together, without lists for operators.
#[derive(Debug, Default)]
pub(super) struct Totals {
    pub(super) queues: u64,
    pub(super) with_findings: u64,
    pub(super) ready: u64,
    pub(super) delayed: u64,
    pub(super) leased: u64,
    pub(super) dead: u64,
    /// In and out a second; none if no queue was sampled twice.
    pub(super) rates: Option<(f64, f64)>,
}

impl Totals {
    pub(super) fn of(rows: &[Row]) -> Self {
        let mut totals = Self::default();
        for row in rows.iter().filter(|row| !is_operators_list(&row.info.name)) {
            totals.queues += 1;
            totals.with_findings += u64::from(row.finding.is_some());
            if let Some(counters) = row.info.counters {
                totals.ready += counters.depth.ready;
                totals.delayed += counters.depth.delayed;
                totals.leased += counters.depth.leased;
                totals.dead += counters.depth.dead;
            }
            if let Some(last) = row.last {
                let (pushed, acked) = totals.rates.unwrap_or_default();
                totals.rates = Some((pushed + last.pushed, acked + last.acked));
            }
        }
        totals
    }
}
