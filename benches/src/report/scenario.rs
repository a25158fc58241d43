//! A scenario: cases, each measured on our side and on the raw side.

use serde::{Deserialize, Serialize};

use super::meter::Stage;

/// A scenario of the report.
#[derive(Debug)]
pub struct Scenario {
    /// Its name, as `--only` takes it.
    pub name: &'static str,
    /// A sentence that says what is measured.
    pub about: &'static str,
    /// The meaning of the cases' names, if the names are numbers.
    pub axis: Option<&'static str>,
    /// The figures of each case.
    pub figures: &'static [Figure],
    /// Pairs of measurements in a full run.
    pub pairs: usize,
    /// Its cases.
    pub cases: fn() -> Vec<ScenarioCase>,
}

impl Scenario {
    /// A sentence that says what is measured, and how the cases differ.
    pub fn sentence(&self) -> String {
        match self.axis {
            Some(label) => format!("{}; by {label}", self.about),
            None => self.about.to_owned(),
        }
    }
}

/// A figure that each case of a scenario has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Figure {
    /// Its name, with the unit.
    pub name: &'static str,
    /// Which way is better.
    pub better: Better,
}

impl Figure {
    /// Jobs a second.
    pub const JOBS: Self = Self::more("jobs/s");
    /// The server's processor time for each job.
    pub const SERVER: Self = Self::less("server CPU µs a job");

    /// A figure that should be large.
    pub const fn more(name: &'static str) -> Self {
        let better = Better::More;
        Self { name, better }
    }

    /// A figure that should be small.
    pub const fn less(name: &'static str) -> Self {
        let better = Better::Less;
        Self { name, better }
    }
}

/// Which way is better.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Better {
    /// The more, the better.
    More,
    /// The less, the better.
    Less,
}

impl Better {
    /// Our figure compared with the raw one: above 1, ours is better.
    pub fn ratio(self, ours: f64, raw: f64) -> f64 {
        match self {
            Self::More => ours / raw,
            Self::Less => raw / ours,
        }
    }
}

/// One case of a scenario.
pub struct ScenarioCase {
    /// Its name.
    pub name: String,
    /// The raw commands beside it.
    pub raw: &'static str,
    /// Makes both sides ready on a stage.
    pub open: OpenSides,
}

/// Makes both sides of a case ready.
pub type OpenSides = Box<dyn for<'a> Fn(&'a Stage) -> Sides<'a>>;

impl ScenarioCase {
    /// A case with a name.
    pub fn new(
        name: impl Into<String>,
        raw: &'static str,
        open: impl for<'a> Fn(&'a Stage) -> Sides<'a> + 'static,
    ) -> Self {
        Self {
            name: name.into(),
            raw,
            open: Box::new(open),
        }
    }
}

/// Measures once, and returns a value for each figure of the scenario.
pub type Side<'a> = Box<dyn FnMut() -> Vec<f64> + 'a>;

/// Both sides of a case.
pub struct Sides<'a> {
    /// Ours.
    pub ours: Side<'a>,
    /// The raw commands.
    pub raw: Side<'a>,
}

impl<'a> Sides<'a> {
    /// These two.
    pub fn new(ours: impl FnMut() -> Vec<f64> + 'a, raw: impl FnMut() -> Vec<f64> + 'a) -> Self {
        Self {
            ours: Box::new(ours),
            raw: Box::new(raw),
        }
    }
}
