//! The state that servers report, and the faults of a primary and its replica.

use queue_core::QueueKind;
use real_redis::{Cluster, Server};

use crate::ground::administer;

/// A field of this section of `INFO`. Sentinels before 7.0 may cut the connection that asks.
fn info(server: &Server, section: &str, field: &str) -> Option<String> {
    server.info(section, field).ok().flatten()
}

pub(super) fn figure(server: &Server, section: &str, field: &str) -> u64 {
    let value = info(server, section, field);
    value.expect("a figure").parse().expect("a number")
}

pub(super) fn is_primary(server: &Server) -> bool {
    info(server, "replication", "role").as_deref() == Some("master")
}

pub(super) fn follows(replica: &Server, primary: &Server) -> bool {
    let reports =
        |field: &str, value: &str| info(replica, "replication", field).as_deref() == Some(value);
    let port = primary.port().expect("it has a port").to_string();
    reports("master_port", &port) && reports("master_link_status", "up")
}

/// The slot of the keys of the queue of this kind.
pub(super) fn slot_of(cluster: &Cluster, kind: QueueKind) -> u16 {
    let key = format!("qk:{{{}}}:meta", kind.as_str());
    let slot = cluster.servers()[0].ask(&["CLUSTER", "KEYSLOT", &key]);
    slot.expect("a slot")
}

/// Waits until the replica has all that this primary has answered so far.
pub(super) fn copy_all(primary: &Server) {
    let mut connection = primary.connect().expect("the server runs");
    // WAIT counts from the last write of its own connection. PUBLISH serves as that write, because it
    // reaches replicas and has no slot.
    let mut mark = redis::cmd("PUBLISH");
    mark.arg("mark")
        .arg("")
        .exec(&mut connection)
        .expect("it publishes");
    let mut wait = redis::cmd("WAIT");
    let copies = wait.arg(1).arg(20_000).query::<u32>(&mut connection);
    assert_eq!(copies.expect("it waits"), 1, "the replica is connected");
}

/// Cuts the replica off from this primary, which is frozen from now on.
pub(super) fn cut_off(replica: &Server, primary: &Server) {
    // This comes first, so that the replica does not connect again.
    replica.freeze().expect("it runs");
    administer(primary, "CLIENT KILL TYPE replica");
}
