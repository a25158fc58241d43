//! Pops that block, as pops that do not.

use std::time::Duration;

use bytes::Bytes;

use super::{Reply, Request, resp};

/// A pop that blocks.
pub(super) struct Blocking {
    /// The lists in the order in which the server looks at them, each with the pop of it.
    pub(super) pops: Vec<(Bytes, Vec<Bytes>)>,
    /// The time to block.
    pub(super) longest: Duration,
    names_its_list: bool,
}

impl Blocking {
    /// `BRPOP` or `BLPOP` with lists and a time, or `BRPOPLPUSH` with two lists and a time.
    pub(super) fn of(request: &Request) -> Option<Self> {
        let (verb, arguments) = request.words.split_first()?;
        let (time, lists) = arguments.split_last()?;
        let seconds: f64 = std::str::from_utf8(time).ok()?.parse().ok()?;
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
            pops,
            longest: Duration::try_from_secs_f64(seconds).ok()?,
            names_its_list,
        })
    }

    /// The reply of the pop of this list, as the blocking one gives it.
    pub(super) fn answer(&self, list: &Bytes, reply: Reply) -> Reply {
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
