//! Asking a running worker to be quiet, to end, or to go on.

use std::time::Duration;

use super::{Listed, OperatorsList, WishRecord, WorkerRecord, WorkerWish, workers::is_gone};
use crate::{Backend, Error, Result};

/// Asks the worker whose record has this key to do something. Returns its record.
///
/// A worker that registers obeys at its next beat, within ten seconds. A worker has a key of its own in each run, so a wish
/// never reaches the next run.
///
/// The wish is a record of the list `qk-wishes`. The worker looks there only if its own record was replaced since its last
/// beat, as this call does. So a worker without a wish makes no call more. A user who may push to `qk-workers` and
/// `qk-wishes` may stop workers: with rights by queue, give programs no right to push to `qk-wishes`.
///
/// # Errors
///
/// `Invalid` if no worker with this key is listed, or if it is gone. Errors of the backend: after one, the worker may have
/// been asked, and the call can be repeated.
pub async fn ask_worker(
    backend: &dyn Backend,
    key: &str,
    wish: WorkerWish,
) -> Result<WorkerRecord> {
    let listed = OperatorsList::<WorkerRecord>::read(backend).await?;
    let is_asked = |one: &Listed<WorkerRecord>| !key.is_empty() && one.record.key == key;
    let found = listed.into_iter().find(is_asked);
    let Some(found) = found.filter(|one| !is_gone(one)) else {
        let message =
            format!("no running worker has the key `{key}`: it has ended, or was started again");
        return Err(Error::invalid(message));
    };
    let record = WishRecord {
        worker: key.to_owned(),
        wish,
    };
    let wishes = OperatorsList::<WishRecord>::open(backend).await?;
    let _listed = wishes.write(&[(key.to_owned(), record)]).await?;
    let mut asked = found.record;
    asked.asked = Some(wish);
    // If the worker ends meanwhile, nobody replaces this record: it ends soon.
    let workers = OperatorsList::<WorkerRecord>::open(backend).await?;
    let soon = Duration::from_millis(asked.next_beat_ms).saturating_mul(3);
    let soon = soon.max(Duration::from_secs(1));
    let _listed = workers
        .write_for(&[(key.to_owned(), asked.clone())], soon)
        .await?;
    Ok(asked)
}
