//! Connects a backend where tokio's clock is paused.

use async_trait::async_trait;
use queue_redis::{Connector, Link, Role};
use real_redis::VirtualClient;
use redis::RedisResult;

#[derive(Debug, Clone)]
pub(crate) struct VirtualConnector(VirtualClient);

impl VirtualConnector {
    pub(crate) fn new(url: &str) -> RedisResult<Self> {
        VirtualClient::new(url).map(Self)
    }
}

#[async_trait]
impl Connector for VirtualConnector {
    async fn connect(&self, role: Role) -> RedisResult<Link> {
        if role != Role::Waiter {
            return self.0.connect().map(Link::new);
        }
        let (connection, pushes) = self.0.listen()?;
        Ok(Link::new(connection).with_pushes(pushes))
    }

    fn address(&self) -> String {
        "a server in virtual time".to_owned()
    }
}
