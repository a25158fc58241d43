//! A scale of values, and its ticks.

/// Values that differ by more than this are shown by factors.
const FAR: f64 = 12.0;

/// Maps values to places between 0 and 1.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Scale {
    /// From 0 to this.
    Linear {
        /// The last tick.
        end: f64,
        /// Between two ticks.
        step: f64,
    },
    /// From one value to another, by factors.
    Log {
        /// The first tick, a power of ten.
        start: f64,
        /// The last tick, a power of ten.
        end: f64,
    },
}

impl Scale {
    /// The scale that shows all these values: by factors if they lie far apart.
    pub fn of(values: impl Iterator<Item = f64> + Clone) -> Self {
        let least = values.clone().fold(f64::INFINITY, f64::min);
        let most = values.fold(f64::MIN_POSITIVE, f64::max);
        if least > 0.0 && most / least > FAR {
            return Self::Log {
                start: 10_f64.powf(least.log10().floor()),
                end: 10_f64.powf(most.log10().ceil()),
            };
        }
        let power = 10_f64.powf((most / 5.0).log10().floor());
        let steps = [1.0, 2.0, 5.0, 10.0].map(|step| step * power);
        let fits = |step: &&f64| **step * 5.0 >= most * 0.999;
        let step = *steps.iter().find(fits).unwrap_or(&steps[3]);
        let end = (most / step).ceil() * step;
        Self::Linear { end, step }
    }

    /// The place of a value, from 0 to 1.
    pub fn place(self, value: f64) -> f64 {
        match self {
            Self::Linear { end, .. } => value / end,
            Self::Log { start, end } => (value / start).log10() / (end / start).log10(),
        }
    }

    /// The values with a line and a label.
    pub fn ticks(self) -> Vec<f64> {
        match self {
            Self::Linear { end, step } => {
                let count = (end / step).round() as u32;
                (0..=count).map(|nth| f64::from(nth) * step).collect()
            }
            Self::Log { start, end } => {
                let count = (end / start).log10().round() as i32;
                (0..=count).map(|nth| start * 10_f64.powi(nth)).collect()
            }
        }
    }
}

/// A short label: 0.5, 40, 25k, 1.2M.
pub fn label(value: f64) -> String {
    let (value, unit) = match value.abs() {
        size if size >= 1e6 => (value / 1e6, "M"),
        size if size >= 1e3 => (value / 1e3, "k"),
        _ => (value, ""),
    };
    let text = format!("{value:.3}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    format!("{text}{unit}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_values_begin_at_zero() {
        let scale = Scale::of([104.5, 330.0].into_iter());
        assert_eq!(scale.ticks(), [0.0, 100.0, 200.0, 300.0, 400.0]);
        assert_eq!((scale.place(0.0), scale.place(400.0)), (0.0, 1.0));
    }

    #[test]
    fn far_values_are_shown_by_factors() {
        let scale = Scale::of([8_000.0, 559_000.0].into_iter());
        assert_eq!(scale.ticks(), [1e3, 1e4, 1e5, 1e6]);
        assert!((scale.place(1e4) - 1.0 / 3.0).abs() < 1e-9);
    }

    #[test]
    fn every_value_is_on_its_scale() {
        for values in [
            [0.2, 0.2],
            [1.0, 12.0],
            [5.0, 61.0],
            [3e-3, 7e5],
            [9.99, 10.0],
        ] {
            let scale = Scale::of(values.into_iter());
            for value in values {
                assert!((0.0..=1.0).contains(&scale.place(value)), "{values:?}");
            }
            assert!((2..12).contains(&scale.ticks().len()), "{values:?}");
        }
    }

    #[test]
    fn labels_are_short() {
        let labels = [0.0, 0.5, 40.0, 25_000.0, 1_200_000.0].map(label);
        assert_eq!(labels, ["0", "0.5", "40", "25k", "1.2M"]);
    }
}
