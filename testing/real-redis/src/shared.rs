//! The server that all tests of a process share.

use std::{env, sync::LazyLock};

use super::{Server, ServerError, container::Container};

/// Names an existing server to use instead of a new one.
const EXISTING: &str = "QUEUE_TEST_REDIS_URL";

/// Chooses the kind of a new server.
const WHERE: &str = "QUEUE_TEST_REDIS";
const IN_CONTAINER: &str = "container";

/// It is never dropped. Its watchdog, or what holds its container, ends it with the process.
static SHARED: LazyLock<Result<SharedServer, ServerError>> = LazyLock::new(SharedServer::choose);

#[derive(Debug)]
enum SharedServer {
    Existing(String),
    Process(Box<Server>),
    Container(Container),
}

/// The URL of the shared server. The first caller starts it.
pub(super) fn url() -> Result<String, ServerError> {
    match &*SHARED {
        Ok(SharedServer::Existing(url)) => Ok(url.clone()),
        Ok(SharedServer::Process(server)) => Ok(server.url()),
        Ok(SharedServer::Container(container)) => Ok(container.url().to_owned()),
        Err(error) => Err(error.clone()),
    }
}

impl SharedServer {
    fn in_container() -> Result<Self, ServerError> {
        let container = Container::start()?;
        let tried = |error| ServerError::tried("cannot configure the server", error);
        let client = redis::Client::open(container.url()).map_err(tried)?;
        let mut connection = client.get_connection().map_err(tried)?;
        // As in the configuration of a process.
        let mut limit = redis::cmd("CONFIG");
        limit.arg("SET").arg("lua-time-limit").arg(0);
        limit.exec(&mut connection).map_err(tried)?;
        Ok(Self::Container(container))
    }

    fn choose() -> Result<Self, ServerError> {
        let named =
            |variable| env::var_os(variable).map(|value| value.to_string_lossy().into_owned());
        match (named(EXISTING), named(WHERE)) {
            (Some(url), None) => Ok(Self::Existing(url)),
            (None, None) => Server::start().map(|server| Self::Process(Box::new(server))),
            (None, Some(place)) if place == IN_CONTAINER => Self::in_container(),
            (None, Some(place)) => Err(ServerError::new(format!(
                "{WHERE}={place}: say {WHERE}={IN_CONTAINER}, or leave it out for a process"
            ))),
            (Some(_), Some(_)) => Err(ServerError::new(format!(
                "{EXISTING} and {WHERE} each name a server: leave one of them out"
            ))),
        }
    }
}
