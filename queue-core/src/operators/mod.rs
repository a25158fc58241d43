//! Lists that programs keep for operators, beside their queues.

mod asking;
mod list;
mod refusals;
mod times;
mod wishes;
mod workers;

pub(crate) use self::refusals::OwnRefusals;
pub use self::{
    asking::ask_worker,
    list::{Listed, OperatorsList, OperatorsRecord, is_operators_list},
    refusals::RefusalRecord,
    times::{JobTimes, TIMES_MINUTES, TimesHistogram, TimesMinute, TimesRecord, job_times},
    wishes::{WishRecord, WorkerWish},
    workers::{WORKER_LIST, WorkerInfo, WorkerRecord, WorkerRegistration, WorkerState, workers},
};
