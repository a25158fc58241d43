//! Parses a name. It is apart from the name's type because errors carry names.

use std::str::FromStr;

use super::super::{Error, Result, limits::MAX_NAME};
use super::QueueName;

impl QueueName {
    /// Checks the name.
    ///
    /// # Errors
    ///
    /// [`Invalid`](crate::ErrorKind::Invalid), showing the name, if it is empty, too long, has another
    /// character in it, or is `.` or `..`.
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
        if matches!(name, "." | "..") {
            return Err(Error::invalid(format!(
                "the queue name {name:?} is a directory in every path and link: use another name"
            )));
        }
        Ok(Self(name.into()))
    }
}

fn is_allowed(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | ':' | '-')
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
