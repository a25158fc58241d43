//! Confirms changes that the calls of one handle have made.

use std::{future::Future, pin::Pin, sync::Arc};

use async_trait::async_trait;
use queue_core::{Copies, Error, Result, with_sources};

use crate::{client::Client, waits::Moment};

/// Confirms the calls of one handle.
#[derive(Debug)]
pub struct Confirmer {
    /// The client of the handle.
    pub client: Client,
    /// A key of the queue that nothing else uses.
    pub key: Arc<str>,
}

#[async_trait]
impl queue_core::Confirmer for Confirmer {
    async fn confirm<'a>(
        &'a self,
        call: Pin<Box<dyn Future<Output = Result<()>> + Send + 'a>>,
    ) -> Result<Copies> {
        let line = self.client.line().await?;
        call.await?;
        let unknown = |reason: &str| Ok(Copies::Unknown(reason.to_owned()));
        if !self.client.is_still_on(&line) {
            return unknown("the connection ended before there was a confirmation");
        }
        let Some(waits) = line.node.waits() else {
            return unknown("its connection waits for nothing");
        };
        let moment = Moment::now(line.channel, Arc::clone(&self.key));
        let copies = waits.submit(&[moment]).await;
        match copies.map(|mut copies| copies.pop()) {
            Ok(Some(copies)) => Ok(copies),
            Ok(None) => unknown(&Error::unanswered().to_string()),
            Err(error) => unknown(&with_sources(&error)),
        }
    }
}
