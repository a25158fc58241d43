//! Damaged rings.
