//! The list of cases, which makes both the table and the tests.
//!
//! A case that is not in the list is dead code, and the compiler says so.

mod backend;
mod bounded;
mod delay;
mod leasing;
mod lines;
mod once;
mod priority;
mod reliable;
mod removal;
mod rotating;

use queue_core::QueueKind;

use crate::{Capability, Case, stage};

/// The cases under `leasing` play on four kinds, those under `lines` on the three that order by
/// arrival.
#[doc(hidden)]
#[macro_export]
macro_rules! __cases {
    ($then:ident) => {
        $crate::__kinds! {
            $then
            leasing {
                l1_a_leased_message_is_not_handed_out_again [ExactClock],
                l1_a_lease_is_live_until_its_deadline [ExactClock],
                l1_concurrent_consumers_share_no_message,
                l1_producers_and_consumers_at_once_meet_each_message_once,
                l2_redelivery_has_a_cause [ExactClock],
                l3_an_acked_message_is_never_delivered_again [ExactClock],
                l4_a_stale_receipt_changes_nothing [ExactClock],
                l4_a_receipt_is_stale_from_its_deadline_on [ExactClock],
                l4_a_lease_is_stale_before_anybody_takes_it_back [ExactClock],
                l4_extend_does_not_revive_an_expired_lease [ExactClock],
                l4_a_settled_lease_settles_no_more,
                l4_a_made_up_receipt_matches_nothing,
                l4_equal_receipts_in_a_batch_act_once,
                l4_turn_is_settle_and_then_lease,
                l5_every_way_in_and_out_is_counted [ExactClock],
                l5_what_goes_in_comes_out_and_nothing_else,
                l6_retry_and_expiry_charge_an_attempt [ExactClock],
                l6_defer_and_release_refund_the_attempt,
                l6_a_retry_on_the_last_attempt_answers_dead,
                l6_a_lease_that_expires_on_the_last_attempt_ends_dead [ExactClock],
                l6_one_attempt_is_one_delivery [ExactClock],
                l6_a_crashing_consumers_message_does_not_circle_for_ever [ExactClock],
                l6_a_burial_on_any_attempt_answers_dead,
                l6_max_attempts_is_the_queues_for_every_client,
                l7_one_call_reclaims_128_expired_leases [ExactClock],
                l7_what_is_expired_beyond_that_counts_as_ready [ExactClock],
                l7_a_lease_call_reclaims [ExactClock],
                l7_turn_reclaims_twice [ExactClock],
                l7_settle_and_extend_reclaim [ExactClock],
                l7_a_push_reclaims [ExactClock],
                l7_revive_and_discard_reclaim [ExactClock],
                l7_a_purge_reclaims [ExactClock],
                l7_a_cancel_reclaims [ExactClock],
                l7_a_peek_reclaims [ExactClock],
                l7_everything_ends_acked_or_dead [ExactClock],
                l8_a_receive_dropped_at_any_await_loses_no_message [ExactClock],
                l8_a_waiting_receive_dropped_at_any_await_loses_no_message [ExactClock],
                l8_a_dropped_wait_passes_its_hint_on,
                l8_a_dropped_push_can_be_repeated_with_its_dedup_key,
                l9_a_repeat_within_the_window_changes_nothing,
                l9_a_repeat_within_a_batch_is_a_duplicate,
                l9_the_mark_lives_for_exactly_the_window [ExactClock],
                l9_a_mark_is_over_before_anybody_clears_it_away [ExactClock],
                l9_a_duplicate_does_not_extend_the_mark [ExactClock],
                l9_the_mark_outlives_the_message [ExactClock],
                l9_keys_are_bytes_and_belong_to_their_queue,
                l9_a_refused_push_leaves_no_mark,
                l9_marks_are_cleared_away_by_handles_that_never_dedup [ExactClock],
                l9_expired_marks_are_cleared_away [ExactClock],
                l9_of_concurrent_pushes_of_a_key_one_is_accepted,
                l9_a_unique_key_admits_one_message_until_that_is_done,
                l9_whatever_takes_a_message_away_frees_its_unique_key,
                l9_a_retry_on_the_last_attempt_frees_the_unique_key,
                l9_an_expiry_on_the_last_attempt_frees_the_unique_key [ExactClock],
                l9_a_push_without_a_key_that_buries_frees_the_unique_key [ExactClock],
                l9_a_unique_mark_ends_with_its_window_at_the_latest [ExactClock],
                l9_the_end_of_an_older_message_leaves_a_new_mark_alone [ExactClock],
                l9_a_mark_of_either_sort_makes_a_duplicate,
                l9_a_revived_message_has_no_unique_mark,
                l9_a_unique_repeat_within_a_batch_is_a_duplicate,
                l9_128_unique_marks_end_in_one_call,
                l9_a_unique_mark_ends_through_handles_that_push_no_key,
                l10_extend_sets_the_deadline_from_now [ExactClock],
                l10_extend_may_bring_the_deadline_nearer [ExactClock],
                l10_a_batch_is_extended_one_by_one [ExactClock],
                l10_a_lease_is_timed_from_the_claim_not_from_the_push [ExactClock],
                l12_a_settlement_dropped_at_any_await_leaves_each_message_in_one_place [ExactClock],
                l12_a_refused_batch_changes_nothing,
                l13_a_dead_letter_tells_what_why_and_when [ExactClock],
                l13_dead_letters_are_listed_in_the_order_of_dying [ExactClock],
                l13_the_cap_is_exact_and_drops_the_oldest,
                l13_expiry_keeps_to_the_cap [ExactClock],
                l13_a_cap_of_zero_keeps_none,
                l13_a_revived_message_starts_anew,
                l13_revive_answers_each_id_in_turn,
                l13_discard_removes_for_good_and_counts,
                l13_a_long_reason_is_cut_between_characters,
                l13_pages_hold_while_dead_letters_come_and_go,
                l13_every_page_length_shows_each_once,
                l13_a_page_has_no_more_than_8_mib,
                l14_a_delivery_tells_why_the_last_retry_failed,
                l14_only_a_retry_changes_the_reason [ExactClock],
                l14_a_dead_letter_tells_why_it_failed_and_when_it_was_pushed [ExactClock],
                l14_a_long_reason_is_cut_between_characters,
                l14_a_revived_message_has_no_reason_and_was_pushed_when_it_was [ExactClock],
                l15_what_is_ready_or_delayed_is_cancelled,
                l15_what_has_come_back_is_cancelled [ExactClock],
                l15_it_is_too_late_for_what_is_leased_dead_or_gone,
                l15_an_id_that_no_message_had_is_told_apart,
                l15_the_second_of_two_equal_ids_is_too_late,
                l15_a_dedup_mark_outlives_a_cancelled_message,
                l15_a_long_line_keeps_its_order,
                l15_no_call_counts_what_was_cancelled,
                l15_a_message_is_cancelled_or_delivered_never_both,
                l15_a_cancel_dropped_at_any_await_never_half_happens,
                l15_who_sleeps_towards_a_cancelled_message_is_not_stuck,
                l16_an_empty_place_is_an_empty_page,
                l16_bodies_and_headers_are_shown_unchanged,
                l16_a_ready_message_is_shown_as_it_is [ExactClock],
                l16_delayed_messages_tell_when_they_are_due [ExactClock],
                l16_leased_messages_tell_their_receipt_and_time [ExactClock],
                l16_what_is_shown_first_is_handed_out_first,
                l16_a_peek_changes_nothing,
                l16_every_page_length_shows_each_once,
                l16_pages_leave_out_what_was_cancelled,
                l16_a_page_goes_on_after_as_many_as_were_shown,
                l16_a_page_has_no_more_than_8_mib,
                l16_a_turn_tells_who_holds,
                l16_a_holders_name_lasts_as_long_as_its_lease,
                l16_an_expired_lease_takes_its_holders_name_along [ExactClock],
                l16_a_holders_name_is_any_text_of_1_to_128_bytes,
                l16_the_receipt_that_it_shows_ends_the_lease,
                r1_a_token_grows_and_is_never_below_the_time [ExactClock],
                r1_a_receipt_of_another_history_matches_nothing [ExactClock],
                batches_have_at_most_128_entries,
                batches_have_at_most_8_mib,
                batches_hand_out_no_more_than_8_mib,
                limits_a_body_may_be_as_long_as_configured,
                limits_a_lease_is_1_ms_to_24_h,
                limits_a_lease_is_rounded_up_to_a_millisecond [ExactClock],
                limits_a_retry_delay_has_an_end [ExactClock],
                limits_dedup_keys_and_windows_have_limits,
                limits_pages_and_purges_have_at_most_1000_entries,
                configuration_out_of_range_is_refused,
                configuration_that_differs_is_a_mismatch,
                operators_a_paused_queue_hands_out_nothing,
                operators_leases_expire_while_paused [ExactClock],
                operators_purge_takes_what_is_ready_then_what_is_delayed [ExactClock],
                operators_purge_goes_in_delivery_order,
                operators_purge_leaves_leases_dead_letters_and_marks,
                operators_purge_all_goes_on_past_one_chunk,
                counters_tell_how_long_the_oldest_has_been_ready [ExactClock],
                counters_the_oldest_is_none_that_was_cancelled [ExactClock],
                waiting_a_push_wakes_a_consumer,
                waiting_a_push_through_another_client_wakes_too,
                waiting_a_push_before_the_wait_is_not_missed,
                waiting_one_batch_wakes_as_many_as_it_serves,
                waiting_a_release_wakes,
                waiting_a_retry_without_delay_wakes,
                waiting_a_retry_delay_that_ends_sooner_wakes_in_time,
                waiting_the_expiry_of_anothers_lease_ends_it,
                waiting_a_deadline_brought_nearer_ends_it_sooner,
                waiting_a_revival_wakes,
                waiting_resume_wakes_who_waits,
                waiting_a_paused_queue_wakes_nobody_to_no_end,
                waiting_ends_at_its_timeout,
                waiting_without_end_ends_with_a_push,
                waiting_moves_nothing,
            }
            lines {
                l11_what_is_released_goes_before_all_others_by_id,
                l11_what_expired_goes_before_all_others_by_id [ExactClock],
                l11_what_was_retried_or_deferred_goes_behind_what_is_ready [ExactClock],
                l11_it_is_the_moment_of_promotion_that_counts [ExactClock],
                l11_no_delay_is_due_now_behind_what_is_ready,
                l11_a_revived_message_goes_to_the_tail,
                l11_one_call_takes_back_128_before_it_hands_out [ExactClock],
                l11_one_call_promotes_128_before_it_acts [ExactClock],
                counters_what_returns_is_as_old_as_before [ExactClock],
                d1_a_pushed_message_is_never_early [ExactClock],
                d1_a_due_time_is_a_delay_or_a_point_in_time [ExactClock],
                d1_a_due_time_that_is_over_changes_nothing,
                d1_what_is_due_joins_behind_what_is_ready [ExactClock],
                d1_one_call_promotes_128_before_it_acts [ExactClock],
                d1_attempts_and_retries_go_on_as_usual [ExactClock],
                l7_a_peek_promotes_128 [ExactClock],
                l9_a_delayed_push_has_its_mark_at_once [ExactClock],
                l15_what_came_back_is_cancelled_out_of_its_line,
                l16_what_came_back_is_shown_in_its_place,
                operators_purge_takes_delayed_pushes_last [ExactClock],
                counters_a_delayed_push_is_ready_since_its_due_time [ExactClock],
                waiting_a_message_pushed_for_later_comes_in_time,
                waiting_a_sooner_push_wakes_who_sleeps_towards_a_later,
                waiting_a_plain_push_wakes_who_sleeps_towards_a_later,
                waiting_all_that_is_due_at_once_wakes_as_many,
                limits_a_due_time_has_an_end,
            }
            reliable {
                f1_messages_are_first_delivered_in_push_order,
                f1_concurrent_consumers_see_one_order,
                f2_a_batch_keeps_its_inner_order,
                f2_push_all_splits_and_keeps_the_order,
            }
            delay {
                d1_a_message_is_never_early [ExactClock],
                d1_a_delay_is_rounded_up [ExactClock],
                d1_a_due_time_in_the_past_means_now [ExactClock],
                d1_a_second_due_time_is_refused,
                d2_due_messages_come_by_due_time_then_id [ExactClock],
                d2_what_returns_is_due_when_it_returns [ExactClock],
                d2_a_revived_message_is_due_now [ExactClock],
                d2_one_call_takes_back_128_before_it_hands_out [ExactClock],
                d2_a_purge_takes_what_is_due_first [ExactClock],
                d2_the_oldest_is_ready_since_its_due_time [ExactClock],
                d3_equal_bodies_are_different_messages,
                d3_schedule_all_splits,
                d4_a_duplicate_changes_no_due_time [ExactClock],
                d4_reschedule_moves_what_is_not_leased [ExactClock],
                d4_reschedule_keeps_the_attempts,
                d4_rescheduled_messages_keep_to_due_time_then_id [ExactClock],
                d4_a_change_dropped_at_any_await_never_half_happens [ExactClock],
                d5_a_waiting_consumer_has_a_message_when_it_is_due,
                d5_a_sooner_message_wakes_who_sleeps_towards_a_later,
                d5_a_message_due_now_wakes_who_sleeps_towards_a_later,
                d5_a_message_rescheduled_sooner_wakes_in_time,
                d5_all_that_is_due_at_once_wakes_as_many,
                d5_a_dropped_waiter_leaves_its_watch_to_another,
                d5_who_takes_another_leaves_its_watch,
                d5_who_gives_up_leaves_its_watch_to_another [ExactClock VirtualTime],
                d5_who_looks_and_goes_leaves_its_watch_to_another [ExactClock],
                d5_next_due_is_the_first_undelivered [ExactClock],
                l16_messages_are_shown_by_due_time_then_id [ExactClock],
                limits_a_due_time_has_an_end,
            }
            priority {
                p1_the_most_urgent_ready_message_comes_first,
                p1_purge_and_counters_go_by_priority [ExactClock],
                p2_equal_priorities_come_in_order_of_arrival,
                p2_what_returns_is_ordered_within_its_priority [ExactClock],
                p2_enqueue_all_splits_and_keeps_the_order,
                p3_a_returned_message_keeps_its_priority [ExactClock],
                p3_a_delayed_push_keeps_its_priority [ExactClock],
                p4_a_step_of_priority_is_worth_its_waiting_time [ExactClock],
                p4_the_far_ends_of_priority_and_ageing_do_not_overflow,
                p4_nothing_starves [ExactClock],
                p4_release_defer_and_expiry_keep_the_arrival [ExactClock],
                p4_a_release_does_not_jump_the_line,
                p4_a_retry_and_a_revival_arrive_anew [ExactClock],
                p4_a_delayed_push_arrives_when_it_is_due [ExactClock],
                p4_ageing_is_stored,
                l16_the_most_urgent_is_shown_first,
                l16_ageing_orders_what_is_shown [ExactClock],
                limits_priorities_and_ageing_have_a_range,
            }
            bounded {
                b1_ready_delayed_and_leased_count_towards_the_capacity [ExactClock],
                b1_a_delayed_push_takes_room,
                b1_room_is_counted_after_reclaiming [ExactClock],
                b1_the_length_holds_at_every_instant,
                b1_what_drops_the_oldest_is_never_longer,
                b2_drop_oldest_removes_the_next_in_delivery_order,
                b2_what_came_back_is_next_and_is_dropped_first,
                b2_delayed_ones_are_dropped_last_by_due_time,
                b2_a_delayed_push_is_dropped_last,
                b2_what_was_cancelled_is_not_dropped,
                b2_all_leased_means_full,
                b2_a_batch_longer_than_the_queue_leaves_its_end,
                b2_offer_all_splits_and_reports,
                b3_a_rejected_entry_changes_nothing,
                b4_an_ack_makes_room,
                b4_whatever_makes_room_wakes_a_producer,
                b4_a_cancel_makes_room,
                b4_a_death_by_retry_makes_room,
                b4_a_woken_producer_that_leaves_room_wakes_the_next,
                b4_a_dropped_wait_for_room_passes_its_hint_on,
                b4_a_duplicate_leaves_its_room_to_the_next,
                b4_an_offer_that_waits_in_vain_answers_full,
                b4_an_offer_reclaims_what_dead_consumers_hold [ExactClock],
                b4_an_offer_dropped_at_any_await_is_in_once_or_not_at_all,
                b4_blocked_producers_all_get_through,
                b5_resize_trims_the_oldest_at_once_and_reports_them,
                b5_what_was_leased_at_a_resize_may_exceed_it,
                b5_delayed_ones_are_trimmed_by_due_time,
                b5_after_a_resize_the_stored_capacity_wins,
                b5_open_or_resize_sets_the_capacity,
                b6_recent_reads_the_newest_first_and_takes_nothing,
                b6_recent_is_the_reverse_of_the_delivery_order [ExactClock],
                b6_recent_leaves_delayed_pushes_out [ExactClock],
                b6_recent_leaves_out_what_was_cancelled,
                b6_recent_reads_what_was_offered_last,
                b6_recent_reads_no_more_than_8_mib,
                b7_a_key_replaces_its_undelivered_entry,
                b7_a_full_queue_replaces_too,
                b7_a_key_replaces_within_a_batch,
                b7_a_leased_entry_is_untouched_and_a_new_one_added,
                b7_the_end_of_a_former_holder_frees_no_key,
                b7_a_returned_entry_is_replaced_again [ExactClock],
                b7_an_expired_entry_is_replaced [ExactClock],
                b7_a_key_is_free_once_its_message_is_gone,
                b7_a_key_replaces_a_delayed_push,
                b7_a_message_keeps_its_key_when_it_is_due [ExactClock],
                b7_a_cancelled_messages_key_is_free,
                b7_a_revived_message_has_no_key,
                b7_a_duplicate_comes_before_a_replacement,
                b7_keys_differ_and_are_not_dedup_keys,
                l9_a_duplicate_is_never_full_and_evicts_nothing,
                l9_an_eviction_frees_the_unique_key,
                l9_a_replacement_frees_the_unique_key,
                l9_a_resize_frees_the_unique_keys_of_what_it_drops,
                l9_a_batch_frees_the_unique_keys_of_what_it_evicts,
                l9_a_batch_frees_the_unique_keys_of_what_it_replaces,
                l13_a_full_queue_refuses_a_revival,
                l16_what_is_shown_is_the_reverse_of_recent,
                limits_a_capacity_is_1_to_u32_max,
                limits_recent_reads_1_to_1000,
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
                t4_a_skipped_head_hides_nothing_behind_it,
                t4_a_present_key_does_not_make_an_item_due [ExactClock],
                t4_removal_and_listing_keep_to_the_pace [ExactClock],
                t4_without_a_pace_everything_is_always_due,
                limits_a_bad_insert_is_refused_whole,
                limits_a_batch_has_at_most_8_mib,
                limits_counts_out_of_range_are_refused,
                waiting_an_insert_wakes_a_visitor,
                waiting_one_insert_of_many_wakes_as_many_visitors,
                waiting_a_visitor_has_an_item_when_it_is_due,
                waiting_a_sooner_item_wakes_who_sleeps_towards_a_later,
                waiting_ends_at_its_timeout,
                waiting_a_dropped_visit_passes_its_hint_on,
            }
            backend {
                limits_a_bad_name_is_refused,
                limits_every_allowed_name_is_its_own_queue,
                configuration_a_name_is_one_queue_of_one_kind,
                operators_queues_lists_what_exists_by_name,
                operators_the_list_tells_depth_and_pause,
                operators_two_clients_see_the_same_queues,
                configuration_a_stored_queue_is_opened_as_it_is,
                configuration_a_live_queue_is_reconfigured,
                configuration_a_pace_is_stored,
            }
            removal {
                operators_a_removed_queue_is_gone [Removal],
                operators_leased_messages_keep_a_queue [Removal],
                operators_an_expired_lease_keeps_no_queue [Removal ExactClock],
                operators_a_removal_may_take_leases_along [Removal],
                operators_a_removed_queues_name_is_free [Removal],
                operators_a_history_begins_anew_after_a_removal [Removal],
                operators_an_open_handle_makes_a_removed_queue_anew [Removal],
                operators_an_open_handle_goes_on_with_the_next_queue_of_its_kind [Removal],
                operators_a_removal_wakes_who_waits [Removal],
                operators_a_removal_makes_room_for_who_waits [Removal],
                operators_a_removal_leaves_other_queues [Removal],
                operators_a_removal_leaves_once_keys [Removal Once],
            }
            once {
                o1_a_claimed_key_is_busy_until_the_claim_ends [Once ExactClock],
                o1_a_claim_is_rounded_up_to_a_millisecond [Once ExactClock],
                o1_of_concurrent_claims_one_holds [Once],
                o1_tokens_grow_with_the_time_and_the_claims [Once ExactClock],
                o2_a_finished_key_is_done_for_exactly_its_time [Once ExactClock],
                o2_a_released_key_is_free_at_once [Once],
                o2_a_key_may_be_done_longer_than_a_claim_lasts [Once ExactClock],
                o3_a_stale_claim_changes_nothing [Once ExactClock],
                o3_a_claim_is_lost_from_its_end_on [Once ExactClock],
                o3_a_made_up_token_matches_nothing [Once],
                o3_extend_sets_the_end_from_now [Once ExactClock],
                o3_a_claim_may_be_ended_through_another_client [Once],
                o3_a_claim_dropped_at_any_await_ends_by_itself [Once ExactClock],
                o3_a_finish_may_be_repeated [Once ExactClock],
                o3_a_finish_dropped_at_any_await_can_be_repeated [Once],
                o3_a_release_dropped_at_any_await_leaves_it_claimed_or_free [Once],
                o4_what_has_ended_does_not_count [Once ExactClock],
                o4_a_key_taken_again_outlives_what_is_cleared_away [Once ExactClock],
                o4_keys_are_bytes_and_belong_to_their_store [Once],
                o5_an_effect_runs_once_while_its_mark_is_kept [Once ExactClock],
                o5_a_failed_effect_releases_its_claim [Once],
                o5_one_that_comes_meanwhile_is_told_how_long [Once ExactClock],
                o5_an_effect_that_outlives_its_claim_is_unrecorded [Once ExactClock],
                o5_a_dropped_run_leaves_its_claim_to_end [Once ExactClock],
                o5_times_out_of_range_are_found_before_the_effect [Once],
                limits_once_keys_and_times_have_limits [Once],
                operators_a_store_is_no_queue [Once],
            }
        }
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! __kinds {
    (
        $then:ident
        leasing $leasing:tt lines $lines:tt
        reliable $reliable:tt delay $delay:tt priority $priority:tt bounded $bounded:tt
        rotating $rotating:tt backend $backend:tt removal $removal:tt once $once:tt
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
            backend: None => { backend $backend removal $removal }
            once: None => { once $once }
        }
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! __table {
    ($($module:ident: $kind:expr => { $($source:ident { $($name:ident $([$($need:ident)+])?),* $(,)? })+ })+) => {
        pub(crate) const CASES: &[Case] = &[
            $($($(
                Case {
                    name: concat!(stringify!($module), "::", stringify!($name)),
                    kind: $kind,
                    needs: &[$($(Capability::$need),+)?],
                    play: |harness, exit| Box::pin(async move {
                        let kind: Option<QueueKind> = $kind;
                        let stage = stage::Stage::set(harness, kind, exit).await;
                        stage.needs_rule_of(stringify!($name));
                        $source::$name(&stage).await;
                        stage.close().await;
                    }),
                },
            )*)+)+
        ];
    };
}

crate::__cases!(__table);
