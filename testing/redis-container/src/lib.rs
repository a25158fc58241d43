//! A Redis or Valkey server in a container, for tests on a machine that has a Docker engine and no
//! `redis-server`.
//!
//! [`Container::start`] starts one from an image, and dropping it removes it. Its
//! [`url`](Container::url) is what a client connects to; with queue-kit, `queue_kit::connect(server.url())`.
//!
//! ```no_run
//! use redis_container::Container;
//!
//! # fn test() -> Result<(), Box<dyn std::error::Error>> {
//! let server = Container::start("redis:7.2")?;
//! println!("redis-cli -u {}", server.url());
//! # Ok(())
//! # }
//! ```
//!
//! # The engine
//!
//! It is the one that `DOCKER_HOST` names (`unix://` or `tcp://`), or the one behind the usual socket.
//! [testcontainers](https://docs.rs/testcontainers) talks to it; that crate's feature `ring`, turned on in
//! your own manifest, adds TLS to an engine on another machine. If no engine answers, the error says so;
//! nothing is skipped.
//!
//! # The program
//!
//! `redis-container IMAGE` does the same for a test in any language, also for a test that is killed; on
//! Unix. It writes the URL to its output, and removes the container at the end of its input, which the
//! kernel closes also when the test is killed. The crate `real-redis` starts it if
//! `QUEUE_TEST_REDIS=container` is set. If the program itself is killed, the container stays.

mod container;
mod engine;
mod error;
mod ready;

pub use self::{container::Container, error::ContainerError};
