//! The list of cases, from which both the table and the tests are made.
//!
//! A case that is not on it is dead code, and the compiler says so.

use super::*;

/// The cases under `leasing` are played on four kinds, those under `lines` on the three whose
/// order is the order of arrival.
#[doc(hidden)]
#[macro_export]
macro_rules! __conformance_cases {
    ($then:ident) => {
        $crate::__conformance_kinds! {
            $then
            leasing {
            }
            lines {
            }
            reliable {
            }
            delay {
            }
            priority {
            }
            bounded {
            }
            rotating {
                t1_a_rotation_takes_from_the_head_and_puts_at_the_tail,
                t1_a_call_returns_each_item_at_most_once,
                t1_a_rotation_dropped_at_any_await_loses_no_item,
                t1_bodies_and_headers_come_round_unchanged,
                t1_one_call_hands_out_no_more_than_8_mib,
                t2_a_batch_joins_at_the_tail_in_its_order,
                t2_a_removed_item_is_never_seen_again,
                t2_an_empty_ring_answers_nothing,
                t2_a_key_that_is_present_changes_nothing,
                t2_a_removed_items_key_is_free,
                t2_list_pages_through_the_ring,
                t3_an_item_recurs_after_exactly_n_rotations,
                t3_concurrent_clients_visit_every_item_equally_often,
                t4_an_item_is_due_a_pace_after_its_last_visit [ExactClock],
                t4_nothing_due_answers_the_time_until_next [ExactClock],
                t4_the_order_stays_the_rings_and_skips_what_is_not_due [ExactClock],
                t4_a_skipped_head_hides_nothing_behind_it [ExactClock],
                t4_a_present_key_does_not_make_an_item_due [ExactClock],
                t4_removal_and_listing_keep_to_the_pace [ExactClock],
                t4_without_a_pace_everything_is_always_due,
                waiting_an_insert_wakes_a_visitor,
                waiting_one_insert_of_many_wakes_as_many_visitors,
                waiting_a_visitor_has_an_item_when_it_is_due,
                waiting_a_sooner_item_wakes_who_sleeps_towards_a_later,
                waiting_ends_at_its_timeout,
                waiting_a_dropped_visit_passes_its_hint_on,
                limits_a_bad_insert_is_refused_whole,
                limits_a_batch_has_at_most_8_mib,
                limits_counts_out_of_range_are_refused,
            }
            backend {
            }
        }
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! __conformance_kinds {
    (
        $then:ident
        leasing $leasing:tt lines $lines:tt
        reliable $reliable:tt delay $delay:tt priority $priority:tt bounded $bounded:tt
        rotating $rotating:tt backend $backend:tt
    ) => {
        $crate::$then! {
            reliable: Some(QueueKind::Reliable) =>
                { leasing $leasing lines $lines reliable $reliable }
            delay: Some(QueueKind::Delay) => { leasing $leasing delay $delay }
            priority: Some(QueueKind::Priority) =>
                { leasing $leasing lines $lines priority $priority }
            bounded: Some(QueueKind::Bounded) =>
                { leasing $leasing lines $lines bounded $bounded }
            rotating: Some(QueueKind::Rotating) => { rotating $rotating }
            backend: None => { backend $backend }
        }
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! __conformance_table {
    ($($module:ident: $kind:expr => { $($source:ident { $($name:ident $([$($need:ident)+])?),* $(,)? })+ })+) => {
        pub(super) const CASES: &[Case] = &[
            $($($(
                Case {
                    name: concat!(stringify!($module), "::", stringify!($name)),
                    kind: $kind,
                    needs: &[$($(Capability::$need),+)?],
                    play: |harness| Box::pin(async move {
                        let kind: Option<QueueKind> = $kind;
                        let stage = stage::Stage::set(harness, kind).await;
                        $source::$name(&stage).await;
                        stage.close().await;
                    }),
                },
            )*)+)+
        ];
    };
}

crate::__conformance_cases!(__conformance_table);
