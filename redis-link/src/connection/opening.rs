//! How a backend's connections are opened, besides what the URL says.

use std::{env, fmt, process, sync::Arc, time::Duration};

use queue_core::{Error, Result, Spawn};
use redis::Cmd;

use super::{CredentialsProvider, Role};

/// How long opening a connection may take, unless a setting says otherwise.
pub const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
const MAX_CLIENT_NAME: usize = 64;

/// How connections are opened.
#[derive(Clone)]
pub struct Opening {
    /// Runs the tasks of the connection.
    pub spawn: Arc<dyn Spawn>,
    /// How long opening a connection may take.
    pub limit: Duration,
    /// Provides the login of each connection.
    pub credentials: Option<Arc<dyn CredentialsProvider>>,
    /// The name by which the server lists the program's connections.
    pub client_name: Arc<str>,
}

impl Opening {
    /// The default settings.
    pub fn by(spawn: Arc<dyn Spawn>) -> Self {
        Self {
            spawn,
            limit: CONNECT_TIMEOUT,
            credentials: None,
            client_name: default_client_name().into(),
        }
    }

    /// The command that names a connection. `HELLO` needs no right; `CLIENT SETNAME` does.
    pub(super) fn naming(&self, role: Role) -> Cmd {
        let role = match role {
            Role::Commands => "commands",
            Role::Waiter => "waiter",
        };
        let mut hello = redis::cmd("HELLO");
        let name = format!("{}:{role}", self.client_name);
        hello.arg(3).arg("SETNAME").arg(name);
        hello
    }
}

/// The program's name and its process id.
fn default_client_name() -> String {
    let path = env::current_exe().ok();
    let program = path.as_deref().and_then(|path| path.file_stem());
    let program = program.map_or_else(|| "queue-kit".into(), |program| program.to_string_lossy());
    let plain = |c: char| if is_allowed(c) { c } else { '-' };
    let process = process::id();
    let room = MAX_CLIENT_NAME - "-4294967295".len();
    let program: String = program.chars().take(room).map(plain).collect();
    format!("{program}-{process}")
}

/// Whether servers accept this character in a name.
const fn is_allowed(c: char) -> bool {
    matches!(c, '!'..='~')
}

/// Checks a name for connections.
pub fn check_client_name(name: &str) -> Result<()> {
    if (1..=MAX_CLIENT_NAME).contains(&name.len()) && name.chars().all(is_allowed) {
        return Ok(());
    }
    let shown: String = name.chars().take(MAX_CLIENT_NAME).collect();
    Err(Error::invalid(format!(
        "the client_name {shown:?}: use 1 to {MAX_CLIENT_NAME} printed characters of ASCII without blanks"
    )))
}

impl fmt::Debug for Opening {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Opening")
            .field("limit", &self.limit)
            .field("client_name", &self.client_name)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn servers_accept_the_default_name() {
        let name = default_client_name();
        check_client_name(&name).expect("it is allowed");
        assert!(name.ends_with(&process::id().to_string()), "{name}");
    }
}
