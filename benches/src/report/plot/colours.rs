//! Colours that can be read on a white page and on a dark one: a plot has no ground of its own.

/// Text and axes.
pub const INK: Colour = Colour(0x80_83_88);
/// Our side: blue.
pub const OURS: Colour = Colour(0x2f_81_f7);
/// The raw side: orange.
pub const RAW: Colour = Colour(0xc9_71_10);

/// A colour, as red, green and blue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Colour(u32);

impl std::fmt::Display for Colour {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "#{:06x}", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The contrast of two colours as WCAG 2 defines it, from 1 to 21.
    fn contrast(one: Colour, two: Colour) -> f64 {
        let luminance = |Colour(rgb): Colour| {
            let weighed = [(16, 0.2126), (8, 0.7152), (0, 0.0722)].map(|(shift, weight)| {
                let part = f64::from(rgb >> shift & 0xff) / 255.0;
                let linear = match part <= 0.04045 {
                    true => part / 12.92,
                    false => ((part + 0.055) / 1.055).powf(2.4),
                };
                linear * weight
            });
            weighed.iter().sum::<f64>()
        };
        let (one, two) = (luminance(one), luminance(two));
        (one.max(two) + 0.05) / (one.min(two) + 0.05)
    }

    #[test]
    fn all_are_readable_on_white_and_on_dark() {
        assert!((contrast(Colour(0xff_ff_ff), Colour(0)) - 21.0).abs() < 1e-9);
        for ground in [Colour(0xff_ff_ff), Colour(0x0d_11_17)] {
            for colour in [INK, OURS, RAW] {
                let contrast = contrast(colour, ground);
                assert!(contrast > 3.5, "{colour} on {ground}: {contrast:.2}");
            }
        }
    }
}
