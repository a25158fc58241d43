//! Names of steps.

use std::fmt;

use crate::Failure;

/// The longest name of a step, in bytes.
const LONGEST: usize = 64;

/// The name of a step of a durable job: 1 to 64 bytes without control characters, and no other step of the run has it.
///
/// A step in a loop has a name with a number: `("charge", i)` is `charge[i]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StepName(String);

impl StepName {
    /// The name, if it is one.
    ///
    /// # Errors
    ///
    /// A failure if the name is empty, too long, or has control characters.
    pub(super) fn check(&self) -> Result<&str, Failure> {
        let name = self.0.as_str();
        if name.is_empty() || name.len() > LONGEST || name.contains(char::is_control) {
            return Err(Failure::new(format!(
                "the name {name:?} of a step: 1 to {LONGEST} bytes, without control characters"
            )));
        }
        Ok(name)
    }
}

impl fmt::Display for StepName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl From<&str> for StepName {
    fn from(name: &str) -> Self {
        Self(name.to_owned())
    }
}

impl From<String> for StepName {
    fn from(name: String) -> Self {
        Self(name)
    }
}

impl<N: fmt::Display> From<(&str, N)> for StepName {
    fn from((name, number): (&str, N)) -> Self {
        Self(format!("{name}[{number}]"))
    }
}
