//! The meanings of TLS failures, and their remedies.

use std::io;

use redis::{ErrorKind, RedisError};
use tokio_rustls::rustls::{AlertDescription, CertificateError, Error};

/// The reason why a new connection failed. A server may refuse the client's certificate only after the handshake.
pub(in crate::connection) fn reason(error: io::Error) -> RedisError {
    let tls = error.get_ref().and_then(|inner| inner.downcast_ref());
    match tls.and_then(lasts) {
        Some(text) => lasting(text),
        None => error.into(),
    }
}

/// The reason why the handshake failed.
pub(super) fn in_handshake(error: io::Error) -> RedisError {
    if error.kind() == io::ErrorKind::UnexpectedEof {
        let text = "the other side ended the TLS handshake: it has no room for another client, is \
                    just ending, or speaks no TLS on this port";
        return io::Error::new(io::ErrorKind::UnexpectedEof, text).into();
    }
    reason(error)
}

/// An error that stays until a person acts.
pub(super) fn lasting(text: String) -> RedisError {
    (ErrorKind::InvalidClientConfig, "TLS", text).into()
}

/// The text for a failure that would come again.
fn lasts(error: &Error) -> Option<String> {
    Some(match error {
        Error::InvalidCertificate(error) => certificate(error),
        Error::AlertReceived(alert) => alerted(*alert)?,
        Error::InvalidMessage(_) => {
            "what answers there speaks no TLS: name its TLS port, or use redis:// for this one"
                .to_owned()
        }
        Error::PeerIncompatible(_) | Error::NoCertificatesPresented => {
            format!("it offers no TLS that is safe (1.2 or 1.3, with a certificate): {error}")
        }
        _ => return None,
    })
}

/// Why the server's certificate is not accepted.
fn certificate(error: &CertificateError) -> String {
    let (what, way_out) = match error {
        // A bad signature means that another root has the name of a trusted one.
        CertificateError::UnknownIssuer | CertificateError::BadSignature => (
            "is signed by none of the trusted roots".to_owned(),
            "trust the one that signed it by Tls::roots, or install that one on this machine, or \
             name its file by SSL_CERT_FILE",
        ),
        CertificateError::Expired | CertificateError::ExpiredContext { .. } => (
            "has expired by this machine's clock".to_owned(),
            "renew it, or set the clock",
        ),
        CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => (
            "is not valid yet by this machine's clock".to_owned(),
            "set the clock, or give the server another",
        ),
        CertificateError::NotValidForNameContext {
            expected,
            presented,
        } => {
            let expected = expected.to_str();
            let named = match presented.as_slice() {
                [] => "for nobody".to_owned(),
                names => format!("for {}", bare(names).join(", ")),
            };
            (
                format!("is {named}, and not for {expected:?}"),
                "connect by a name that it has, or expect one by Tls::server_name",
            )
        }
        CertificateError::NotValidForName => (
            "is for another name".to_owned(),
            "connect by a name that it has, or expect one by Tls::server_name",
        ),
        CertificateError::Revoked => ("is revoked".to_owned(), "give the server another"),
        _ => (
            format!("cannot be used ({error})"),
            "give the server another",
        ),
    };
    format!("its certificate {what}: {way_out}")
}

/// The names in a certificate, which are given as `DnsName("redis.example")`.
fn bare(names: &[String]) -> Vec<&str> {
    let inside = |name| str::split_once(name, '(').map(|(_, inside)| inside);
    let bare = |name| inside(name).map_or(name, |inside| inside.trim_matches(['"', ')']));
    names.iter().map(|name| bare(name)).collect()
}

/// The reason why the server closed the connection.
fn alerted(alert: AlertDescription) -> Option<String> {
    Some(match alert {
        AlertDescription::CertificateRequired | AlertDescription::NoCertificate => {
            "it asks for a client's certificate: give one by Tls::identity".to_owned()
        }
        AlertDescription::BadCertificate
        | AlertDescription::UnsupportedCertificate
        | AlertDescription::CertificateRevoked
        | AlertDescription::CertificateExpired
        | AlertDescription::CertificateUnknown
        | AlertDescription::UnknownCA
        | AlertDescription::DecryptError
        | AlertDescription::AccessDenied => format!(
            "it does not accept this client's certificate ({alert:?}): give one by Tls::identity \
             that its own roots have signed"
        ),
        AlertDescription::HandshakeFailure
        | AlertDescription::ProtocolVersion
        | AlertDescription::InsufficientSecurity => format!(
            "it refuses this client's TLS ({alert:?}): it has to speak 1.2 or 1.3, and may ask for \
             a client's certificate (Tls::identity)"
        ),
        AlertDescription::UnrecognisedName => {
            "it has no certificate for the host's name: expect another by Tls::server_name"
                .to_owned()
        }
        _ => return None,
    })
}
