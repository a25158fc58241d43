use std::net::Ipv4Addr;

use queue_core::TokioSpawn;
use real_redis::Server;
use tokio::{
    net::{TcpListener, TcpSocket},
    time::timeout,
};

use super::*;

/// The system gives up an unanswered connect only after more than this time.
const PATIENCE: Duration = Duration::from_secs(60);
const BRIEF: Duration = Duration::from_millis(300);

/// An address that answers no connect while this value lives: its accept queue is full.
struct Hole {
    address: SocketAddr,
    _listener: TcpListener,
    _queued: Vec<TcpStream>,
}

impl Hole {
    async fn dig() -> Self {
        let socket = TcpSocket::new_v4().expect("a socket");
        let any = (Ipv4Addr::LOCALHOST, 0).into();
        socket.bind(any).expect("a port is free");
        let listener = socket.listen(0).expect("it listens");
        let address = listener.local_addr().expect("its address");
        let mut queued = Vec::new();
        while let Ok(connected) = timeout(BRIEF, TcpStream::connect(address)).await {
            queued.push(connected.expect("there is room in the queue"));
        }
        Self {
            address,
            _listener: listener,
            _queued: queued,
        }
    }
}

async fn connects(url: &str, addresses: Vec<SocketAddr>) -> RedisResult<Link> {
    let connector = ServerConnector::new(url, Arc::new(TokioSpawn::default()));
    let connector = connector.expect("a good URL");
    let handshake = connector.login.handshake().await.expect("no provider");
    let connect = connector.connect_to(addresses, "dual", &handshake, Role::Commands);
    timeout(PATIENCE, connect)
        .await
        .expect("it ends before the system gives up")
}

#[tokio::test]
async fn a_host_is_reached_at_its_last_address_though_the_others_are_silent() {
    let server = Server::builder().with_tcp().start().expect("a server");
    let port = server.port().expect("it has a port");
    let hole = Hole::dig().await;
    // This server accepts clients and sends nothing.
    let mute = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))
        .await
        .expect("a port is free");
    let mute = mute
        .local_addr()
        .map(|address| (mute, address))
        .expect("its address");
    let sound = (Ipv4Addr::LOCALHOST, port).into();
    let addresses = vec![hole.address, mute.1, sound];
    let mut link = connects("redis://dual", addresses)
        .await
        .expect("one of them is sound");
    let pong = link.req_packed_command(&redis::cmd("PING")).await;
    assert_eq!(
        pong.expect("it answers"),
        redis::Value::SimpleString("PONG".to_owned())
    );
}

#[tokio::test]
async fn the_error_is_of_the_address_that_answered() {
    let server = Server::builder().with_tcp().with_password("right").start();
    let server = server.expect("a server");
    let sound = (Ipv4Addr::LOCALHOST, server.port().expect("it has a port")).into();
    let closed = (Ipv4Addr::LOCALHOST, 1).into();
    for addresses in [vec![closed, sound], vec![sound, closed]] {
        let error = connects("redis://:wrong@dual", addresses).await;
        let error = error.expect_err("the password is wrong");
        assert_eq!(error.code(), Some("WRONGPASS"), "{error}");
    }
    let nowhere = connects("redis://dual", Vec::new())
        .await
        .expect_err("no address");
    assert!(
        nowhere.to_string().contains("\"dual\" has no address"),
        "{nowhere}"
    );
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_scope_id_reaches_the_system() {
    let found = lookup_host(("fe80::1%lo", 1))
        .await
        .expect("it is an address");
    let scopes = found.map(|address| match address {
        SocketAddr::V6(address) => address.scope_id(),
        SocketAddr::V4(_) => 0,
    });
    assert_eq!(scopes.collect::<Vec<_>>(), [1]);
}
