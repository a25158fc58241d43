//! The default name under which a worker holds its leases.

use std::{env, fs, process};

use queue_core::limits::MAX_HOLDER;

/// The host, where it is known, and the process.
pub(crate) fn default_holder() -> String {
    named(host().as_deref(), process::id())
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
    use queue_core::Holder;

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
        let holder = Holder::new(default_holder());
        assert!(holder.is_ok(), "{holder:?}");
    }
}
