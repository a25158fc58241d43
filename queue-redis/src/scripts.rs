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

/// A kind's table: its name, the fragment with its keys, and those that make its line.
macro_rules! leasing_scripts {
    ($kind:literal: $keys:literal, $($line:literal)+) => {
        LeasingScripts {
            turn: leasing_scripts!(@verb $kind "turn", $keys, $($line)+ "shared/settle"),
            extend: leasing_scripts!(@verb $kind "extend", $keys, $($line)+),
            counters: leasing_scripts!(@verb $kind "counters", $keys, $($line)+),
            dead_letters: leasing_scripts!(@verb $kind "dead_letters", $keys, $($line)+),
            revive: leasing_scripts!(@verb $kind "revive", $keys, $($line)+),
            discard: leasing_scripts!(@verb $kind "discard", $keys, $($line)+),
            pause: leasing_scripts!(@plain $kind "pause", $keys),
            resume: leasing_scripts!(@plain $kind "resume", $keys),
            purge: leasing_scripts!(@verb $kind "purge", $keys, $($line)+),
        }
    };
    (@verb $kind:literal $verb:literal, $keys:literal, $($part:literal)+) => {
        Script::new(
            concat!($kind, "/", $verb),
            concat!(
                include_str!("../lua/shared/call.lua"), "\n",
                include_str!(concat!("../lua/", $keys, ".lua")), "\n",
                include_str!("../lua/shared/drainable.lua"), "\n",
                include_str!("../lua/shared/config.lua"), "\n",
                include_str!("../lua/shared/frames.lua"), "\n",
                $(include_str!(concat!("../lua/", $part, ".lua")), "\n",)+
                include_str!(concat!("../lua/leasing/", $verb, ".lua")),
            ),
        )
    };
    (@plain $kind:literal $verb:literal, $keys:literal) => {
        Script::new(
            concat!($kind, "/", $verb),
            concat!(
                include_str!("../lua/shared/call.lua"), "\n",
                include_str!(concat!("../lua/", $keys, ".lua")), "\n",
                include_str!("../lua/shared/drainable.lua"), "\n",
                include_str!("../lua/shared/config.lua"), "\n",
                include_str!(concat!("../lua/leasing/", $verb, ".lua")),
            ),
        )
    };
}

pub(crate) static OPEN: Script = script!("open": "leasing/open");

pub(crate) static RELIABLE: LeasingScripts = leasing_scripts!(
    "reliable": "reliable/keys",
    "reliable/distinct" "shared/list" "shared/graves" "shared/tidy"
);
pub(crate) static RELIABLE_PUSH: Script = script!(
    "reliable/push":
    "shared/call" "reliable/keys" "shared/config" "shared/frames"
    "reliable/distinct" "shared/list" "shared/graves" "shared/tidy" "shared/dedup"
    "reliable/push"
);

pub(crate) static DELAY: LeasingScripts = leasing_scripts!(
    "delay": "delay/keys",
    "shared/members" "delay/line" "shared/graves" "shared/tidy"
);
pub(crate) static DELAY_SCHEDULE: Script = script!(
    "delay/schedule":
    "shared/call" "delay/keys" "shared/config" "shared/frames"
    "shared/members" "delay/line" "shared/graves" "shared/tidy" "shared/dedup"
    "delay/schedule"
);
pub(crate) static DELAY_CANCEL: Script = script!(
    "delay/cancel":
    "shared/call" "delay/keys" "shared/drainable" "shared/config" "shared/frames"
    "shared/members" "delay/line" "shared/graves" "shared/tidy"
    "delay/cancel"
);
pub(crate) static DELAY_RESCHEDULE: Script = script!(
    "delay/reschedule":
    "shared/call" "delay/keys" "shared/drainable" "shared/config" "shared/frames"
    "shared/members" "delay/line" "shared/graves" "shared/tidy"
    "delay/reschedule"
);
pub(crate) static DELAY_NEXT_DUE: Script = script!(
    "delay/next_due":
    "shared/call" "delay/keys" "shared/drainable" "shared/config" "shared/frames"
    "shared/members" "delay/line" "shared/graves" "shared/tidy"
    "delay/next_due"
);

pub(crate) static PRIORITY: LeasingScripts = leasing_scripts!(
    "priority": "priority/keys",
    "shared/members" "priority/line" "shared/graves" "shared/tidy"
);
pub(crate) static PRIORITY_ENQUEUE: Script = script!(
    "priority/enqueue":
    "shared/call" "priority/keys" "shared/config" "shared/frames"
    "shared/members" "priority/line" "shared/graves" "shared/tidy" "shared/dedup"
    "priority/enqueue"
);

pub(crate) static BOUNDED: LeasingScripts = leasing_scripts!(
    "bounded": "bounded/keys",
    "bounded/distinct" "shared/list" "shared/graves" "shared/tidy"
);
pub(crate) static BOUNDED_OFFER: Script = script!(
    "bounded/offer":
    "shared/call" "bounded/keys" "shared/config" "shared/frames"
    "bounded/distinct" "shared/list" "shared/graves" "shared/tidy" "shared/dedup"
    "bounded/offer"
);
pub(crate) static BOUNDED_RECENT: Script = script!(
    "bounded/recent":
    "shared/call" "bounded/keys" "shared/drainable" "shared/config" "shared/frames"
    "bounded/distinct" "shared/list" "shared/graves" "shared/tidy"
    "bounded/recent"
);
pub(crate) static BOUNDED_CAPACITY: Script = script!(
    "bounded/capacity": "shared/call" "bounded/keys" "shared/config" "bounded/capacity"
);
pub(crate) static BOUNDED_RESIZE: Script = script!(
    "bounded/resize":
    "shared/call" "bounded/keys" "shared/drainable" "shared/config" "shared/frames"
    "bounded/distinct" "shared/list" "shared/graves" "shared/tidy"
    "bounded/resize"
);

pub(crate) static ROTATING_INSERT: Script = script!(
    "rotating/insert": "shared/call" "rotating/keys" "shared/config" "rotating/insert"
);
pub(crate) static ROTATING_ROTATE: Script = script!(
    "rotating/rotate":
    "shared/call" "rotating/keys" "shared/drainable" "shared/config" "shared/frames"
    "rotating/rotate"
);
pub(crate) static ROTATING_LIST: Script = script!(
    "rotating/list":
    "shared/call" "rotating/keys" "shared/config" "shared/frames" "rotating/list"
);
pub(crate) static ROTATING_REMOVE: Script = script!(
    "rotating/remove":
    "shared/call" "rotating/keys" "shared/drainable" "shared/config" "rotating/remove"
);
pub(crate) static ROTATING_LEN: Script = script!(
    "rotating/len": "shared/call" "rotating/keys" "shared/config" "rotating/len"
);

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
];
