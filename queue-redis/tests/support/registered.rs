use real_redis::Server;

/// The number of processes registered at a queue's marker: these wait.
pub(crate) fn waiting(server: &Server, name: &str) -> usize {
    let marker = format!("qk:{{{name}}}:arrivals");
    let count = server.ask(&["ZCOUNT", &marker, "0", "+inf"]);
    count.expect("it counts")
}
