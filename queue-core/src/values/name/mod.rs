//! Names of queues.

mod checked;

use std::{borrow::Borrow, fmt, sync::Arc};

use serde::{Deserialize, Serialize};

/// A queue's name: 1 to 128 of the characters `A-Z a-z 0-9 . _ : -`, but not `.` or `..`.
///
/// The set leaves out what Redis keys, hash tags, shells and log lines treat specially, so that
/// a name reads the same wherever it turns up. In a path, `.` and `..` are no names. Cloning copies a pointer.
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
    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
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

impl From<QueueName> for String {
    fn from(name: QueueName) -> Self {
        name.0.as_ref().into()
    }
}
