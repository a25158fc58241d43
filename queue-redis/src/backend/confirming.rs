//! Handles whose calls are confirmed: they share a connection of their own, so that nobody else waits.

use std::sync::Arc;

use queue_core::{Confirmation, Result, TokioSpawn};

use super::RedisBackend;
use crate::{
    client::Client,
    confirmer::Waiting,
    connection::{Alarm, Backoff, CopiesAsked, CopiesDial, Dial, Primary, Supervised},
};

/// What it takes to open another connection to the same server.
#[derive(Debug)]
pub(super) struct Another {
    pub(super) primary: Primary,
    pub(super) alarm: Alarm,
    pub(super) backoff: Backoff,
}

impl RedisBackend {
    /// The same backend over another connection, whose calls can be confirmed.
    pub(super) async fn confirming(&self, confirmation: Confirmation) -> Result<Self> {
        confirmation.check()?;
        // Connecting takes timers of a runtime.
        TokioSpawn::current()?;
        let address = self.client.address().to_owned();
        let asked = CopiesAsked::new(confirmation, address);
        let mut primary = self.another.primary.clone();
        // While a wait is under way, the server answers nothing else on its connection.
        primary.timeouts.response += confirmation.within;
        let silence = primary.timeouts.response;
        let dial = CopiesDial {
            primary,
            asked: asked.clone(),
        };
        let first = dial.dial().await?;
        let Another { backoff, alarm, .. } = &*self.another;
        let (backoff, alarm) = (backoff.clone(), alarm.clone());
        let commands = Supervised::new(dial, Some(first), backoff, alarm, &*self.spawn);
        let waits = Waiting::waits(asked, silence, Arc::clone(&self.spawn));
        Ok(Self {
            client: Client::beside(&self.client, commands, silence),
            waits: Some(Arc::new(waits)),
            ..self.clone()
        })
    }
}
