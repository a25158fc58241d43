//! Removing a queue.

use crate::{Error, ErrorKind, Result};

/// Whether a removal takes leased messages along: somebody works on them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Removal {
    /// Refuses while any message is leased.
    #[default]
    UnlessLeased,
    /// Removes leased messages, too. Their holders' receipts match nothing from then on.
    EvenIfLeased,
}

impl Removal {
    /// Checks whether a queue with `leased` live leases may be removed. Backends call this in the step that
    /// removes the queue.
    ///
    /// # Errors
    ///
    /// [`InUse`](ErrorKind::InUse), naming the count and the way out.
    pub fn check(self, leased: u64) -> Result<()> {
        if leased == 0 || self == Self::EvenIfLeased {
            return Ok(());
        }
        let messages = match leased {
            1 => "1 message is".to_owned(),
            _ => format!("{leased} messages are"),
        };
        Err(Error::new(
            ErrorKind::InUse,
            format!(
                "{messages} leased: try again when the holders are done or the leases are over, \
                 or remove the queue with Removal::EvenIfLeased"
            ),
        ))
    }
}
