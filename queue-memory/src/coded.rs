//! States and calls as bytes, for a backend that keeps these queues on a disk.
//!
//! Integers have as many bytes as they need, seven bits in each. Maps and sets are in order. The format has no tags
//! of fields: another format needs another number, which the backend writes.

/// A value as bytes.
#[cfg(feature = "journal")]
pub trait Coded: Sized {
    /// Appends the value.
    fn put(&self, out: &mut Vec<u8>);

    /// Reads a value from the beginning of `input`, and moves `input` past it. `None` if the bytes are no value.
    fn get(input: &mut &[u8]) -> Option<Self>;
}

/// Nothing is kept.
#[cfg(not(feature = "journal"))]
pub(crate) trait Coded {}

#[cfg(not(feature = "journal"))]
impl<T: ?Sized> Coded for T {}

/// Makes a type `Coded`: a struct by its fields, or an enum by a number for each variant.
#[cfg(feature = "journal")]
macro_rules! coded {
    (enum $type:ty { $($tag:literal => $variant:ident $(($($part:ident),+))? $({$($field:ident),+})?;)+ }) => {
        impl $crate::coded::Coded for $type {
            // An enum of `queue-core` may get a variant that this does not know, and nothing can be stored of it.
            #[allow(unreachable_patterns, reason = "the enums of this crate have no other variant")]
            fn put(&self, out: &mut Vec<u8>) {
                match self {
                    $(Self::$variant $(($($part),+))? $({$($field),+})? => {
                        out.push($tag);
                        $($($crate::coded::Coded::put($part, out);)+)?
                        $($($crate::coded::Coded::put($field, out);)+)?
                    })+
                    _ => out.push(u8::MAX),
                }
            }

            fn get(input: &mut &[u8]) -> Option<Self> {
                Some(match <u8 as $crate::coded::Coded>::get(input)? {
                    $($tag => {
                        $($(let $part = $crate::coded::Coded::get(input)?;)+)?
                        $($(let $field = $crate::coded::Coded::get(input)?;)+)?
                        Self::$variant $(($($part),+))? $({$($field),+})?
                    })+
                    _ => return None,
                })
            }
        }
    };
    ($(where $kind:ident: $bound:path,)? $type:ty { $($field:tt),+ $(,)? } $(else { $($rest:tt)+ })?) => {
        impl $(<$kind: $bound>)? $crate::coded::Coded for $type {
            fn put(&self, out: &mut Vec<u8>) {
                $($crate::coded::Coded::put(&self.$field, out);)+
            }

            fn get(input: &mut &[u8]) -> Option<Self> {
                Some(Self {
                    $($field: $crate::coded::Coded::get(input)?,)+
                    $($($rest)+)?
                })
            }
        }
    };
}
#[cfg(not(feature = "journal"))]
macro_rules! coded {
    ($($rest:tt)+) => {};
}

#[cfg(feature = "journal")]
mod values {
    use std::{
        collections::{BTreeMap, BTreeSet, HashMap, VecDeque},
        hash::Hash,
        num::{NonZeroU32, NonZeroUsize},
        sync::Arc,
        time::Duration,
    };

    use queue_core::{
        BoundedConfig, Bytes, Counters, DeadLetter, DeathReason, Dedup, DelayConfig, Disposition,
        Distinct, Due, Extension, GroupChange, GroupOrder, GroupRule, GroupedConfig, Headers,
        Holder, Insert, KeptResult, LeaseRate, LeasingConfig, Message, MessageId, OnDeath,
        Outdated, Overflow, PriorityConfig, Push, QueueConfig, QueueName, Receipt, ReliableConfig,
        Revival, RotatingConfig, Settlement, TimeToLive, Timestamp, Token, call::Call,
    };
    use slab::Slab;

    use super::Coded;

    impl Coded for u64 {
        fn put(&self, out: &mut Vec<u8>) {
            let mut rest = *self;
            while rest >= 0x80 {
                out.push(rest as u8 | 0x80);
                rest >>= 7;
            }
            out.push(rest as u8);
        }

        fn get(input: &mut &[u8]) -> Option<Self> {
            let mut value = 0;
            for shift in (0..64).step_by(7) {
                let byte = u8::get(input)?;
                value |= Self::from(byte & 0x7f) << shift;
                if byte < 0x80 {
                    return Some(value);
                }
            }
            None
        }
    }

    impl Coded for u8 {
        fn put(&self, out: &mut Vec<u8>) {
            out.push(*self);
        }

        fn get(input: &mut &[u8]) -> Option<Self> {
            let (first, rest) = input.split_first()?;
            *input = rest;
            Some(*first)
        }
    }

    /// Values that are stored as another value.
    macro_rules! by {
        ($($type:ty as $other:ty: $put:expr, $get:expr;)+) => {
            $(impl Coded for $type {
                fn put(&self, out: &mut Vec<u8>) {
                    let put: fn(&Self) -> $other = $put;
                    put(self).put(out);
                }

                fn get(input: &mut &[u8]) -> Option<Self> {
                    let get: fn($other) -> Option<Self> = $get;
                    get(Coded::get(input)?)
                }
            })+
        };
    }

    by! {
        u32 as u64: |value| u64::from(*value), |value| value.try_into().ok();
        usize as u64: |value| *value as u64, |value| value.try_into().ok();
        i16 as u64: |value| u64::from(*value as u16), |value| Some(u16::try_from(value).ok()? as i16);
        i64 as u64: |value| *value as u64, |value| Some(value as i64);
        f64 as u64: |value| value.to_bits(), |bits| Some(Self::from_bits(bits));
        bool as u8: |value| u8::from(*value), |value| (value < 2).then_some(value == 1);
        Duration as (u64, u32): |time| (time.as_secs(), time.subsec_nanos()),
            |(secs, nanos)| (nanos < 1_000_000_000).then(|| Self::new(secs, nanos));
        Timestamp as u64: |time| time.as_millis(), |millis| Some(Self::from_millis(millis));
        MessageId as u64: |id| id.get(), |id| Some(Self::new(id));
        Token as u64: |token| token.get(), |token| Some(Self::new(token));
        NonZeroU32 as u32: |value| value.get(), Self::new;
        NonZeroUsize as usize: |value| value.get(), Self::new;
        String as Bytes: |text| Bytes::copy_from_slice(text.as_bytes()),
            |bytes| Self::from_utf8(bytes.into()).ok();
        Arc<[u8]> as Bytes: |key| Bytes::copy_from_slice(key), |bytes| Some(Self::from(&bytes[..]));
        Holder as String: |holder| holder.as_str().to_owned(), |name| Self::new(name).ok();
        QueueName as String: |name| name.as_str().to_owned(), |name| Self::new(name).ok();
        Headers as Vec<(String, String)>:
            |headers| headers.iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect(),
            |headers| Some(headers.into_iter().collect());
        Receipt as (MessageId, Token): |receipt| (receipt.id, receipt.token),
            |(id, token)| Some(Self::new(id, token));
        Message as (MessageId, Bytes, Headers):
            |message| (message.id, message.body.clone(), message.headers.clone()),
            |(id, body, headers)| Some(Self::new(id, body, headers));
    }

    impl Coded for Bytes {
        fn put(&self, out: &mut Vec<u8>) {
            self.len().put(out);
            out.extend_from_slice(self);
        }

        /// Copies the bytes, so that they do not keep all of `input` alive.
        fn get(input: &mut &[u8]) -> Option<Self> {
            let length = Coded::get(input)?;
            let (bytes, rest) = input.split_at_checked(length)?;
            *input = rest;
            Some(Self::copy_from_slice(bytes))
        }
    }

    impl<T: Coded> Coded for Option<T> {
        fn put(&self, out: &mut Vec<u8>) {
            self.is_some().put(out);
            if let Some(value) = self {
                value.put(out);
            }
        }

        fn get(input: &mut &[u8]) -> Option<Self> {
            Some(match bool::get(input)? {
                true => Some(T::get(input)?),
                false => None,
            })
        }
    }

    impl<T: Coded> Coded for Box<T> {
        fn put(&self, out: &mut Vec<u8>) {
            (**self).put(out);
        }

        fn get(input: &mut &[u8]) -> Option<Self> {
            T::get(input).map(Self::new)
        }
    }

    macro_rules! tuples {
        ($(($($part:ident $number:tt),+))+) => {
            $(impl<$($part: Coded),+> Coded for ($($part,)+) {
                fn put(&self, out: &mut Vec<u8>) {
                    $(self.$number.put(out);)+
                }

                fn get(input: &mut &[u8]) -> Option<Self> {
                    Some(($($part::get(input)?,)+))
                }
            })+
        };
    }

    tuples! {
        (A 0, B 1)
        (A 0, B 1, C 2)
    }

    /// Stores the entries of a collection, in this order.
    fn put_all<T: Coded>(entries: impl ExactSizeIterator<Item = T>, out: &mut Vec<u8>) {
        entries.len().put(out);
        entries.for_each(|entry| entry.put(out));
    }

    fn get_all<T: Coded, C: FromIterator<T>>(input: &mut &[u8]) -> Option<C> {
        let length = usize::get(input)?;
        (0..length).map(|_| T::get(input)).collect()
    }

    /// A reference is stored as its value.
    impl<T: Coded> Coded for &T {
        fn put(&self, out: &mut Vec<u8>) {
            (**self).put(out);
        }

        fn get(_: &mut &[u8]) -> Option<Self> {
            None
        }
    }

    /// Stores slices as vectors are stored.
    pub fn put_slice<T: Coded>(entries: &[T], out: &mut Vec<u8>) {
        put_all(entries.iter(), out);
    }

    impl<K: Coded + Ord, V: Coded> Coded for BTreeMap<K, V> {
        fn put(&self, out: &mut Vec<u8>) {
            put_all(self.iter(), out);
        }

        fn get(input: &mut &[u8]) -> Option<Self> {
            get_all::<(K, V), _>(input)
        }
    }

    impl<K: Coded + Ord + Hash, V: Coded> Coded for HashMap<K, V> {
        fn put(&self, out: &mut Vec<u8>) {
            let mut entries: Vec<(&K, &V)> = self.iter().collect();
            entries.sort_unstable_by_key(|(key, _)| *key);
            put_all(entries.into_iter(), out);
        }

        fn get(input: &mut &[u8]) -> Option<Self> {
            get_all::<(K, V), _>(input)
        }
    }

    macro_rules! lists {
        ($($type:ident $(: $bound:path)?;)+) => {
            $(impl<T: Coded $(+ $bound)?> Coded for $type<T> {
                fn put(&self, out: &mut Vec<u8>) {
                    put_all(self.iter(), out);
                }

                fn get(input: &mut &[u8]) -> Option<Self> {
                    get_all::<T, _>(input)
                }
            })+
        };
    }

    lists! {
        Vec;
        VecDeque;
        BTreeSet: Ord;
    }

    /// Each entry comes back into its slot.
    impl<T: Coded> Coded for Slab<T> {
        fn put(&self, out: &mut Vec<u8>) {
            self.len().put(out);
            for (slot, entry) in self {
                slot.put(out);
                entry.put(out);
            }
        }

        fn get(input: &mut &[u8]) -> Option<Self> {
            get_all::<(usize, T), _>(input)
        }
    }

    coded!(enum Due { 0 => After(time); 1 => At(time); });
    coded!(enum Revival { 0 => WithState; 1 => Fresh; });
    coded!(enum Overflow { 0 => Reject; 1 => DropOldest; });
    coded!(enum Outdated { 0 => Drop; 1 => Bury; });
    coded!(enum GroupOrder { 0 => Strict; 1 => Loose; });
    coded!(enum OnDeath { 0 => Continue; 1 => Park; });
    coded!(enum DeathReason { 0 => Buried(reason); 1 => Retried; 2 => Expired; 3 => Outdated; });
    coded!(enum Disposition {
        0 => Ack;
        1 => AckWith(kept);
        2 => Retry { delay, reason };
        3 => Defer { delay };
        4 => Release;
        5 => Bury { reason };
    });
    coded!(enum GroupChange { 0 => Rule(rule); 1 => NoRule; 2 => Pause(lasts); 3 => Resume; });
    coded!(enum QueueConfig {
        0 => Reliable(config);
        1 => Delay(config);
        2 => Priority(config);
        3 => Grouped(config);
        4 => Bounded(config);
        5 => Rotating(config);
    });
    // A call that only reads is stored as `Depth`, if it changes anything.
    coded!(enum Call {
        0 => Depth;
        1 => Push(messages);
        2 => Reschedule(ids, due);
        3 => Lease(max, lease_time);
        4 => Settle(settlements);
        5 => SettleAndLease(settlements, max, lease_time, holder);
        6 => Extend(extensions, lease_time);
        7 => Revive(ids, revival);
        8 => Discard(ids);
        9 => Pause;
        10 => Resume;
        11 => Purge(max);
        12 => Cancel(ids);
        13 => ChangeGroup(key, change);
        14 => Resize(capacity);
        15 => Insert(items);
        16 => Rotate(max);
        17 => Remove(ids);
    });
    coded!(Dedup {
        key,
        window,
        until_done
    });
    coded!(TimeToLive { limit, then });

    /// Structs of `queue-core` that may get more fields: made by an expression, and then field by field.
    macro_rules! grown {
        ($($type:ty = $new:expr; { $($field:ident),+ })+) => {
            $(impl Coded for $type {
                fn put(&self, out: &mut Vec<u8>) {
                    $(self.$field.put(out);)+
                }

                fn get(input: &mut &[u8]) -> Option<Self> {
                    let mut value = $new;
                    $(value.$field = Coded::get(input)?;)+
                    Some(value)
                }
            })+
        };
    }

    const NO_RECEIPT: Receipt = Receipt::new(MessageId::new(0), Token::new(0));

    grown! {
        Push = Self::default(); {
            body, headers, due, priority, group, dedup, distinct, overflow, time_to_live
        }
        Distinct = Self::new(Bytes::new()); { key, longest }
        Insert = Self::default(); { body, headers, key }
        Settlement = Self::new(NO_RECEIPT, Disposition::Ack); { receipt, disposition, state }
        Extension = Self::new(NO_RECEIPT); { receipt, progress, state }
        KeptResult = Self::new(Bytes::new(), Duration::ZERO); { result, time, at_most }
        LeaseRate = Self::new(1, Duration::ZERO); { most, per }
        GroupRule = Self::lasting(Duration::ZERO); { weight, at_once, rate, lasts }
        LeasingConfig = Self::default(); { max_attempts, dead_letter_cap, at_once, rate, max_body }
        ReliableConfig = Self::default(); { leasing }
        DelayConfig = Self::default(); { leasing }
        PriorityConfig = Self::default(); { leasing, ageing }
        GroupedConfig = Self::default(); { leasing, order, per_group, on_death, group_rate }
        BoundedConfig = Self::new(1); { leasing, capacity }
        RotatingConfig = Self::default(); { pace, max_body }
        Counters = Self::default(); {
            accepted, acked, retried, deferred, released, expired, died, revived, evicted, replaced,
            cancelled, discarded, trimmed, purged, outdated
        }
        DeadLetter = Self::new(
            NO_RECEIPT.id, Bytes::new(), DeathReason::Retried, 0, Timestamp::default(), Timestamp::default(),
        ); {
            id, body, headers, reason, failure, attempts, priority, group, state, pushed_at, died_at
        }
    }
}

#[cfg(feature = "journal")]
pub use self::values::put_slice;
