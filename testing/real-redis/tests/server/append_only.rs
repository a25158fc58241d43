//! The writes that the append-only file keeps when its server is killed.

use std::{
    fs::OpenOptions,
    io,
    path::{Path, PathBuf},
};

use real_redis::{Aof, Server};
use redis::Commands;

use super::Test;

#[test]
fn an_append_only_file_survives_a_crash() -> Test {
    for aof in [Aof::BySystem, Aof::Always] {
        let server = Server::builder().with_aof(aof).with_tcp().start()?;
        let (url, port) = (server.url(), server.port());
        server.connect()?.set::<_, _, ()>("key", "value")?;
        let first = server.process_id();
        server.kill()?;
        assert_eq!(server.process_id(), None);
        assert!(server.connect().is_err());
        server.start_again()?;
        assert_ne!(server.process_id(), first);
        assert_eq!((server.url(), server.port()), (url, port));
        let value: String = server.connect()?.get("key")?;
        assert_eq!(value, "value");
    }
    Ok(())
}

/// If a server dies during a script, all of the script's writes are there or none, after any number of
/// restarts.
#[test]
fn a_torn_script_leaves_nothing_after_restarts() -> Test {
    // The file ends with EXEC, which has 14 bytes: within it, after the second SET, and within that.
    for torn in [1, 14, 20] {
        let server = Server::builder().with_aof(Aof::Always).start()?;
        server.connect()?.set::<_, _, ()>("before", "value")?;
        let script = "redis.call('SET', 'one', 'x') redis.call('SET', 'two', 'x')";
        let mut call = redis::cmd("EVAL");
        call.arg(script)
            .arg(0)
            .query::<()>(&mut server.connect()?)?;
        server.kill()?;
        cut(&grown(server.folder()), torn)?;
        server.start_again()?;
        server.connect()?.set::<_, _, ()>("after", "value")?;
        for _ in 0..2 {
            server.kill()?;
            server.start_again()?;
            let mut left: Vec<String> = server.connect()?.keys("*")?;
            left.sort();
            assert_eq!(left, ["after", "before"], "torn by {torn} bytes");
        }
    }
    Ok(())
}

/// The append-only file that a server in this folder writes to.
fn grown(folder: &Path) -> PathBuf {
    let of_old = folder.join("appendonly.aof");
    if of_old.exists() {
        return of_old;
    }
    folder.join("appendonlydir/appendonly.aof.1.incr.aof")
}

/// Cuts `bytes` bytes off a file's end, as a crash in the middle of a write does.
fn cut(file: &Path, bytes: u64) -> io::Result<()> {
    let file = OpenOptions::new().write(true).open(file)?;
    file.set_len(file.metadata()?.len() - bytes)
}
