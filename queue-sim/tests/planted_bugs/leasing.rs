//! The bugs that every queue with leases can have.

/// In front of any backend, on a queue of this kind.
macro_rules! leasing_flaws {
    ($hunt:ident($kind:ident)) => {
        bugs! { $hunt($kind) {
            cancelled_claim_loses_a_message: ClaimsForAnHour, by "L7" | "L8" | "L5";
            equal_bodies_collide: EqualBodiesCollide, by "L9" | "L5" | "D3";
            non_idempotent_automatic_retry: RepeatsTheUnknown, by "L4" | "L5" | "outcome" | "linearisable";
            lost_lease_means_done: LostMeansDone, by "L4";
            defer_costs_an_attempt: DeferCharges, by "L6";
            retries_at_once: RetriesAtOnce, by "L11" | "D1";
            next_rounded_down: NextRoundedDown, by "waiting" | "linearisable";
            counters_drift: CountsWrong, by "L5" | "operators";
            headers_lost: LosesHeaders, by "L5";
            unchecked_removal: GoneMeansCancelled, by "L15";
            early_by_a_millisecond: EarlyByOne, by "D1";
        } }
    };
}

/// In the memory backend, on a queue of this kind.
macro_rules! leasing_bugs_in_memory {
    ($kind:ident) => {
        bugs! { in_memory($kind) {
            ack_ignores_the_token: Bug::AckIgnoresTheToken, by "L4";
            expiry_with_greater_than: Bug::LiveAtItsDeadline, by "L4";
            ack_after_expiry: Bug::AckAfterExpiry, by "L4";
            extend_revives_the_expired: Bug::ExtendRevivesTheExpired, by "L4";
            token_reused: Bug::TokenReused, by "L4";
            nack_keeps_its_lease: Bug::NackKeepsItsLease, by "L4";
            pop_without_a_lease: Bug::PopWithoutALease, by "L5" | "L7";
            returned_to_the_wrong_end: Bug::ReturnedToTheWrongEnd, by "L11" | "D2" | "linearisable";
            timed_from_the_push: Bug::TimedFromThePush, by "L10";
            extend_takes_the_later_deadline: Bug::ExtendTakesTheLater, by "L10" | "L4" | "linearisable";
            expiry_costs_no_attempt: Bug::ExpiryIsFree, by "L6";
            release_costs_an_attempt: Bug::ReleaseCharges, by "L6";
            poison_circles: Bug::PoisonCircles, by "L6";
            attempts_stay: Bug::AttemptsStay, by "linearisable" | "L6";
            cap_trims_nothing: Bug::CapTrimsNothing, by "linearisable" | "L13";
            paused_and_leased: Bug::LeasesWhilePaused, by "operators" | "linearisable";
            limit_is_checked_before_the_batch: Bug::LimitIsCheckedBeforeTheBatch, by "Q1" | "linearisable";
            tokens_come_back_twice: Bug::TokensComeBackTwice, by "Q2" | "linearisable";
            trim_drops_the_newest_dead_letter: Bug::TrimDropsTheNewest, by "L13" | "linearisable";
            one_dead_letter_too_many: Bug::DeadLetterTooMany, by "L13";
            revival_keeps_attempts: Bug::RevivalKeepsAttempts, by "L13" | "L6";
            retry_forgets_why: Bug::RetryForgetsWhy, by "L14";
            revival_keeps_why: Bug::RevivalKeepsWhy, by "L14" | "linearisable";
            pushed_when_it_died: Bug::PushedWhenItDied, by "L13" | "linearisable";
            result_without_its_ack: Bug::ResultWithoutItsAck, by "S1" | "linearisable";
            result_outlives_its_time: Bug::ResultOutlivesItsTime, by "S2" | "linearisable";
            results_without_bound: Bug::ResultsWithoutBound, by "linearisable";
            progress_ignores_the_token: Bug::ProgressIgnoresTheToken, by "L19" | "linearisable";
            progress_outlives_its_lease: Bug::ProgressOutlivesItsLease, by "L19" | "linearisable";
            state_ignores_the_token: Bug::StateIgnoresTheToken, by "L21" | "linearisable";
            expiry_loses_the_state: Bug::ExpiryLosesTheState, by "L21" | "linearisable";
            revival_loses_the_state: Bug::RevivalLosesTheState, by "L21" | "linearisable";
            fresh_keeps_the_state: Bug::FreshKeepsTheState, by "L21" | "linearisable";
            empty_state_keeps_the_last: Bug::EmptyStateKeepsTheLast, by "L21" | "linearisable";
            age_from_the_arrival: Bug::AgeFromTheArrival, by "L20" | "linearisable";
            last_attempt_comes_early: Bug::LastAttemptComesEarly, by "L20" | "linearisable";
            cancels_the_leased: Bug::CancelsTheLeased, by "L15";
            cancel_forgets_the_count: Bug::CancelForgetsTheCount, by "L5";
            unique_outlives_its_message: Bug::UniqueOutlivesItsMessage, by "L9" | "linearisable";
            marks_end_with_their_messages: Bug::MarksEndWithTheirMessages, by "L9" | "linearisable";
            outdated_is_delivered: Bug::OutdatedIsDelivered, by "L17";
            outdated_stays_after_return: Bug::OutdatedStaysAfterReturn,
                by "L17" | "L7" | "linearisable";
            leased_is_ended: Bug::LeasedIsEnded, by "L17" | "L4" | "linearisable";
            buried_is_dropped: Bug::BuriedIsDropped, by "L17" | "L5" | "linearisable";
            end_moves_with_retry: Bug::EndMovesWithRetry, by "L17" | "linearisable";
            push_does_not_wake_a_sleeper: Bug::ArrivalWakesNobody, by "waiting" | "D5" | "progress";
            key_freed_at_delivery: Bug::KeyFreedAtDelivery, by "B7" | "linearisable";
            cancel_keeps_the_key: Bug::CancelKeepsTheKey, by "B7";
            replaced_is_delivered: Bug::ReplacedIsDelivered, by "B7";
            replacement_takes_the_place: Bug::ReplacementTakesThePlace, by "D1" | "L11" | "linearisable";
            leased_keeps_the_key: Bug::LeasedKeepsTheKey, by "B7" | "linearisable";
            chain_forgets_its_start: Bug::ChainForgetsItsStart, by "B7" | "linearisable";
            chain_never_ends: Bug::ChainNeverEnds, by "B7" | "D1" | "linearisable";
            moves_the_leased: Bug::MovesTheLeased, by "D4";
            moved_forgets_its_attempts: Bug::MovedForgetsItsAttempts, by "L6";
            moved_forgets_why: Bug::MovedForgetsWhy, by "L14";
            move_wakes_nobody: Bug::MoveWakesNobody, by "waiting" | "D5" | "progress";
            move_ignores_now: Bug::MoveIgnoresNow, by "D4" | "linearisable";
            moves_half_a_batch: Bug::MovesHalfABatch, by "D4" | "linearisable";
        } }
        leasing_flaws!(before_memory($kind));
    };
}

/// In the Redis backend, on a queue of this kind.
macro_rules! leasing_bugs_on_redis {
    ($kind:ident) => {
        bugs! { in_scripts($kind) {
            ack_ignores_the_token: lua::ACK_IGNORES_THE_TOKEN, by "L4";
            expiry_with_greater_than: lua::LIVE_AT_ITS_DEADLINE, by "L4";
            ack_after_expiry: lua::ACK_AFTER_EXPIRY, by "L4";
            extend_revives_the_expired: lua::EXTEND_REVIVES_THE_EXPIRED, by "L4";
            token_reused: lua::TOKEN_REUSED, by "L4";
            nack_keeps_its_lease: lua::NACK_KEEPS_ITS_LEASE, by "L4" | "L1";
            pop_without_a_lease: lua::POP_WITHOUT_A_LEASE, by "L5" | "L7" | "waiting";
            timed_from_the_push: lua::TIMED_FROM_THE_PUSH, by "L10" | "L4" | "L1";
            extend_takes_the_later_deadline: lua::EXTEND_TAKES_THE_LATER, by "L10" | "L4" | "linearisable";
            expiry_costs_no_attempt: lua::EXPIRY_IS_FREE, by "L6";
            release_costs_an_attempt: lua::RELEASE_CHARGES, by "L6";
            poison_circles: lua::POISON_CIRCLES, by "L6";
            handles_go_by_what_they_opened: lua::HANDLES_GO_BY_WHAT_THEY_OPENED,
                by "linearisable" | "L6" | "L13";
            paused_and_leased: lua::LEASES_WHILE_PAUSED, by "operators" | "linearisable";
            limit_is_checked_before_the_batch: lua::LIMIT_IS_CHECKED_BEFORE_THE_BATCH, by "Q1" | "linearisable";
            tokens_come_back_twice: lua::TOKENS_COME_BACK_TWICE, by "Q2" | "linearisable";
            trim_drops_the_newest_dead_letter: lua::TRIM_DROPS_THE_NEWEST, by "L13" | "linearisable";
            one_dead_letter_too_many: lua::DEAD_LETTER_TOO_MANY, by "L13";
            revival_keeps_attempts: lua::REVIVAL_KEEPS_ATTEMPTS, by "L13" | "L6";
            retry_keeps_the_first_why: lua::RETRY_KEEPS_THE_FIRST_WHY, by "L14";
            revival_keeps_why: lua::REVIVAL_KEEPS_WHY, by "L14" | "linearisable";
            retry_forgets_the_push: lua::RETRY_FORGETS_THE_PUSH, by "L13" | "linearisable";
            discard_leaves_the_body: lua::DISCARD_LEAVES_THE_BODY, by "leftovers";
            purge_leaves_the_body: lua::PURGE_LEAVES_THE_BODY, by "leftovers";
            trim_leaves_the_body: lua::TRIM_LEAVES_THE_BODY, by "leftovers";
            ack_among_others_leaves_the_body: lua::ACK_AMONG_OTHERS_LEAVES_THE_BODY, by "leftovers";
            cancels_the_leased: lua::CANCELS_THE_LEASED, by "L15";
            cancel_forgets_the_count: lua::CANCEL_FORGETS_THE_COUNT, by "L5";
            result_without_its_ack: lua::RESULT_WITHOUT_ITS_ACK, by "S1" | "linearisable";
            result_outlives_its_time: lua::RESULT_OUTLIVES_ITS_TIME, by "S2" | "linearisable";
            results_without_bound: lua::RESULTS_WITHOUT_BOUND, by "linearisable";
            progress_ignores_the_token: lua::PROGRESS_IGNORES_THE_TOKEN,
                by "L19" | "L16" | "linearisable" | "leftovers";
            state_ignores_the_token: lua::STATE_IGNORES_THE_TOKEN, by "L21" | "linearisable";
            settlement_loses_the_state: lua::SETTLEMENT_LOSES_THE_STATE, by "L21" | "linearisable";
            extension_loses_the_state: lua::EXTENSION_LOSES_THE_STATE, by "L21" | "linearisable";
            revival_loses_the_state: lua::REVIVAL_LOSES_THE_STATE, by "L21" | "linearisable";
            fresh_keeps_the_state: lua::FRESH_KEEPS_THE_STATE, by "L21" | "linearisable";
            last_attempt_by_the_handle: lua::LAST_ATTEMPT_BY_THE_HANDLE, by "L20" | "linearisable";
            find_shows_the_expired: lua::FIND_SHOWS_THE_EXPIRED, by "L18" | "linearisable";
            key_freed_at_delivery: lua::KEY_FREED_AT_DELIVERY, by "B7" | "linearisable";
            key_outlives_its_message: lua::KEY_OUTLIVES_ITS_MESSAGE, by "leftovers" | "B7" | "linearisable";
            leased_keeps_the_key: lua::LEASED_KEEPS_THE_KEY, by "B7" | "linearisable" | "leftovers";
            replaced_is_delivered: lua::REPLACED_IS_DELIVERED, by "B7" | "L5" | "leftovers" | "linearisable";
            replacement_leaves_the_body: lua::REPLACEMENT_LEAVES_THE_BODY, by "leftovers";
            replacement_leaves_the_key: lua::REPLACEMENT_LEAVES_THE_KEY, by "leftovers";
            chain_forgets_its_start: lua::CHAIN_FORGETS_ITS_START, by "B7" | "linearisable";
            chain_never_ends: lua::CHAIN_NEVER_ENDS, by "B7" | "D1" | "linearisable";
            moves_the_leased: lua::MOVES_THE_LEASED, by "D4" | "leftovers" | "linearisable";
            move_ignores_now: lua::MOVE_IGNORES_NOW, by "D4" | "linearisable";
            move_wakes_nobody: lua::MOVE_WAKES_NOBODY, by "waiting" | "D5" | "progress";
            peek_skips_the_returned: lua::PEEK_SKIPS_THE_RETURNED, by "L16" | "linearisable";
            holder_outlives_its_lease: lua::HOLDER_OUTLIVES_ITS_LEASE, by "leftovers" | "L16";
            unique_outlives_its_message: lua::UNIQUE_OUTLIVES_ITS_MESSAGE, by "L9" | "linearisable";
            marks_end_with_their_messages: lua::MARKS_END_WITH_THEIR_MESSAGES,
                by "L9" | "linearisable";
            outdated_is_delivered: lua::OUTDATED_IS_DELIVERED, by "L17";
            outdated_stays_after_return: lua::OUTDATED_STAYS_AFTER_RETURN,
                by "leftovers" | "L17" | "L7" | "linearisable";
            leased_stays_among_ends: lua::LEASED_STAYS_AMONG_ENDS,
                by "leftovers" | "L17" | "linearisable";
            outdated_leaves_the_body: lua::OUTDATED_LEAVES_THE_BODY, by "leftovers";
            body_outlives_its_message: lua::BODY_OUTLIVES_ITS_MESSAGE, by "leftovers";
            body_goes_with_death: lua::BODY_GOES_WITH_DEATH, by "L13" | "L5" | "leftovers" | "linearisable";
            refused_body_stays: lua::REFUSED_BODY_STAYS, by "leftovers";
            upload_is_taken_twice: lua::UPLOAD_IS_TAKEN_TWICE, by "leftovers" | "L5" | "L7" | "linearisable";
            buried_is_dropped: lua::BURIED_IS_DROPPED, by "L17" | "L5" | "linearisable";
            lease_is_not_expected_to_end: lua::LEASE_IS_NOT_EXPECTED_TO_END,
                by "L7" | "L6" | "L4" | "waiting" | "leftovers" | "linearisable";
            extension_is_not_expected_to_end: lua::EXTENSION_IS_NOT_EXPECTED_TO_END,
                by "L7" | "L10" | "L4" | "waiting" | "leftovers" | "linearisable";
            expiry_wakes_nobody: lua::EXPIRY_WAKES_NOBODY, by "waiting" | "D5" | "progress";
        } }
        bugs! { between($kind) {
            non_atomic_claim: ClaimsInTwoSteps, by "L1" | "L4" | "L5";
            non_atomic_reaper_resurrects_the_acked: ReclaimsInTwoSteps, by "L3" | "L5";
            nack_not_crash_atomic: NacksInTwoSteps, by "L12" | "L5";
            client_clock_decides: ClientsClock, by "L1" | "L4" | "L10";
            no_noscript_fall_back: NoFallBack, by "outcome" | "progress" | "L8";
            wrong_hash_tag: WrongHashTag, by "slot";
            check_then_register: TellsListenersOnly, by "waiting" | "D5" | "progress";
        } }
        leasing_flaws!(before_redis($kind));
    };
}

/// In the Redis backend's fast path and its batch leases, on a queue of a kind that has them.
macro_rules! fast_path_bugs_on_redis {
    ($kind:ident) => {
        bugs! { in_scripts($kind) {
            fast_path_takes_nothing: lua::FAST_PATH_TAKES_NOTHING,
                by "L1" | "L5" | "L4" | "leftovers" | "linearisable";
            fast_path_acks_the_lost: lua::FAST_PATH_ACKS_THE_LOST, by "L4" | "linearisable";
            fast_path_acks_all_or_none: lua::FAST_PATH_ACKS_ALL_OR_NONE, by "L4" | "linearisable";
            fast_path_acks_twice: lua::FAST_PATH_ACKS_TWICE, by "L4" | "L5" | "linearisable";
            fast_path_takes_one: lua::FAST_PATH_TAKES_ONE,
                by "L1" | "L5" | "L4" | "leftovers" | "linearisable";
            fast_path_tells_no_time: lua::FAST_PATH_TELLS_NO_TIME, by "waiting" | "linearisable" | "D5" | "progress";
            fast_path_forgets_the_delayed: lua::FAST_PATH_FORGETS_THE_DELAYED,
                by "waiting" | "linearisable" | "D5" | "progress";
            fast_path_leaves_the_holder: lua::FAST_PATH_LEAVES_THE_HOLDER, by "leftovers" | "L16";
            batch_lease_expires_as_one: lua::BATCH_LEASE_EXPIRES_AS_ONE, by "L5" | "L6" | "L7" | "leftovers" | "linearisable";
            batch_lease_settles_as_a_whole_alone: lua::BATCH_LEASE_SETTLES_AS_A_WHOLE_ALONE, by "L4" | "linearisable";
            batch_lease_forgets_its_acks: lua::BATCH_LEASE_FORGETS_ITS_ACKS, by "L1" | "L4" | "L5" | "leftovers" | "linearisable";
            batch_lease_forgets_earlier_acks: lua::BATCH_LEASE_FORGETS_EARLIER_ACKS,
                by "L1" | "L4" | "L5" | "leftovers" | "linearisable";
            batch_lease_is_acked_twice: lua::BATCH_LEASE_IS_ACKED_TWICE, by "L4" | "L5" | "leftovers" | "linearisable";
            split_batch_lease_lives_longer: lua::SPLIT_BATCH_LEASE_LIVES_LONGER,
                by "L4" | "L7" | "L10" | "L16" | "leftovers" | "linearisable";
            peek_skips_the_rest_of_a_batch_lease: lua::PEEK_SKIPS_THE_REST_OF_A_BATCH_LEASE, by "L16" | "linearisable";
            acked_batch_lease_stays: lua::ACKED_BATCH_LEASE_STAYS, by "leftovers";
            acked_batch_lease_leaves_the_holder: lua::ACKED_BATCH_LEASE_LEAVES_THE_HOLDER, by "leftovers";
            acked_batch_lease_leaves_its_acks: lua::ACKED_BATCH_LEASE_LEAVES_ITS_ACKS, by "leftovers";
            acked_batch_lease_is_counted: lua::ACKED_BATCH_LEASE_IS_COUNTED, by "leftovers" | "L5" | "linearisable";
            split_batch_lease_is_counted: lua::SPLIT_BATCH_LEASE_IS_COUNTED, by "leftovers" | "L5" | "linearisable";
            split_batch_lease_counts_the_acked: lua::SPLIT_BATCH_LEASE_COUNTS_THE_ACKED, by "leftovers" | "L5" | "linearisable";
            split_batch_lease_leaves_its_acks: lua::SPLIT_BATCH_LEASE_LEAVES_ITS_ACKS, by "leftovers";
            split_batch_lease_stays: lua::SPLIT_BATCH_LEASE_STAYS, by "leftovers" | "L5" | "L1" | "linearisable";
            split_batch_lease_leaves_the_holder: lua::SPLIT_BATCH_LEASE_LEAVES_THE_HOLDER, by "leftovers";
        } }
    };
}

/// In the Redis backend, on a queue of a kind whose plain messages are ready at once. A push may lease a
/// message to a waiter, and messages with a due time are stored separately.
macro_rules! ready_at_once_bugs_on_redis {
    ($kind:ident) => {
        bugs! { in_scripts($kind) {
            due_is_ignored: lua::DUE_IS_IGNORED, by "D1";
            moved_forgets_its_attempts: lua::MOVED_FORGETS_ITS_ATTEMPTS, by "L6";
            moved_forgets_why: lua::MOVED_FORGETS_WHY, by "L14";
            move_is_not_expected: lua::MOVE_IS_NOT_EXPECTED,
                by "D5" | "L7" | "waiting" | "progress" | "leftovers" | "linearisable";
            delayed_push_is_not_expected: lua::DELAYED_PUSH_IS_NOT_EXPECTED,
                by "L7" | "waiting" | "progress" | "leftovers" | "linearisable";
            retry_is_not_expected: lua::RETRY_IS_NOT_EXPECTED,
                by "L7" | "waiting" | "progress" | "leftovers" | "linearisable";
            delayed_push_does_not_wake_a_sleeper: lua::DELAYED_PUSH_WAKES_NOBODY,
                by "waiting" | "progress";
            cancel_leaves_its_place: lua::CANCEL_LEAVES_ITS_PLACE, by "leftovers";
            handed_over_without_a_lease: lua::HANDED_OVER_WITHOUT_A_LEASE, by "L5" | "linearisable";
            handed_over_and_ready: lua::HANDED_OVER_AND_READY, by "L1" | "B1" | "linearisable";
            handed_over_out_of_turn: lua::HANDED_OVER_OUT_OF_TURN, by "F1" | "P1" | "linearisable";
            handed_over_while_paused: lua::HANDED_OVER_WHILE_PAUSED, by "operators" | "linearisable";
            handed_over_beyond_the_limit: lua::HANDED_OVER_BEYOND_THE_LIMIT, by "Q1" | "Q2" | "linearisable";
            handed_over_by_an_old_token: lua::HANDED_OVER_BY_AN_OLD_TOKEN, by "L4" | "linearisable";
            handed_over_without_a_name: lua::HANDED_OVER_WITHOUT_A_NAME, by "L16" | "linearisable";
            handed_over_without_a_body: lua::HANDED_OVER_WITHOUT_A_BODY, by "L5" | "L7" | "linearisable";
            handed_over_and_not_expected: lua::HANDED_OVER_AND_NOT_EXPECTED,
                by "leftovers" | "L7" | "L4" | "waiting" | "linearisable";
            handed_over_for_an_hour: lua::HANDED_OVER_FOR_AN_HOUR, by "L10" | "L7" | "linearisable";
            push_of_one_wakes_nobody: lua::PUSH_OF_ONE_WAKES_NOBODY, by "waiting" | "progress";
        } }
    };
}
