//! The name of a lease's holder.

use std::{fmt, sync::Arc};

use super::{Error, Result, limits::MAX_HOLDER};

/// The name of a lease's holder, for operators: it decides nothing.
///
/// It has 1 to 128 bytes. Cloning copies a pointer.
///
/// ```
/// use queue_core::Holder;
///
/// let holder = Holder::new("mailer on web-3, process 4711")?;
/// assert_eq!(holder.as_str(), "mailer on web-3, process 4711");
/// assert!(Holder::new("").is_err());
/// # Ok::<(), queue_core::Error>(())
/// ```
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Holder(Arc<str>);

impl Holder {
    /// Checks the name.
    ///
    /// # Errors
    ///
    /// `Invalid` if it is empty or too long.
    pub fn new(name: impl Into<Arc<str>>) -> Result<Self> {
        let name = name.into();
        if name.is_empty() || name.len() > MAX_HOLDER {
            return Err(Error::invalid(format!(
                "a holder's name of {} bytes: 1 to {MAX_HOLDER} are allowed",
                name.len()
            )));
        }
        Ok(Self(name))
    }

    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Holder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for Holder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&*self.0, f)
    }
}
