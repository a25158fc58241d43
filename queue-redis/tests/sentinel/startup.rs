//! Connecting by sentinels that are not up yet.

use std::time::Duration;

use real_redis::Server;

use super::{Test, patient::patient, url, watching};

const PATIENCE: Duration = Duration::from_secs(60);
/// Time for a try that fails.
const MOMENT: Duration = Duration::from_millis(300);

#[tokio::test]
async fn connecting_waits_for_sentinels_that_are_not_up_yet() -> Test {
    let primary = Server::builder().with_tcp().start()?;
    let sentinel = watching(&primary, 1)?.start()?;
    let builder = patient(&url(&[&sentinel]));
    sentinel.kill()?;
    let start = async {
        tokio::time::sleep(MOMENT).await;
        sentinel.start_again()
    };
    let waiting = builder.startup_timeout(PATIENCE).connect();
    let (backend, started) = tokio::join!(waiting, start);
    started?;
    backend?.ping().await?;
    Ok(())
}
