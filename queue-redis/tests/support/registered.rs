use real_redis::Server;

/// The number of processes registered at a queue's marker: these wait.
pub(crate) fn waiting(server: &Server, name: &str) -> usize {
    let mut connection = server.connect().expect("the server runs");
    let marker = format!("qk:{{{name}}}:arrivals");
    let mut count = redis::cmd("ZCOUNT");
    count.arg(marker).arg(0).arg("+inf");
    count.query(&mut connection).expect("it counts")
}
