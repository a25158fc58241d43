//! One figure of one case, ours beside the raw one.

use serde::{Deserialize, Serialize};

use super::{effort::Effort, scenario::Better};
use crate::{pairs::Spread, redis::placement::Placement};

/// One figure of one case.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Row {
    /// The scenario's name.
    pub scenario: String,
    /// The case's name.
    pub case: String,
    /// The cores of client and server.
    pub placement: Placement,
    /// The figure's name.
    pub figure: String,
    /// Which way is better.
    pub better: Better,
    /// The raw commands.
    pub raw: String,
    /// The number of pairs.
    pub pairs: usize,
    /// Our values.
    pub ours: Spread,
    /// The raw values.
    pub theirs: Spread,
    /// Our figure compared with the raw one, pair by pair: above 1, ours is better.
    pub ratio: Spread,
    /// The machine's script floor at that time.
    pub floor: f64,
    /// How much was measured.
    pub effort: Effort,
    /// The server's version.
    pub server: String,
    /// The machine's cores.
    pub cores: usize,
}

/// A row for tests.
#[cfg(test)]
pub(super) fn sample(case: &str) -> Row {
    let spread = |median| Spread {
        min: median / 2.0,
        median,
        max: median * 1.5,
    };
    Row {
        scenario: "worker".to_owned(),
        case: case.to_owned(),
        placement: Placement::Same,
        figure: "jobs/s".to_owned(),
        better: Better::More,
        raw: "LMOVE".to_owned(),
        pairs: 7,
        ours: spread(30_000.0),
        theirs: spread(120_000.0),
        ratio: spread(0.25),
        floor: 0.71,
        effort: Effort::Quick,
        server: "7.0.15".to_owned(),
        cores: 2,
    }
}
