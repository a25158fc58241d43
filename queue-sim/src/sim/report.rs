use std::{collections::BTreeMap, fmt};

use super::{
    RunRecord,
    check::{Finding, of_queue},
};
use crate::{
    check::model_views,
    report::{Picture, Shown, keep_picture, marks, named_columns, parting_rows, rule},
};

/// The report of a run: the finding, the rule in words, the history view, and the line that
/// replays the run.
pub(super) struct RunReport<'a> {
    name: &'a str,
    run: &'a RunRecord,
    finding: Option<&'a Finding>,
    before: Option<usize>,
    /// The line that names the picture.
    picture: Option<String>,
}

impl<'a> RunReport<'a> {
    pub(super) const fn new(
        name: &'a str,
        run: &'a RunRecord,
        finding: Option<&'a Finding>,
    ) -> Self {
        Self {
            name,
            run,
            finding,
            before: None,
            picture: None,
        }
    }

    /// Sets the number of calls before shrinking.
    pub(super) const fn shrunk_from(mut self, calls: usize) -> Self {
        self.before = Some(calls);
        self
    }

    /// Writes the picture of the run, if it shows a finding. The report then names it.
    pub(super) fn with_picture(mut self) -> Self {
        let Some(finding) = self.finding else {
            return self;
        };
        let queues = self.run.queues.iter();
        let views = queues
            .flat_map(|(queue, config)| model_views(config, &of_queue(&self.run.history, queue)));
        let html = Picture {
            title: &format!("{} breaks {finding}", self.name),
            rule: rule(&finding.rule).as_deref(),
            shown: &self.shown(),
            history: &self.run.history,
            views: &views.collect(),
            replay: &self.replay(),
        }
        .html();
        self.picture = keep_picture(&self.test(), &html);
        self
    }

    /// The history, as it is shown.
    fn shown(&self) -> Shown {
        named_columns(
            &self.run.history,
            &self.run.processes,
            &marks(self.finding),
            &self.effects(),
        )
    }

    /// The test that plays the run.
    fn test(&self) -> String {
        let test = std::thread::current();
        let test = test.name().filter(|test| *test != "main");
        test.unwrap_or(self.name).to_owned()
    }

    /// The line that plays the run again.
    fn replay(&self) -> String {
        let (plan, test) = (&self.run.plan, self.test());
        format!("replay: QUEUE_SIM_REPLAY='{plan}' cargo test {test}")
    }

    /// The notes beside the effects that show the finding.
    fn effects(&self) -> BTreeMap<u64, String> {
        let Some(finding) = self.finding else {
            return BTreeMap::new();
        };
        let effects = finding.effects.iter().enumerate();
        let marked = effects.filter_map(|(nth, index)| {
            let effect = self.run.effects.get(*index)?;
            Some((effect.order, format!("time {}", nth + 1)))
        });
        marked.collect()
    }
}

impl fmt::Display for RunReport<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            name,
            run,
            finding,
            before,
            picture,
        } = self;
        match finding {
            Some(finding) => writeln!(f, "{name} breaks {finding}")?,
            None => writeln!(f, "{name}: every check holds")?,
        }
        if let Some(text) = finding.and_then(|finding| rule(&finding.rule)) {
            writeln!(f, "  “{text}” (CONTRACT.md)")?;
        }
        if let Some(before) = before {
            match run.plan.len() {
                0 => writeln!(f, "  it takes no fault, and no other decision of chance")?,
                1 => writeln!(f, "  shrunk to 1 decision of chance{}", fewer(*before, run))?,
                n => writeln!(
                    f,
                    "  shrunk to {n} decisions of chance{}",
                    fewer(*before, run)
                )?,
            }
        }
        writeln!(f)?;
        f.write_str(&self.shown().text())?;
        for (queue, id) in run.dead.keys() {
            let reason = &run.dead[&(queue.clone(), *id)];
            writeln!(f, "  in the end: {queue} {id} is dead: {reason}")?;
        }
        if finding.is_some() {
            writeln!(f)?;
            if let Some(picture) = picture {
                writeln!(f, "{picture}")?;
            }
            f.write_str(&self.replay())?;
        }
        Ok(())
    }
}

/// Shrinking removes decisions, and not necessarily calls.
fn fewer(before: usize, run: &RunRecord) -> String {
    match run.size() {
        now if now < before => format!(", and from {before} calls to {now}"),
        _ => String::new(),
    }
}

/// Two runs that should be equal, each shown up to their first difference.
pub(super) fn first_difference(first: &RunRecord, second: &RunRecord) -> (String, String) {
    let parting = parting_rows(&first.history, &second.history, &first.processes);
    // A history view leaves out calls that led to nothing, and the auditor's.
    parting.unwrap_or_else(|| {
        let records = first.history.records.iter().zip(&second.history.records);
        let mut differ = records.filter(|(one, other)| one != other);
        match differ.next() {
            Some((one, other)) => (format!("  {one:?}\n"), format!("  {other:?}\n")),
            None => (
                "  the same, as far as both go\n".to_owned(),
                "  one goes on\n".to_owned(),
            ),
        }
    })
}
