//! A server's log, also for the text of its failure.

use std::fs;

use super::Server;
use crate::ServerError;

/// The lines of a log that go into an error.
const LOG_LINES: usize = 30;

impl Server {
    /// The server's log.
    pub fn log(&self) -> String {
        let log = fs::read(self.log_path()).unwrap_or_default();
        String::from_utf8_lossy(&log).into_owned()
    }

    /// The last lines of its log.
    pub(crate) fn end_of_log(&self) -> String {
        let log = self.log();
        let lines: Vec<_> = log.lines().collect();
        lines[lines.len().saturating_sub(LOG_LINES)..].join("\n")
    }

    pub(super) fn failed(&self, what: String) -> ServerError {
        let last = self.end_of_log();
        if last.is_empty() {
            return ServerError::new(what);
        }
        let hint = if lacks_tls(&last) {
            " (it was built without TLS: name one that has it by QUEUE_TEST_REDIS_SERVER)"
        } else {
            ""
        };
        ServerError::new(format!("{what}{hint}. The end of its log:\n{last}"))
    }
}

/// Whether a server's log says that it cannot speak TLS: as an unknown directive, or from 7.2 on in
/// words.
fn lacks_tls(log: &str) -> bool {
    log.contains(">>> 'tls-") || log.contains("Failed finding TLS support")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_without_tls_is_known_by_its_log() {
        let old = "Reading the configuration file, at line 11\n>>> 'tls-port 10123'\n\
                   Bad directive or wrong number of arguments";
        let new = "# Missing implement of connection type tls\n# Failed finding TLS support.";
        assert!(lacks_tls(old) && lacks_tls(new));
        assert!(!lacks_tls(">>> 'nonsense'\nBad directive"));
    }
}
