//! One request for one server.

use redis::{Cmd, Value};
use tokio::time::Instant;

use crate::{
    call::ScriptCall,
    connection::{Channel, largest_part},
    error::Failure,
};

/// A call of a script, or a plain command.
#[derive(Debug, Clone, Copy)]
pub enum Request<'a> {
    Script(&'a ScriptCall),
    Command(&'a Cmd),
}

impl Request<'_> {
    /// Sends the request, for a caller that has waited since `made`. If the server does not have the script, sends the
    /// call again with the script's text, so a server may forget its scripts at any moment. Nothing else is repeated,
    /// because it may have run.
    pub async fn send(&self, channel: &Channel, made: Instant) -> Result<Value, Failure> {
        let answer = channel.request_since(made, self.command()).await;
        match (self, answer) {
            (Self::Script(call), Err(failure)) if failure.is_unknown_script() => {
                channel.request_since(made, &call.in_full()).await
            }
            (_, answer) => answer,
        }
    }

    /// Sends the request to the cluster node that is taking over its slot, which serves only requests after `ASKING`.
    /// No script runs there, known or not, because the guard that it names is missing.
    pub async fn send_asking(&self, channel: &Channel) -> Result<Value, Failure> {
        // Both in one round trip: no other request on this connection may come between them.
        let both = [redis::cmd("ASKING"), self.command().clone()];
        let answers = channel.request_each(both).await?;
        // If `ASKING` is refused, the other reply only names the right node.
        let answers: Result<Vec<Value>, Failure> = answers.into_iter().collect();
        Ok(answers?.pop().unwrap_or(Value::Nil))
    }

    /// The bytes of the request's largest part.
    pub fn largest_part(&self) -> usize {
        largest_part([self.command()])
    }

    const fn command(&self) -> &Cmd {
        match self {
            Self::Script(call) => &call.command,
            Self::Command(command) => command,
        }
    }
}
