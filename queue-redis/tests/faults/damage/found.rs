//! Harm that once was too much, by name.
