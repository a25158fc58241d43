//! Floats through JSON: exact with the feature `float_roundtrip`, and as near as the next float without it.

use proptest::prelude::*;
use queue_core::{Decode, Encode, Json};
use queue_testing::property::check_property;

/// The number of steps between two floats of the same sign: neighbours differ by 1.
fn steps(one: f64, other: f64) -> u64 {
    one.to_bits().abs_diff(other.to_bits())
}

fn check(most: u64) {
    let any_bits = any::<u64>().prop_map(f64::from_bits);
    let finite = any_bits.prop_filter("JSON has no number for it", |float| float.is_finite());
    check_property(5_000, finite, |float| {
        let back: f64 = Json.decode(&Json.encode(&float).unwrap()).unwrap();
        assert!(
            steps(float, back) <= most,
            "{float:?} comes back as {back:?}"
        );
    });
}

#[test]
fn a_float_comes_back_as_itself_or_its_neighbour() {
    check(1);
}

#[test]
#[cfg(feature = "float_roundtrip")]
fn with_the_feature_a_float_comes_back_exactly() {
    check(0);
}

#[test]
fn integers_are_exact_with_and_without_the_feature() {
    check_property(2_000, any::<(u64, i64)>(), |numbers| {
        let back: (u64, i64) = Json.decode(&Json.encode(&numbers).unwrap()).unwrap();
        assert_eq!(numbers, back);
    });
}
