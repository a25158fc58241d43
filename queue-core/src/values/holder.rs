//! The name of a lease's holder.

use std::{env, fmt, fs, process, sync::Arc};

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

    /// The default name of a worker: its host, where that is known, and its process.
    pub fn of_this_process() -> Self {
        Self(named(host().as_deref(), process::id()).into())
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

/// The host's name from the environment, or else from Linux. The standard library cannot ask any other
/// system.
fn host() -> Option<String> {
    let given = |name: String| Some(name.trim().to_owned()).filter(|name| !name.is_empty());
    let environment = env::var("HOSTNAME").ok().and_then(given);
    environment.or_else(|| {
        let linux = fs::read_to_string("/proc/sys/kernel/hostname");
        linux.ok().and_then(given)
    })
}

/// A long host's name is cut between characters, so that the whole fits into a holder's name.
fn named(host: Option<&str>, process: u32) -> String {
    let process = format!("process {process}");
    let Some(host) = host else {
        return process;
    };
    let mut end = host.len().min(MAX_HOLDER - ", ".len() - process.len());
    while !host.is_char_boundary(end) {
        end -= 1;
    }
    format!("{}, {process}", &host[..end])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_holder_names_the_host_and_the_process_if_known() {
        assert_eq!(named(Some("web-3"), 4711), "web-3, process 4711");
        assert_eq!(named(None, 4711), "process 4711");
    }

    #[test]
    fn it_is_never_too_long() {
        for host in [
            "h".repeat(300),
            "ü".repeat(150),
            "h".to_owned() + &"ü".repeat(150),
        ] {
            let name = named(Some(&host), u32::MAX);
            assert!((127..=MAX_HOLDER).contains(&name.len()), "{name}");
            assert!(name.ends_with(", process 4294967295"), "{name}");
        }
    }

    #[test]
    fn it_is_a_name_that_a_holder_may_have() {
        let holder = Holder::new(Holder::of_this_process().0);
        assert!(holder.is_ok(), "{holder:?}");
    }
}
