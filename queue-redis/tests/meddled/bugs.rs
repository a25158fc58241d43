//! The bugs, each with the case that finds it.

use crate::planted::is_found;

macro_rules! bugs {
    ($($name:ident: $($case:literal),+ => { $($find:literal => $replace:literal;)+ })+) => {$(
        #[test]
        fn $name() {
            for case in [$($case),+] {
                is_found(case, &[$(($find, $replace)),+]);
            }
        }
    )+};
}

bugs! {
    a_batch_is_one_lease_to_a_resize:
        "bounded::b5_a_resize_counts_each_message_that_one_call_leased" => {
            "call('ZCARD', LEASES) + uncounted + call('ZCARD', DELAYED)" =>
                "call('ZCARD', LEASES) + call('ZCARD', DELAYED)";
        }
    a_batch_is_one_lease_to_a_revival:
        "bounded::l13_a_revival_counts_each_message_that_one_call_leased" => {
            "count_ready() + call('ZCARD', LEASES) + (tonumber(stored[2]) or 0)" => "count_ready() + call('ZCARD', LEASES)";
        }
    a_batch_is_one_lease_to_an_offer:
        "bounded::b1_what_one_call_leased_takes_room_until_it_is_settled" => {
            "local leased = call('ZCARD', LEASES) + (tonumber(stored[3]) or 0)" => "local leased = call('ZCARD', LEASES)";
        }
    a_batch_is_one_lease_to_a_plain_offer:
        "bounded::b1_what_one_call_leased_takes_room_until_it_is_settled" => {
            "  occupied = occupied + (tonumber(stored[3]) or 0)\n" => "";
        }
    acked_messages_of_an_expired_batch_count:
        "reliable::l7_of_batches_beyond_that_only_the_expired_count_as_ready",
        "priority::l7_of_batches_beyond_that_only_the_expired_count_as_ready" => {
            "byte(batches[k], 15) - #acked_of(batches[k]) - 1" => "byte(batches[k], 15) - 1";
        }
    every_batch_counts_as_expired:
        "reliable::l7_of_batches_beyond_that_only_the_expired_count_as_ready",
        "delay::l7_of_batches_beyond_that_only_the_expired_count_as_ready" => {
            "if deadline and tonumber(deadline) <= now then\n        expired" => "if deadline then\n        expired";
        }
    no_batch_counts_as_expired:
        "bounded::l7_of_batches_beyond_that_only_the_expired_count_as_ready" => {
            "return live + uncounted - expired, total" => "return live + uncounted, total";
        }
    a_purge_and_a_resize_stop_at_8_mib:
        "reliable::operators_a_purge_removes_any_number_of_bytes",
        "priority::operators_a_purge_removes_any_number_of_bytes",
        "bounded::b5_a_resize_drops_any_number_of_bytes" => {
            "  BYTES = math.huge -- because it returns no bodies\n" => "";
        }
    a_message_of_a_batch_is_cancelled_twice:
        "reliable::l15_each_message_of_a_batch_is_cancelled_once" => {
            "return length > 0 and sub(frame, 1, at - 3)" => "return sub(frame, 1, at - 3)";
        }
    a_cancelled_batch_leaves_its_place:
        "reliable::l15_each_message_of_a_batch_is_cancelled_once" => {
            "local left, hole = own and #own > 1," => "local left, hole = own and true,";
        }
    a_cancelled_batch_is_one_hole:
        "reliable::l15_each_message_of_a_batch_is_cancelled_once" => {
            "holes = add_to('holes', used or 1)" => "holes = add_to('holes', 1)";
        }
    batches_of_one_deadline_are_shown_one_after_another:
        "priority::l16_many_batches_of_one_deadline_are_shown_by_id" => {
            "last and call('ZCOUNT', LEASES, '-inf', last) or rank" =>
                "last and math.min(call('ZCOUNT', LEASES, '-inf', last), rank + CHUNK) or rank";
        }
    a_page_of_leases_leaves_out_the_rest_of_a_batch:
        "priority::l16_many_batches_of_one_deadline_are_shown_by_id",
        "reliable::l16_many_batches_of_one_deadline_are_shown_by_id" => {
            "          return n - 1, rank\n" => "          return 0, behind\n";
        }
    an_older_message_takes_the_new_mark_along:
        "reliable::l9_the_end_of_an_older_message_leaves_a_new_mark_alone",
        "bounded::l9_a_batch_that_evicts_an_older_message_leaves_a_new_mark_alone",
        "bounded::l9_a_batch_that_replaces_an_older_message_leaves_a_new_mark_alone" => {
            "if call('HGET', FIRSTS, key) == ids[k] then" => "if true then";
        }
    a_batch_forgets_its_own_mark_with_an_older_message:
        "bounded::l9_a_batch_that_evicts_an_older_message_leaves_a_new_mark_alone",
        "bounded::l9_a_batch_that_replaces_an_older_message_leaves_a_new_mark_alone" => {
            "        ended[#ended + 1] = key\n      end\n" => "      end\n      ended[#ended + 1] = key\n";
        }
}
