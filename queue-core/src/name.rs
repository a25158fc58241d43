//! Names of queues.

use std::{borrow::Borrow, fmt, str::FromStr, sync::Arc};

use serde::{Deserialize, Serialize};

use crate::{Error, Result, limits::MAX_NAME};

/// A queue's name: 1 to 128 of the characters `A-Z a-z 0-9 . _ : -`.
///
/// The set leaves out what Redis keys, hash tags, shells and log lines treat specially, so that
/// a name reads the same wherever it turns up. Cloning copies a pointer.
///
/// ```
/// use queue_core::QueueName;
///
/// let name: QueueName = "shop:order-timeouts".parse()?;
/// assert_eq!(name.as_str(), "shop:order-timeouts");
/// assert!(QueueName::new("").is_err());
/// assert!(QueueName::new("{tag}").is_err());
/// # Ok::<(), queue_core::Error>(())
/// ```
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct QueueName(Arc<str>);

impl QueueName {
    /// Checks the name.
    ///
    /// # Errors
    ///
    /// [`Invalid`](crate::ErrorKind::Invalid), showing the name, if it is empty, too long, or has
    /// another character in it.
    pub fn new(name: impl AsRef<str>) -> Result<Self> {
        let name = name.as_ref();
        if name.is_empty() {
            return Err(Error::invalid(format!(
                "a queue name must not be empty: use 1 to {MAX_NAME} of A-Z a-z 0-9 . _ : -"
            )));
        }
        if name.len() > MAX_NAME {
            let start: String = name.chars().take(32).collect();
            return Err(Error::invalid(format!(
                "the queue name {start:?}… has {} bytes: at most {MAX_NAME} are allowed",
                name.len()
            )));
        }
        if let Some(wrong) = name.chars().find(|&c| !is_allowed(c)) {
            return Err(Error::invalid(format!(
                "the queue name {name:?} has {wrong:?} in it: use A-Z a-z 0-9 . _ : - only"
            )));
        }
        Ok(Self(name.into()))
    }

    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

fn is_allowed(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | ':' | '-')
}

impl fmt::Display for QueueName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for QueueName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&*self.0, f)
    }
}

impl AsRef<str> for QueueName {
    fn as_ref(&self) -> &str {
        &self.0
    }
}

impl Borrow<str> for QueueName {
    fn borrow(&self) -> &str {
        &self.0
    }
}

impl FromStr for QueueName {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        Self::new(name)
    }
}

impl TryFrom<String> for QueueName {
    type Error = Error;

    fn try_from(name: String) -> Result<Self> {
        Self::new(name)
    }
}

impl From<QueueName> for String {
    fn from(name: QueueName) -> Self {
        name.0.as_ref().into()
    }
}
