//! Floats through JSON: exact with the feature `float_roundtrip`, and as near as the next float without it.

use proptest::prelude::*;
use queue_core::{Codec, Json};
use queue_testing::property::check_property;

/// Floats with bits on both sides of this one's.
fn distance(one: f64, other: f64) -> u64 {
    // Of floats with the same sign, neighbours are neighbours as integers, too.
    one.to_bits().abs_diff(other.to_bits())
}

#[test]
fn floats_come_back() {
    let most = if cfg!(feature = "float_roundtrip") {
        0
    } else {
        1
    };
    let any_bits = any::<u64>().prop_map(f64::from_bits);
    let finite = any_bits.prop_filter("JSON has no number for it", |float| float.is_finite());
    check_property(20_000, finite, |float| {
        let back: f64 = Json.decode(&Json.encode(&float).unwrap()).unwrap();
        assert!(
            distance(float, back) <= most,
            "{float:?} comes back as {back:?}"
        );
    });
}

/// A float of which `serde_json` alone changes the last digit.
#[test]
#[cfg(feature = "float_roundtrip")]
fn the_feature_is_needed_for_an_exact_float() {
    let float = 9.355_228_014_518_5e-15_f64;
    let back: f64 = Json.decode(&Json.encode(&float).unwrap()).unwrap();
    assert_eq!(float.to_bits(), back.to_bits());
}

#[test]
fn integers_are_exact_with_and_without_the_feature() {
    check_property(2_000, any::<(u64, i64)>(), |numbers| {
        let back: (u64, i64) = Json.decode(&Json.encode(&numbers).unwrap()).unwrap();
        assert_eq!(numbers, back);
    });
}
