//! Logins to sentinels and to servers that change while a backend lives.

use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use queue_core::Result;
use queue_redis::{Credentials, CredentialsProvider};
use real_redis::Server;
use tokio::time::timeout;

use super::{Test, patient::patient, until::PATIENCE, url, watching};

/// The passwords at present.
#[derive(Debug, Clone)]
struct Vault {
    server: Arc<Mutex<&'static str>>,
    sentinel: &'static str,
}

#[async_trait]
impl CredentialsProvider for Vault {
    async fn credentials(&self) -> Result<Credentials> {
        let password = *self.server.lock().expect("no panic");
        Ok(Credentials::password(password))
    }

    async fn sentinel_credentials(&self) -> Result<Option<Credentials>> {
        Ok(Some(Credentials::user("default", self.sentinel)))
    }
}

#[tokio::test]
async fn a_provider_gives_the_logins_of_sentinels_and_of_servers() -> Test {
    let primary = Server::builder().with_tcp().with_password("one").start()?;
    let sentinel = watching(&primary, 1)?.with_password("watch").start()?;
    let vault = Vault {
        server: Arc::new(Mutex::new("one")),
        sentinel: "watch",
    };
    let builder = patient(&url(&[&sentinel]));
    let backend = builder.credentials(vault.clone()).connect().await?;
    backend.ping().await?;
    let mut admin = primary.connect()?;
    *vault.server.lock().expect("no panic") = "two";
    for words in [
        ["CONFIG", "SET", "requirepass", "two"].as_slice(),
        &["CLIENT", "KILL", "TYPE", "normal"],
    ] {
        redis::cmd(words[0]).arg(&words[1..]).exec(&mut admin)?;
    }
    let reached = async { while backend.ping().await.is_err() {} };
    timeout(PATIENCE, reached).await?;
    Ok(())
}
