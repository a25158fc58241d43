//! Certificates, made for a test and kept nowhere.

use rcgen::{
    BasicConstraints, CertificateParams, DistinguishedName, DnType, IsCa, Issuer, KeyPair,
    date_time_ymd,
};

/// A certificate authority.
pub(crate) struct Authority {
    issuer: Issuer<'static, KeyPair>,
    /// In PEM.
    pub(crate) certificate: String,
}

/// A certificate and its key, in PEM.
pub(crate) struct Issued {
    pub(crate) certificate: String,
    pub(crate) key: String,
}

impl Authority {
    pub(crate) fn new() -> Self {
        let mut params = CertificateParams::default();
        params.distinguished_name = named("an authority");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().expect("a key");
        let certificate = params.self_signed(&key).expect("a certificate").pem();
        Self {
            issuer: Issuer::new(params, key),
            certificate,
        }
    }

    /// A certificate for these hosts.
    pub(crate) fn issue(&self, hosts: &[&str]) -> Issued {
        self.sign(&params(hosts))
    }

    /// A certificate for this machine.
    pub(crate) fn issue_here(&self) -> Issued {
        self.issue(&["localhost", "127.0.0.1"])
    }

    /// An expired certificate for this machine.
    pub(crate) fn issue_expired(&self) -> Issued {
        let mut params = params(&["127.0.0.1"]);
        params.not_after = date_time_ymd(2001, 1, 1);
        self.sign(&params)
    }

    /// A certificate for this machine that is not yet valid.
    pub(crate) fn issue_early(&self) -> Issued {
        let mut params = params(&["127.0.0.1"]);
        params.not_before = date_time_ymd(4000, 1, 1);
        self.sign(&params)
    }

    fn sign(&self, params: &CertificateParams) -> Issued {
        let key = KeyPair::generate().expect("a key");
        let certificate = params.signed_by(&key, &self.issuer).expect("a signature");
        Issued {
            certificate: certificate.pem(),
            key: key.serialize_pem(),
        }
    }
}

fn params(hosts: &[&str]) -> CertificateParams {
    let hosts: Vec<String> = hosts.iter().map(|host| (*host).to_owned()).collect();
    let mut params = CertificateParams::new(hosts).expect("hosts' names");
    params.distinguished_name = named("a host");
    params
}

/// The issuer's name and the holder's differ: otherwise some libraries treat the certificate as
/// self-signed.
fn named(name: &str) -> DistinguishedName {
    let mut distinguished = DistinguishedName::new();
    distinguished.push(DnType::CommonName, name);
    distinguished
}
