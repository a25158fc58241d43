//! Servers that follow or watch another.

use super::Server;
use crate::{ServerBuilder, ServerError};

impl ServerBuilder {
    /// Follows `primary`, which has to listen [on a port](Self::with_tcp). The start waits until
    /// the replica has all the primary's data.
    ///
    /// # Errors
    ///
    /// If `primary` has no port.
    pub fn with_primary(mut self, primary: &Server) -> Result<Self, ServerError> {
        let Some(port) = primary.port() else {
            return Err(ServerError::new(
                "a primary needs a port for its replicas: build it `with_tcp`",
            ));
        };
        self.lines.push(format!("replicaof 127.0.0.1 {port}"));
        if let Some(password) = &primary.settings().password {
            self.lines.push(format!("masterauth {password}"));
        }
        self.replica = true;
        Ok(self)
    }

    /// Makes it a sentinel, which watches `primary` under the name `service`, and counts it as down
    /// when `quorum` sentinels say so. More settings take [a line](Self::with_line), as
    /// `sentinel down-after-milliseconds orders 500`.
    ///
    /// # Errors
    ///
    /// If `primary` has no port.
    pub fn with_watch(
        mut self,
        service: &str,
        primary: &Server,
        quorum: u32,
    ) -> Result<Self, ServerError> {
        let Some(port) = primary.port() else {
            return Err(ServerError::new(
                "a primary needs a port for its sentinels: build it `with_tcp`",
            ));
        };
        self.lines.push(format!(
            "sentinel monitor {service} 127.0.0.1 {port} {quorum}"
        ));
        if let Some(password) = &primary.settings().password {
            let line = format!("sentinel auth-pass {service} {password}");
            self.lines.push(line);
        }
        self.sentinel = true;
        Ok(self)
    }
}
