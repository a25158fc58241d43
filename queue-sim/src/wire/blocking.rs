//! Plays blocking pops as pops that do not block: the server itself must not block, because all wires share one
//! connection.

use std::time::Duration;

use bytes::Bytes;
use tokio::time::Instant;

use super::{Reply, Request, network::Network, resp, server};

/// A pop that blocks.
pub(super) struct Blocking {
    request: Request,
    /// The lists in the order in which the server reads them, each with its pop.
    pops: Vec<(Bytes, Vec<Bytes>)>,
    /// The end of the time to block.
    pub(super) deadline: Instant,
    names_its_list: bool,
}

impl Blocking {
    /// `BRPOP` or `BLPOP` with lists and a time, or `BRPOPLPUSH` with two lists and a time. The time
    /// to block begins.
    pub(super) fn of(request: Request) -> Option<Self> {
        let (verb, arguments) = request.words.split_first()?;
        let (time, lists) = arguments.split_last()?;
        let seconds: f64 = std::str::from_utf8(time).ok()?.parse().ok()?;
        let longest = Duration::try_from_secs_f64(seconds).ok()?;
        let pop = Bytes::copy_from_slice(verb.get(1..)?);
        let names_its_list = pop.len() == "RPOP".len();
        let pops = if names_its_list {
            let pop = |list: &Bytes| (list.clone(), vec![pop.clone(), list.clone()]);
            lists.iter().map(pop).collect()
        } else {
            let words = [&[pop], lists].concat();
            vec![(lists.first()?.clone(), words)]
        };
        Some(Self {
            request,
            pops,
            deadline: Instant::now() + longest,
            names_its_list,
        })
    }

    /// Has the server pop from the first list that is not empty. The reply is nothing if all are empty.
    pub(super) async fn pop(&self, network: &Network) -> Option<Reply> {
        for (list, pop) in &self.pops {
            let pop = Request {
                words: pop.clone(),
                ..self.request.clone()
            };
            let reply = server::execute(network, pop).await?;
            if !reply.is_nil() {
                return Some(self.answer(list, reply));
            }
        }
        Some(Reply(b"_\r\n".to_vec()))
    }

    /// The reply of this list's pop, in the form of a blocking pop's reply.
    fn answer(&self, list: &Bytes, reply: Reply) -> Reply {
        if !self.names_its_list {
            return reply;
        }
        let mut whole = Vec::new();
        resp::head(b'*', 2, &mut whole);
        resp::bulk(list, &mut whole);
        whole.extend_from_slice(&reply.0);
        Reply(whole)
    }
}
