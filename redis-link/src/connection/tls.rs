//! TLS under a connection, by rustls.

mod failure;
#[cfg(test)]
mod tests;

use std::{fmt, sync::Arc};

use queue_core::{Error, ErrorKind, Result};
use redis::RedisResult;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_rustls::{
    TlsConnector,
    client::TlsStream,
    rustls::{
        ClientConfig, RootCertStore,
        crypto::ring,
        pki_types::{CertificateDer, PrivateKeyDer, ServerName, pem::PemObject},
    },
};

pub(super) use self::failure::reason;

/// The certificates that a client trusts and presents if the URL asks for TLS.
///
/// `rediss://` needs none of this if the server's certificate is signed by one of the system's roots, and is for the
/// host in the URL. TLS 1.2 and 1.3 are supported. The server's certificate is always checked: its signature, its dates
/// and its name. No setting turns this off; to use a self-signed certificate, trust it as a root.
///
/// ```no_run
/// # fn connector() -> Result<(), Box<dyn std::error::Error>> {
/// use std::sync::Arc;
/// use queue_core::TokioSpawn;
/// use redis_link::connection::{ServerConnector, Tls};
///
/// let tls = Tls::new()
///     .roots(std::fs::read("/etc/redis/ca.pem")?)
///     .identity(std::fs::read("/etc/redis/me.pem")?, std::fs::read("/etc/redis/me.key")?);
/// let spawn = Arc::new(TokioSpawn::default());
/// let connector = ServerConnector::with_tls("rediss://redis.example:6380", &tls, spawn)?;
/// # drop(connector);
/// # Ok(())
/// # }
/// ```
///
/// The program reads the files, and later changes to them have no effect. To use other certificates, connect again.
#[derive(Clone, Default)]
#[must_use = "these settings do nothing until a builder has them"]
pub struct Tls {
    roots: Option<Vec<u8>>,
    identity: Option<Identity>,
    server_name: Option<String>,
}

#[derive(Clone)]
struct Identity {
    certificates: Vec<u8>,
    key: Vec<u8>,
}

impl Tls {
    /// The system's roots, no client certificate, and the host's name from the URL.
    pub fn new() -> Self {
        Self::default()
    }

    /// Trusts only these certificates, in PEM: neither the system's roots, nor certificates of an earlier call.
    pub fn roots(mut self, pem: impl Into<Vec<u8>>) -> Self {
        self.roots = Some(pem.into());
        self
    }

    /// Presents a certificate to servers that ask for one. `certificates` is the certificate in PEM, followed by the
    /// certificates of its chain. `key` is its private key in PEM (PKCS#8, PKCS#1 or SEC1, not encrypted).
    pub fn identity(mut self, certificates: impl Into<Vec<u8>>, key: impl Into<Vec<u8>>) -> Self {
        self.identity = Some(Identity {
            certificates: certificates.into(),
            key: key.into(),
        });
        self
    }

    /// Expects the server's certificate to be for this name instead of the host in the URL. This is needed if the URL
    /// contains an address, or if a tunnel leads to the server.
    pub fn server_name(mut self, name: impl Into<String>) -> Self {
        self.server_name = Some(name.into());
        self
    }

    fn trusted(&self) -> Result<RootCertStore> {
        let Some(pem) = &self.roots else {
            return of_system();
        };
        let mut roots = RootCertStore::empty();
        for certificate in certificates("the roots", pem)? {
            roots.add(certificate).map_err(|error| {
                Error::invalid(format!(
                    "a certificate of the roots cannot be used: {error}"
                ))
            })?;
        }
        Ok(roots)
    }
}

impl fmt::Debug for Tls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Leaves out the key.
        f.debug_struct("Tls")
            .field("own_roots", &self.roots.is_some())
            .field("identity", &self.identity.is_some())
            .field("server_name", &self.server_name)
            .finish()
    }
}

/// The client's end of TLS, for any number of connections.
#[derive(Clone)]
pub(super) struct TlsClient {
    connector: TlsConnector,
    name: Option<ServerName<'static>>,
}

impl TlsClient {
    /// Reads the settings, and the system's roots if there are no others.
    pub(super) fn new(settings: Option<&Tls>) -> Result<Self> {
        let default = Tls::default();
        let settings = settings.unwrap_or(&default);
        let name = settings.server_name.as_ref().map(|name| {
            ServerName::try_from(name.clone()).map_err(|_| {
                Error::invalid(format!(
                    "the server's name {name:?}: give a host's name or an IP address"
                ))
            })
        });
        // A process-wide provider is for the program to choose.
        let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .map_err(|error| Error::new(ErrorKind::Internal, format!("TLS: {error}")))?
            .with_root_certificates(settings.trusted()?);
        let config = match &settings.identity {
            None => config.with_no_client_auth(),
            Some(identity) => {
                let chain = certificates("the identity", &identity.certificates)?;
                let key = PrivateKeyDer::from_pem_slice(&identity.key).map_err(|_| {
                    Error::invalid(
                        "the identity's key is no private key in PEM: PKCS#8, PKCS#1 and SEC1 are \
                         read, if they are not encrypted",
                    )
                })?;
                config.with_client_auth_cert(chain, key).map_err(|error| {
                    Error::invalid(format!(
                        "the identity cannot be used: {error}; its first certificate and its key \
                         belong together"
                    ))
                })?
            }
        };
        Ok(Self {
            connector: Arc::new(config).into(),
            name: name.transpose()?,
        })
    }

    /// Does the TLS handshake over a stream; the server must prove to be this host.
    pub(super) async fn shake_hands<S>(&self, stream: S, host: &str) -> RedisResult<TlsStream<S>>
    where
        S: AsyncRead + AsyncWrite + Unpin,
    {
        let name = match &self.name {
            Some(name) => name.clone(),
            // A certificate does not contain the interface of a link-local address.
            None => ServerName::try_from(host.split('%').next().unwrap_or_default().to_owned())
                .map_err(|_| failure::lasting(format!("no certificate can be for {host:?}")))?,
        };
        let shaken = self.connector.connect(name, stream).await;
        shaken.map_err(failure::in_handshake)
    }
}

/// Refuses nothing: TLS is built in.
pub(super) fn check_is_built_in(_scheme: &str) -> Result<()> {
    Ok(())
}

fn of_system() -> Result<RootCertStore> {
    let found = rustls_native_certs::load_native_certs();
    let mut roots = RootCertStore::empty();
    // Some systems contain certificates that no verifier accepts.
    let (added, _) = roots.add_parsable_certificates(found.certs);
    if added > 0 {
        return Ok(roots);
    }
    let why = found.errors.first().map(|error| format!(" ({error})"));
    Err(Error::new(
        ErrorKind::Configuration,
        format!(
            "this machine trusts no certificates{}: install its package ca-certificates, name a \
             file of them by SSL_CERT_FILE, or give your own by Tls::roots",
            why.unwrap_or_default()
        ),
    ))
}

/// The certificates in a PEM text.
fn certificates(whose: &str, pem: &[u8]) -> Result<Vec<CertificateDer<'static>>> {
    let read: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem).collect();
    let read = read.map_err(|error| {
        Error::invalid(format!(
            "the certificates of {whose} are no sound PEM: {error}"
        ))
    })?;
    if read.is_empty() {
        return Err(Error::invalid(format!(
            "{whose} hold no certificate: give PEM, which has a line -----BEGIN CERTIFICATE-----"
        )));
    }
    Ok(read)
}
