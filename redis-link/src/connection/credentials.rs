//! Logins that may change while a backend lives.

use std::{fmt, future::Future, io, sync::Arc};

use async_trait::async_trait;
use queue_core::{Error, Result};
use redis::{ErrorKind, RedisConnectionInfo, RedisError, RedisResult};

/// A password and its user.
#[derive(Clone, PartialEq, Eq)]
pub struct Credentials {
    username: Option<String>,
    password: String,
}

impl Credentials {
    /// The password of the user in the URL, or of the user `default` if the URL names no user.
    pub fn password(password: impl Into<String>) -> Self {
        Self {
            username: None,
            password: password.into(),
        }
    }

    /// A user and its password.
    pub fn user(username: impl Into<String>, password: impl Into<String>) -> Self {
        Self {
            username: Some(username.into()),
            password: password.into(),
        }
    }

    fn put_into(self, handshake: RedisConnectionInfo) -> RedisConnectionInfo {
        let handshake = handshake.set_password(self.password);
        match self.username {
            Some(username) => handshake.set_username(username),
            None => handshake,
        }
    }
}

impl fmt::Debug for Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Leaves out the password.
        f.debug_struct("Credentials")
            .field("username", &self.username)
            .finish_non_exhaustive()
    }
}

/// Provides the login of each new connection, so that a password or a token may change while a backend lives.
///
/// A closure is a provider, too: `|| async { Ok(Credentials::password(read_secret().await?)) }`.
///
/// Every connection asks for its login when it opens. If the server refuses a login, the connection asks once more, and
/// retries if it gets a different login. After that, the backend retries as after any failed connect. An open
/// connection keeps its login. If the server closes a user's connections when a token expires, they are reopened with
/// the next token.
///
/// The connect timeout bounds each call, and may drop its future. A permanent error (such as `Configuration`) fails
/// a connect at once; a transient one is an outage.
#[async_trait]
pub trait CredentialsProvider: Send + Sync + 'static {
    /// The login to a server, or to a node of a cluster.
    ///
    /// # Errors
    ///
    /// Any reason why the provider has no login.
    async fn credentials(&self) -> Result<Credentials>;

    /// The login to a sentinel. `None`, the default, uses the URL's parameters.
    ///
    /// # Errors
    ///
    /// The errors of [`credentials`](Self::credentials).
    async fn sentinel_credentials(&self) -> Result<Option<Credentials>> {
        Ok(None)
    }
}

#[async_trait]
impl<F, Fut> CredentialsProvider for F
where
    F: Fn() -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Result<Credentials>> + Send + 'static,
{
    async fn credentials(&self) -> Result<Credentials> {
        self().await
    }
}

/// How to log in.
#[derive(Clone)]
pub(super) struct Login {
    /// With the URL's login.
    handshake: RedisConnectionInfo,
    provider: Option<Arc<dyn CredentialsProvider>>,
    /// Whether the login is for sentinels instead of servers.
    is_sentinels: bool,
}

impl Login {
    /// The login in the URL.
    pub(super) const fn of_url(handshake: RedisConnectionInfo) -> Self {
        Self {
            handshake,
            provider: None,
            is_sentinels: false,
        }
    }

    pub(super) fn by(mut self, provider: Arc<dyn CredentialsProvider>, is_sentinels: bool) -> Self {
        self.provider = Some(provider);
        self.is_sentinels = is_sentinels;
        self
    }

    pub(super) fn database(&self) -> i64 {
        self.handshake.db()
    }

    /// The greeting of a new connection.
    pub(super) async fn handshake(&self) -> RedisResult<RedisConnectionInfo> {
        let Some(provider) = &self.provider else {
            return Ok(self.handshake.clone());
        };
        let credentials = match self.is_sentinels {
            true => provider.sentinel_credentials().await,
            false => provider.credentials().await.map(Some),
        };
        match credentials {
            Ok(Some(credentials)) => Ok(credentials.put_into(self.handshake.clone())),
            Ok(None) => Ok(self.handshake.clone()),
            Err(error) => Err(unknown(&error)),
        }
    }

    /// The greeting after a server refused `refused`, if the provider returns a different one by now.
    pub(super) async fn another(
        &self,
        refused: &RedisConnectionInfo,
        why: &RedisError,
    ) -> RedisResult<Option<RedisConnectionInfo>> {
        if self.provider.is_none() || !is_of_login(why) {
            return Ok(None);
        }
        let next = self.handshake().await?;
        let is_same =
            next.username() == refused.username() && next.password() == refused.password();
        Ok((!is_same).then_some(next))
    }
}

/// Whether a server refused a login, not something else.
fn is_of_login(error: &RedisError) -> bool {
    error.kind() == ErrorKind::AuthenticationFailed
        || matches!(error.code(), Some("NOAUTH" | "WRONGPASS"))
}

fn unknown(error: &Error) -> RedisError {
    let text = format!("the provider of credentials failed: {error}");
    if error.is_transient() {
        return io::Error::other(text).into();
    }
    (ErrorKind::InvalidClientConfig, "credentials", text).into()
}
