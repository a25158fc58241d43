//! Tries all orders of the calls. The search is Wing and Gong's (1993), and remembers the places
//! that it has been to (Lowe 2017).

use std::{
    collections::HashSet,
    hash::{DefaultHasher, Hash, Hasher},
};

use queue_core::{
    MessageId, QueueConfig, Timestamp,
    call::{Answer, Call},
};

use super::{cursors::Cursors, order::Steps};
use crate::{
    check::{branch::Branch, compare::agree},
    model::Model,
};

/// The calls to order.
#[derive(Debug)]
pub(super) struct Search<'a> {
    config: &'a QueueConfig,
    items: Vec<SearchItem<'a>>,
    /// Whether no call may have an earlier time than the call before it.
    in_time: bool,
}

/// The result of a search.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Searched {
    /// There is an order.
    Found,
    /// There is no order.
    Impossible,
    /// The search spent its budget first.
    Spent,
}

/// A call to be placed.
#[derive(Debug)]
struct SearchItem<'a> {
    call: &'a Call,
    /// `None` if the caller got no answer.
    answer: Option<&'a Answer>,
    /// The items that its answer may leave out.
    gone: &'a [MessageId],
    /// The first and the last place in the run's order at which the call may have taken effect.
    from: u64,
    to: u64,
    /// The backend's times at which it may have taken effect.
    times: Vec<Timestamp>,
    /// Whether the call surely took effect. If the backend executed a call more than once, the executions beside the
    /// answering one may be steps of a verb that is not atomic.
    must: bool,
}

/// A place in the search: the calls placed so far, and the next call to try.
struct Node {
    done: Vec<bool>,
    model: Model,
    cursors: Cursors,
    time: Timestamp,
    /// The latest beginning of the placed calls.
    latest_from: u64,
    next: usize,
}

impl<'a> Search<'a> {
    pub(super) fn of(config: &'a QueueConfig, branch: &'a Branch<'a>, steps: &Steps) -> Self {
        let mut items: Vec<SearchItem<'a>> = Vec::new();
        let mut met = vec![false; branch.calls.len()];
        for step in &steps.0 {
            let done = &branch.calls[step.call];
            let first = !std::mem::replace(&mut met[step.call], true);
            let answer = done.answer.filter(|_| first);
            let (from, to) = match (answer, &done.record.ended) {
                (Some(_), Some(ended)) => (done.record.began.order, ended.at.order),
                _ => (step.order, step.order),
            };
            let times = match answer {
                Some(_) => done.executed.iter().map(|moment| moment.at).collect(),
                None => vec![step.at],
            };
            items.push(SearchItem {
                call: &done.record.call,
                answer,
                gone: &done.gone,
                from,
                to,
                times,
                must: answer.is_some() || done.executed.len() == 1,
            });
        }
        let in_time = steps.are_in_time();
        Self {
            config,
            items,
            in_time,
        }
    }

    /// Looks for an order, in at most the given number of steps.
    pub(super) fn run(&self, budget: u64) -> Searched {
        let mut left = budget;
        let mut seen = HashSet::new();
        let mut path = vec![Node {
            done: vec![false; self.items.len()],
            model: Model::new(self.config),
            cursors: Cursors::default(),
            time: Timestamp::default(),
            latest_from: 0,
            next: 0,
        }];
        while let Some(node) = path.last_mut() {
            let candidate = node.next;
            if candidate == 0 && self.is_complete(&node.done) {
                return Searched::Found;
            }
            if candidate == self.items.len() {
                path.pop();
                continue;
            }
            node.next += 1;
            if !self.may_be_next(node, candidate) {
                continue;
            }
            let node = &path[path.len() - 1];
            let mut children = Vec::new();
            for time in &self.items[candidate].times {
                if left == 0 {
                    return Searched::Spent;
                }
                left -= 1;
                if let Some(child) = self.step(node, candidate, *time)
                    && seen.insert(digest(&child))
                {
                    children.push(child);
                }
            }
            path.append(&mut children);
        }
        Searched::Impossible
    }

    fn is_complete(&self, done: &[bool]) -> bool {
        let items = self.items.iter().zip(done);
        items.fold(true, |all, (item, done)| all && (*done || !item.must))
    }

    /// Whether the candidate may be the next call. No call that must still come may have ended
    /// before the candidate began, and the candidate may not have ended before a placed call began.
    fn may_be_next(&self, node: &Node, candidate: usize) -> bool {
        let item = &self.items[candidate];
        if node.done[candidate] || item.to < node.latest_from {
            return false;
        }
        let others = self.items.iter().zip(&node.done);
        let mut undone = others.filter(|(other, done)| !**done && other.must);
        undone.all(|(other, _)| other.to >= item.from)
    }

    fn step(&self, node: &Node, candidate: usize, time: Timestamp) -> Option<Node> {
        if self.in_time && time < node.time {
            return None;
        }
        let item = &self.items[candidate];
        let mut model = node.model.clone();
        let mut cursors = node.cursors.clone();
        let known = cursors.known(item.call);
        let expected = model.apply(time, known.as_deref().unwrap_or(item.call));
        if let (Some(answer), Some(_)) = (item.answer, known) {
            if !agree(item.call, answer, &expected, &model, item.gone) {
                return None;
            }
            if let Ok(expected) = &expected {
                cursors.note(item.call, answer, expected);
            }
        }
        let mut done = node.done.clone();
        done[candidate] = true;
        Some(Node {
            done,
            model,
            cursors,
            time,
            latest_from: node.latest_from.max(item.from),
            next: 0,
        })
    }
}

/// A digest of the search's place, in 128 bits. A collision is less likely than a failure of the
/// memory that compares them.
fn digest(node: &Node) -> (u64, u64) {
    let mut hasher = DefaultHasher::new();
    (&node.done, &node.model, &node.cursors).hash(&mut hasher);
    (node.time, node.latest_from).hash(&mut hasher);
    let first = hasher.finish();
    first.hash(&mut hasher);
    (first, hasher.finish())
}
