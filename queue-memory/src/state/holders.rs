//! The names of leases' holders (L16).

use queue_core::Holder;
use slab::Slab;

use super::entry::{KEPT, Name};

/// No name: the call that leased gave none.
const NAMELESS: Name = Name::MAX;

/// The names on live leases. All leases of one call share one name, so a lease stores only its number.
#[derive(Debug, Default)]
pub(crate) struct Holders(Slab<Named>);

#[derive(Debug)]
struct Named {
    holder: Holder,
    /// How many live leases have the name.
    leases: usize,
}

impl Holders {
    /// Adds the name that a call gave; [`granted`](Self::granted) then sets how many leases have it.
    #[inline]
    pub(crate) fn add(&mut self, holder: Option<Holder>) -> Name {
        let Some(holder) = holder else {
            return NAMELESS;
        };
        let name = self.0.insert(Named { holder, leases: 0 });
        // There are no more names than leases, and fewer than 2^32 leases.
        Name::try_from(name).unwrap_or(NAMELESS)
    }

    /// Sets how many leases the call granted; a name without a lease is removed.
    #[inline]
    pub(crate) fn granted(&mut self, name: Name, leases: usize) {
        if name == NAMELESS {
            return;
        }
        match leases {
            0 => self.remove(name),
            _ => self.0[name as usize].leases = leases,
        }
    }

    /// Counts the end of a lease. The name is removed with its last lease.
    #[inline]
    pub(crate) fn leave(&mut self, name: Name) {
        if name == NAMELESS {
            return;
        }
        let named = &mut self.0[name as usize];
        named.leases -= 1;
        if named.leases == 0 {
            self.remove(name);
        }
    }

    pub(crate) fn get(&self, name: Name) -> Option<Holder> {
        let named = self.0.get(name as usize)?;
        Some(named.holder.clone())
    }

    fn remove(&mut self, name: Name) {
        self.0.remove(name as usize);
        if self.0.is_empty() && self.0.capacity() > KEPT {
            self.0 = Slab::new();
        }
    }

    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    #[cfg(test)]
    pub(crate) fn capacity(&self) -> usize {
        self.0.capacity()
    }
}

coded!(Holders { 0 });
coded!(Named { holder, leases });
