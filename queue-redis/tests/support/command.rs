use real_redis::Server;

/// Has the server run this command.
pub(crate) fn command(server: &Server, words: &[&str]) -> redis::Value {
    let mut connection = server.connect().expect("the server runs");
    let mut command = redis::cmd(words[0]);
    command.arg(&words[1..]);
    command.query(&mut connection).expect("the server obeys")
}
