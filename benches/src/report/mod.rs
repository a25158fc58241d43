//! The report that users ask for: how fast, at which load, at what cost, each figure beside raw
//! commands in the same run.
//!
//! The program `report` runs [`scenarios::ALL`] and writes the figures as a text table and as JSON. Criterion's benches
//! compare calls; these scenarios compare the work of whole programs.

pub mod chance;
pub mod effort;
pub mod floor;
pub mod meter;
pub mod readme;
pub mod row;
pub mod run;
pub mod scenario;
pub mod scenarios;
pub mod summary;
pub mod text;
