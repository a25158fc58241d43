//! Plots of a few points as SVG. They need no crate: a plot is two panels of points, lines and labels.

pub mod axis;
pub mod chart;
pub mod colours;
