//! Which node has which slot, as far as this process knows.

use std::{collections::BTreeMap, sync::Arc};

use super::slots::{NodeAddress, Range};
use crate::node::Node;

/// The nodes of a cluster, and which of them has which slots.
#[derive(Debug, Default)]
pub(super) struct Table {
    /// In order, without overlaps.
    ranges: Vec<(u16, u16, Arc<Node>)>,
    /// Slots that single replies named since the ranges were read.
    moved: BTreeMap<u16, Arc<Node>>,
    nodes: BTreeMap<NodeAddress, Arc<Node>>,
}

impl Table {
    /// The node to ask for a slot: its owner, or any node if no owner is known, because each node can redirect.
    pub(super) fn owner(&self, slot: u16) -> Option<&Arc<Node>> {
        if let Some(node) = self.moved.get(&slot) {
            return Some(node);
        }
        let after = self.ranges.partition_point(|(first, ..)| *first <= slot);
        let range = after.checked_sub(1).map(|before| &self.ranges[before]);
        let owner = range.and_then(|(_, last, node)| (slot <= *last).then_some(node));
        owner.or_else(|| self.nodes.values().next())
    }

    pub(super) const fn nodes(&self) -> &BTreeMap<NodeAddress, Arc<Node>> {
        &self.nodes
    }

    /// The node at this address; `make` creates one that is not known yet.
    pub(super) fn node(
        &mut self,
        place: NodeAddress,
        make: impl FnOnce(&NodeAddress) -> Arc<Node>,
    ) -> Arc<Node> {
        let entry = self.nodes.entry(place);
        let node = entry.or_insert_with_key(make);
        Arc::clone(node)
    }

    /// Notes a node's reply that this node has the slot.
    pub(super) fn note(&mut self, slot: u16, node: Arc<Node>) {
        self.moved.insert(slot, node);
    }

    /// Replaces the table with the cluster's slots, and returns the nodes that no longer have a slot.
    pub(super) fn replace(
        &mut self,
        mut ranges: Vec<Range>,
        make: impl Fn(&NodeAddress) -> Arc<Node>,
    ) -> Vec<Arc<Node>> {
        ranges.sort_by_key(|range| range.first);
        let mut known = std::mem::take(&mut self.nodes);
        let mut read: Vec<(u16, u16, Arc<Node>)> = Vec::new();
        for Range {
            first,
            last,
            primary,
        } in ranges
        {
            let node = match known.remove(&primary) {
                Some(node) => {
                    self.nodes.insert(primary, Arc::clone(&node));
                    node
                }
                None => self.node(primary, &make),
            };
            read.push((first, last, node));
        }
        self.ranges = read;
        self.moved.clear();
        known.into_values().collect()
    }
}
