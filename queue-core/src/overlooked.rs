//! Proofs that a dropped answer does not compile where `unused_must_use` is denied.
//!
//! Each call is compiled twice: with its answer dropped, which must fail, and with its answer named.

macro_rules! is_noticed {
    ($($name:ident: $call:literal;)+) => {$(
        #[doc = concat!(
            "```compile_fail\n#![deny(unused_must_use)]\nuse queue_core::*;\n",
            "async fn drops(queue: &dyn DelayQueue, id: MessageId, receipt: Receipt, once: &dyn OnceStore)",
            " -> Result<()> {\n", $call, ".await?;\nOk(())\n}\n```\n",
            "```\n#![deny(unused_must_use)]\nuse queue_core::*;\n",
            "async fn names(queue: &dyn DelayQueue, id: MessageId, receipt: Receipt, once: &dyn OnceStore)",
            " -> Result<()> {\nlet _answer = ", $call, ".await?;\nOk(())\n}\n```\n",
        )]
        fn $name() {}
    )+};
}

is_noticed! {
    settled: "queue.settle_one(Settlement::ack(receipt))";
    cancelled: "queue.cancel_one(id)";
    rescheduled: "queue.reschedule_one(id, std::time::Duration::ZERO)";
    pushed: "queue.push_one(\"a\")";
    found: "queue.find_one(id)";
    leased: "queue.lease(std::num::NonZeroUsize::MIN, std::time::Duration::from_secs(1))";
    claimed: "once.claim(b\"key\", std::time::Duration::from_secs(1))";
}
