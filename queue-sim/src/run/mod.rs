//! Playing runs: one, many, again, and a smaller one.
