//! Confirms changes that the calls of one handle have made.

use std::{future::Future, pin::Pin, sync::Arc};

use async_trait::async_trait;
use queue_core::{Confirmer, Copies, Result};
use redis_link::Client;

/// Confirms the calls of one handle.
#[derive(Debug)]
pub(super) struct HandleConfirmer {
    pub(super) client: Client,
    /// A key of the queue that nothing else uses.
    pub(super) key: Arc<str>,
}

#[async_trait]
impl Confirmer for HandleConfirmer {
    async fn confirm<'a>(
        &'a self,
        call: Pin<Box<dyn Future<Output = Result<()>> + Send + 'a>>,
    ) -> Result<Copies> {
        let route = self.client.route().await?;
        call.await?;
        Ok(self.client.copies(route, &self.key).await)
    }
}
