use std::time::Duration;

use futures_util::FutureExt;
use rcgen::{CertificateParams, KeyPair};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt, duplex},
    time::{advance, timeout},
};
use tokio_rustls::{TlsAcceptor, rustls::ServerConfig};

use super::*;
use crate::connection::progress::{Progress, Watched};

const STEP: Duration = Duration::from_secs(1);

/// Both ends of TLS for one host.
fn ends(host: &str) -> (TlsClient, TlsAcceptor) {
    let key = KeyPair::generate().expect("a key");
    let params = CertificateParams::new([host.to_owned()]).expect("a name");
    let certificate = params.self_signed(&key).expect("a certificate");
    let settings = Tls::new().roots(certificate.pem());
    let provider = Arc::new(ring::default_provider());
    let key = PrivateKeyDer::try_from(key.serialize_der()).expect("a key");
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("versions")
        .with_no_client_auth()
        .with_single_cert(vec![certificate.der().clone()], key)
        .expect("a certificate");
    let client = TlsClient::new(Some(&settings)).expect("good settings");
    (client, Arc::new(config).into())
}

/// A record of 16 KiB takes long over a slow network, and TLS returns nothing of it before its end.
#[tokio::test(start_paused = true)]
async fn a_record_that_comes_slowly_is_progress() {
    let (client, server) = ends("redis.example");
    let progress = Arc::new(Progress::new());
    let (near, far) = duplex(512);
    let near = Watched::new(near, Arc::clone(&progress));
    let (near, far) = tokio::join!(
        client.shake_hands(near, "redis.example"),
        server.accept(far)
    );
    let (mut near, mut far) = (near.expect("it is trusted"), far.expect("a client"));
    let sent = tokio::spawn(async move {
        far.write_all(&[7; 1 << 14]).await.expect("a reader");
        far.flush().await.expect("a reader");
        far
    });
    let mut body = vec![0; 1 << 14];
    let mut read = Box::pin(near.read_exact(&mut body));
    let mut steps = 0;
    loop {
        advance(STEP).await;
        let before = progress.last();
        // One poll takes the bytes in the network's buffer.
        match (&mut read).now_or_never() {
            Some(done) => break assert_eq!(done.expect("all of it"), 1 << 14),
            None => assert!(progress.last() > before, "step {steps}"),
        }
        tokio::task::yield_now().await;
        steps += 1;
    }
    assert!(steps > 5, "{steps}");
    drop(timeout(STEP, sent).await.expect("it is sent"));
}
