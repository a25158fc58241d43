//! A plan in one line: `v1:`, then `process.step.what=value` or `process.step.what.nth=value`, separated
//! by commas.

use std::{error::Error, fmt, str::FromStr};

use super::{ChoicePoint, Plan, Process, What};

const VERSION: &str = "v1:";

/// A line that is no plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlanError(String);

impl fmt::Display for PlanError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Error for PlanError {}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(VERSION)?;
        for (index, (point, value)) in self.iter().enumerate() {
            if index > 0 {
                f.write_str(",")?;
            }
            write!(f, "{point}={value}")?;
        }
        Ok(())
    }
}

impl FromStr for Plan {
    type Err = PlanError;

    fn from_str(line: &str) -> Result<Self, PlanError> {
        let Some(entries) = line.trim().strip_prefix(VERSION) else {
            return Err(PlanError(format!(
                "a plan begins with `{VERSION}`; give the whole text between the quotes of the replay line"
            )));
        };
        let mut plan = Self::default();
        for entry in entries.split(',').filter(|entry| !entry.is_empty()) {
            let (point, value) = decision(entry)
                .ok_or_else(|| PlanError(format!(
                    "{entry:?} is no decision, such as `2.1.reply.1=1`; give the whole text between the \
                     quotes of the replay line"
                )))?;
            plan.set(point, value);
        }
        Ok(plan)
    }
}

fn decision(entry: &str) -> Option<(ChoicePoint, u32)> {
    let (point, value) = entry.split_once('=')?;
    let mut parts = point.split('.');
    let process = Process(parts.next()?.parse().ok()?);
    let step = parts.next()?.parse().ok()?;
    let name = parts.next()?;
    let what = What::ALL.iter().find(|what| what.as_str() == name)?;
    let nth = match parts.next() {
        Some(nth) => nth.parse().ok()?,
        None => 0,
    };
    if parts.next().is_some() {
        return None;
    }
    Some((
        ChoicePoint::new(process, step, *what).nth(nth),
        value.parse().ok()?,
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_choice_point_survives_being_printed() {
        let mut plan = Plan::default();
        for (index, what) in What::ALL.iter().enumerate() {
            let index = index as u32;
            plan.set(
                ChoicePoint::new(Process(index as u8), index * 7, *what),
                index + 1,
            );
            plan.set(ChoicePoint::new(Process(3), 1, *what).nth(index + 1), 9);
        }
        assert_eq!(plan.to_string().parse::<Plan>().unwrap(), plan);
        assert_eq!("v1:".parse::<Plan>().unwrap(), Plan::default());
    }

    #[test]
    fn malformed_plans_are_refused() {
        for line in [
            "",
            "v2:1.0.verb=1",
            "v1:1.0.verb",
            "v1:1.0.dance=1",
            "v1:300.0.verb=1",
        ] {
            assert!(line.parse::<Plan>().is_err(), "{line}");
        }
    }
}
