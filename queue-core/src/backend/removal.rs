//! Removing a queue.

use crate::{Error, ErrorKind, Result};

/// What a removal does about messages that are leased: somebody works on them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Removal {
    /// It is refused while there are any.
    #[default]
    UnlessLeased,
    /// It takes them along. Their holders' receipts match nothing from then on.
    EvenIfLeased,
}

impl Removal {
    /// Checks whether a queue with so many live leases may be removed. Backends call it in the step
    /// that removes.
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
