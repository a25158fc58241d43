//! Lists that programs keep for operators, beside their queues.

mod list;
mod refusals;
mod workers;

pub(crate) use self::refusals::OwnRefusals;
pub use self::{
    list::{Listed, OperatorsList, OperatorsRecord, is_operators_list},
    refusals::RefusalRecord,
    workers::{WORKER_LIST, WorkerInfo, WorkerRecord, WorkerRegistration, workers},
};
