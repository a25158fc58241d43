//! The table of scripts.

use crate::script::Script;

/// Every script: what is loaded when a connection is opened.
pub(crate) static ALL: &[&Script] = &[];
