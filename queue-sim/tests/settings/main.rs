//! Every public setting that takes a duration or a count gets its smallest and its largest value. The
//! value is refused as `Invalid`, or it serves; nothing panics, wraps or spins.

#![cfg(unix)]

mod calls;
mod queues;
mod redis;
mod row;
mod schedules;
mod simulator;
mod worker;

use self::row::Row;

fn rows() -> Vec<Row> {
    let parts = [
        queues::rows(),
        calls::rows(),
        worker::rows(),
        redis::rows(),
        schedules::rows(),
        simulator::rows(),
    ];
    parts.into_iter().flatten().collect()
}

#[test]
fn each_setting_refuses_its_extreme_values_or_serves_with_them() {
    let wrong: Vec<String> = rows().iter().flat_map(Row::mistakes).collect();
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}
