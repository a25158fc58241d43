//! The table of scripts: which files of `lua/` make up each.
//!
//! A verb's file is the last part of its script. Before it come the fragments that it shares with
//! others; together they read as one script from top to bottom. What the four leasing kinds do
//! alike is written once, in `lua/leasing`, on top of the kind's line: where ready messages stand,
//! and in which order.

use crate::script::Script;

macro_rules! script {
    ($name:literal: $($part:literal)+) => {
        Script::new($name, concat!($(include_str!(concat!("../lua/", $part, ".lua")), "\n"),+))
    };
}

/// The verbs that every leasing queue has.
#[derive(Debug)]
pub(crate) struct LeasingScripts {
    pub(crate) turn: Script,
    pub(crate) extend: Script,
    pub(crate) counters: Script,
    pub(crate) dead_letters: Script,
    pub(crate) revive: Script,
    pub(crate) discard: Script,
    pub(crate) pause: Script,
    pub(crate) resume: Script,
    pub(crate) purge: Script,
}

/// A kind's table. `line` is how its ready messages are read and taken, `moves` what puts them
/// there, `counts` what is counted. A turn looks first whether it needs any of `moves`.
macro_rules! leasing_scripts {
    ($kind:literal: line $line:tt moves $moves:tt counts $counts:tt) => {
        LeasingScripts {
            turn: leasing_scripts!(@turn $kind $line $moves),
            extend: leasing_scripts!(@verb $kind "extend" "drainable" $line $moves $counts),
            counters: leasing_scripts!(@verb $kind "counters" "readable" $line $moves $counts),
            dead_letters: leasing_scripts!(@verb $kind "dead_letters" "readable" $line $moves $counts),
            revive: leasing_scripts!(@verb $kind "revive" "drainable" $line $moves $counts),
            discard: leasing_scripts!(@verb $kind "discard" "drainable" $line $moves $counts),
            pause: leasing_scripts!(@plain $kind "pause"),
            resume: leasing_scripts!(@plain $kind "resume"),
            purge: leasing_scripts!(@verb $kind "purge" "drainable" $line $moves $counts),
        }
    };
    (@turn $kind:literal [$($line:literal)+] [$($moves:literal)+]) => {
        Script::new(concat!($kind, "/turn"), concat!(
            include_str!("../lua/shared/call.lua"), "\n",
            include_str!("../lua/shared/arm.lua"), "\n",
            include_str!(concat!("../lua/", $kind, "/keys.lua")), "\n",
            include_str!("../lua/shared/drainable.lua"), "\n",
            include_str!("../lua/shared/meta.lua"), "\n",
            include_str!("../lua/shared/config.lua"), "\n",
            include_str!("../lua/shared/quiet.lua"), "\n",
            include_str!("../lua/shared/frames.lua"), "\n",
            $(include_str!(concat!("../lua/", $line, ".lua")), "\n",)+
            include_str!("../lua/shared/add_many.lua"), "\n",
            include_str!("../lua/shared/settle_acks.lua"), "\n",
            include_str!("../lua/leasing/turn.lua"), "\n",
            include_str!("../lua/shared/reframe.lua"), "\n",
            $(include_str!(concat!("../lua/", $moves, ".lua")), "\n",)+
            include_str!("../lua/shared/graves.lua"), "\n",
            include_str!("../lua/shared/tidy.lua"), "\n",
            include_str!("../lua/shared/settle.lua"), "\n",
            include_str!("../lua/leasing/turn_after_tidying.lua"),
        ))
    };
    (@verb $kind:literal $verb:literal $first:literal
        [$($line:literal)+] [$($moves:literal)+] [$($counts:literal)+]) => {
        Script::new(concat!($kind, "/", $verb), concat!(
            include_str!("../lua/shared/call.lua"), "\n",
            include_str!("../lua/shared/arm.lua"), "\n",
            include_str!(concat!("../lua/", $kind, "/keys.lua")), "\n",
            include_str!(concat!("../lua/shared/", $first, ".lua")), "\n",
            include_str!("../lua/shared/meta.lua"), "\n",
            include_str!("../lua/shared/config.lua"), "\n",
            include_str!("../lua/shared/frames.lua"), "\n",
            $(include_str!(concat!("../lua/", $line, ".lua")), "\n",)+
            include_str!("../lua/shared/reframe.lua"), "\n",
            $(include_str!(concat!("../lua/", $moves, ".lua")), "\n",)+
            include_str!("../lua/shared/graves.lua"), "\n",
            include_str!("../lua/shared/tidy.lua"), "\n",
            $(include_str!(concat!("../lua/", $counts, ".lua")), "\n",)+
            include_str!(concat!("../lua/leasing/", $verb, ".lua")),
        ))
    };
    (@plain $kind:literal $verb:literal) => {
        Script::new(concat!($kind, "/", $verb), concat!(
            include_str!("../lua/shared/call.lua"), "\n",
            include_str!("../lua/shared/arm.lua"), "\n",
            include_str!(concat!("../lua/", $kind, "/keys.lua")), "\n",
            include_str!("../lua/shared/drainable.lua"), "\n",
            include_str!("../lua/shared/meta.lua"), "\n",
            include_str!("../lua/shared/config.lua"), "\n",
            include_str!(concat!("../lua/leasing/", $verb, ".lua")),
        ))
    };
}

pub(crate) static OPEN: Script = script!("open": "leasing/open");

pub(crate) static RELIABLE: LeasingScripts = leasing_scripts!(
    "reliable":
    line ["reliable/distinct" "shared/list"]
    moves ["reliable/placed" "shared/list_moves"]
    counts ["shared/clear_marks" "shared/list_counts"]
);
pub(crate) static RELIABLE_PUSH: Script = script!(
    "reliable/push":
    "shared/call" "shared/arm" "reliable/keys" "shared/meta_of_push" "shared/config" "shared/quiet"
    "shared/clear_marks" "shared/dedup" "reliable/push"
    "shared/reframe" "reliable/distinct" "reliable/placed" "shared/list_moves" "shared/graves" "shared/tidy" "shared/act"
);

pub(crate) static DELAY: LeasingScripts = leasing_scripts!(
    "delay":
    line ["shared/members" "delay/line"]
    moves ["delay/moves"]
    counts ["shared/clear_marks" "delay/counts"]
);
pub(crate) static DELAY_SCHEDULE: Script = script!(
    "delay/schedule":
    "shared/call" "shared/arm" "delay/keys" "shared/meta_of_push" "shared/config" "shared/quiet"
    "shared/clear_marks" "shared/dedup" "shared/add_many" "delay/schedule"
    "shared/reframe" "delay/line" "delay/moves" "shared/graves" "shared/tidy" "shared/act"
);
pub(crate) static DELAY_CANCEL: Script = script!(
    "delay/cancel":
    "shared/call" "shared/arm" "delay/keys" "shared/drainable" "shared/meta_of_push" "shared/config"
    "delay/line" "shared/reframe" "delay/moves" "shared/graves" "shared/tidy"
    "delay/cancel"
);
pub(crate) static DELAY_RESCHEDULE: Script = script!(
    "delay/reschedule":
    "shared/call" "shared/arm" "delay/keys" "shared/drainable" "shared/meta_of_push" "shared/config"
    "delay/line" "shared/reframe" "delay/moves" "shared/graves" "shared/tidy"
    "delay/reschedule"
);
pub(crate) static DELAY_NEXT_DUE: Script = script!(
    "delay/next_due":
    "shared/call" "shared/arm" "delay/keys" "shared/readable" "shared/meta_of_push" "shared/config"
    "delay/line" "shared/reframe" "delay/moves" "shared/graves" "shared/tidy"
    "delay/next_due"
);

pub(crate) static PRIORITY: LeasingScripts = leasing_scripts!(
    "priority":
    line ["priority/ageing" "shared/members" "priority/line"]
    moves ["priority/moves"]
    counts ["shared/clear_marks" "priority/counts"]
);
pub(crate) static PRIORITY_ENQUEUE: Script = script!(
    "priority/enqueue":
    "shared/call" "shared/arm" "priority/keys" "shared/meta_of_push" "shared/config" "shared/quiet" "priority/ageing"
    "shared/clear_marks" "shared/dedup" "shared/add_many" "priority/enqueue"
    "shared/reframe" "priority/line" "priority/moves" "shared/graves" "shared/tidy" "shared/act"
);

pub(crate) static BOUNDED: LeasingScripts = leasing_scripts!(
    "bounded":
    line ["bounded/distinct" "shared/list"]
    moves ["bounded/placed" "shared/list_moves"]
    counts ["shared/clear_marks" "shared/list_counts"]
);
pub(crate) static BOUNDED_OFFER: Script = script!(
    "bounded/offer":
    "shared/call" "shared/arm" "bounded/keys" "shared/meta_of_push" "shared/config" "shared/quiet" "shared/frames" "bounded/distinct" "shared/list"
    "shared/clear_marks" "shared/dedup" "bounded/offer"
    "shared/reframe" "bounded/placed" "shared/list_moves" "shared/graves" "shared/tidy" "shared/act"
);
pub(crate) static BOUNDED_RECENT: Script = script!(
    "bounded/recent":
    "shared/call" "shared/arm" "bounded/keys" "shared/readable" "shared/meta_of_push" "shared/config"
    "shared/frames" "bounded/distinct" "shared/list" "shared/reframe" "bounded/placed"
    "shared/list_moves" "shared/graves" "shared/tidy" "shared/list_counts"
    "bounded/recent"
);
pub(crate) static BOUNDED_CAPACITY: Script = script!(
    "bounded/capacity": "shared/call" "bounded/keys" "shared/meta_of_push" "shared/config" "bounded/capacity"
);
pub(crate) static BOUNDED_RESIZE: Script = script!(
    "bounded/resize":
    "shared/call" "shared/arm" "bounded/keys" "shared/drainable" "shared/meta_of_push" "shared/config"
    "shared/frames" "bounded/distinct" "shared/list" "shared/reframe" "bounded/placed"
    "shared/list_moves" "shared/graves" "shared/tidy" "shared/list_counts"
    "bounded/resize"
);

pub(crate) static ROTATING_INSERT: Script = script!(
    "rotating/insert": "shared/call" "shared/arm" "rotating/keys" "shared/meta_of_push" "shared/config" "rotating/insert"
);
pub(crate) static ROTATING_ROTATE: Script = script!(
    "rotating/rotate":
    "shared/call" "shared/arm" "rotating/keys" "shared/drainable" "shared/meta_of_push" "shared/config" "shared/frames"
    "rotating/rotate"
);
pub(crate) static ROTATING_LIST: Script = script!(
    "rotating/list":
    "shared/call" "rotating/keys" "shared/meta_of_push" "shared/config" "shared/frames" "rotating/list"
);
pub(crate) static ROTATING_REMOVE: Script = script!(
    "rotating/remove":
    "shared/call" "rotating/keys" "shared/drainable" "shared/meta_of_push" "shared/config" "rotating/remove"
);
pub(crate) static ROTATING_LEN: Script = script!(
    "rotating/len": "shared/call" "rotating/keys" "shared/meta_of_push" "shared/config" "rotating/len"
);

pub(crate) static ONCE_CLAIM: Script =
    script!("once/claim": "shared/call" "once/keys" "once/claim");
pub(crate) static ONCE_EXTEND: Script = script!(
    "once/extend": "shared/call" "once/keys" "once/held" "once/extend"
);
pub(crate) static ONCE_FINISH: Script = script!(
    "once/finish": "shared/call" "once/keys" "once/held" "once/finish"
);
pub(crate) static ONCE_RELEASE: Script = script!(
    "once/release": "shared/call" "once/keys" "once/held" "once/release"
);
pub(crate) static ONCE_COUNTS: Script = script!(
    "once/counts": "shared/call" "once/keys" "once/counts"
);

pub(crate) static WAITING_JOIN: Script = script!("waiting/join": "shared/call" "waiting/join");
pub(crate) static WAITING_PASS_ON: Script = script!(
    "waiting/pass_on": "shared/call" "shared/arm" "waiting/pass_on"
);

/// The script that the server knows by this hash.
pub(crate) fn find(hash: &str) -> Option<&'static Script> {
    ALL.iter().copied().find(|script| script.hash() == hash)
}

/// Every script: what is loaded when a connection is opened.
pub(crate) static ALL: &[&Script] = &[
    &OPEN,
    &RELIABLE.turn,
    &RELIABLE.extend,
    &RELIABLE.counters,
    &RELIABLE.dead_letters,
    &RELIABLE.revive,
    &RELIABLE.discard,
    &RELIABLE.pause,
    &RELIABLE.resume,
    &RELIABLE.purge,
    &RELIABLE_PUSH,
    &DELAY.turn,
    &DELAY.extend,
    &DELAY.counters,
    &DELAY.dead_letters,
    &DELAY.revive,
    &DELAY.discard,
    &DELAY.pause,
    &DELAY.resume,
    &DELAY.purge,
    &DELAY_SCHEDULE,
    &DELAY_CANCEL,
    &DELAY_RESCHEDULE,
    &DELAY_NEXT_DUE,
    &PRIORITY.turn,
    &PRIORITY.extend,
    &PRIORITY.counters,
    &PRIORITY.dead_letters,
    &PRIORITY.revive,
    &PRIORITY.discard,
    &PRIORITY.pause,
    &PRIORITY.resume,
    &PRIORITY.purge,
    &PRIORITY_ENQUEUE,
    &BOUNDED.turn,
    &BOUNDED.extend,
    &BOUNDED.counters,
    &BOUNDED.dead_letters,
    &BOUNDED.revive,
    &BOUNDED.discard,
    &BOUNDED.pause,
    &BOUNDED.resume,
    &BOUNDED.purge,
    &BOUNDED_OFFER,
    &BOUNDED_RECENT,
    &BOUNDED_CAPACITY,
    &BOUNDED_RESIZE,
    &ROTATING_INSERT,
    &ROTATING_ROTATE,
    &ROTATING_LIST,
    &ROTATING_REMOVE,
    &ROTATING_LEN,
    &ONCE_CLAIM,
    &ONCE_EXTEND,
    &ONCE_FINISH,
    &ONCE_RELEASE,
    &ONCE_COUNTS,
    &WAITING_JOIN,
    &WAITING_PASS_ON,
];
