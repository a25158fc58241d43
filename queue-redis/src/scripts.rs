//! The table of scripts: which files of `lua/` make up each.
//!
//! An operation's own file is usually the last of its script. Shared files come before it; together they read as one
//! script from top to bottom. Each file's header lists the names that it needs from earlier files, and the names that
//! it defines for later ones. `lua/leasing` holds the work that the leasing kinds share. It builds on each kind's files
//! for the storage and the order of ready messages.

use std::sync::LazyLock;

use crate::script::{
    Kind,
    Part::{self, Counts, Files, Keys, Line, LongWay, Lookup, Moves, Next, Settings},
    Script,
};

macro_rules! lua {
    ($($name:literal)+) => {
        &[$(include_str!(concat!("../lua/", $name, ".lua"))),+]
    };
}

static RELIABLE_KIND: Kind = Kind {
    name: "reliable",
    keys: lua!["reliable/keys"],
    settings: &[],
    next: lua!["shared/list_next"],
    line: lua!["reliable/distinct" "shared/in_line" "shared/list"],
    moves: lua!["shared/list_moves"],
    counts: lua!["shared/list_counts"],
    lookup: lua!["shared/list_lookup"],
};
static DELAY_KIND: Kind = Kind {
    name: "delay",
    keys: lua!["delay/keys"],
    settings: &[],
    next: lua!["delay/next" "shared/next_members"],
    line: lua!["shared/in_line" "shared/members" "delay/line"],
    moves: lua!["delay/moves"],
    counts: lua!["delay/counts"],
    lookup: lua!["shared/line_lookup"],
};
static PRIORITY_KIND: Kind = Kind {
    name: "priority",
    keys: lua!["priority/keys"],
    settings: lua!["priority/settings"],
    next: lua!["shared/line_next" "shared/next_members"],
    line: lua!["shared/in_line" "shared/members" "priority/line"],
    moves: lua!["priority/moves"],
    counts: lua!["priority/counts"],
    lookup: lua!["shared/line_lookup"],
};
static BOUNDED_KIND: Kind = Kind {
    name: "bounded",
    keys: lua!["bounded/keys"],
    settings: &[],
    next: lua!["bounded/usual" "shared/list_next"],
    line: lua!["bounded/distinct" "shared/in_line" "shared/list"],
    moves: lua!["shared/list_moves"],
    counts: lua!["shared/list_counts"],
    lookup: lua!["shared/list_lookup"],
};
static ROTATING_KIND: Kind = Kind {
    name: "rotating",
    keys: lua!["rotating/keys"],
    settings: lua!["rotating/settings"],
    ..Kind::NONE
};
static ONCE_KIND: Kind = Kind {
    name: "once",
    keys: lua!["once/keys"],
    ..Kind::NONE
};
static WAITING_KIND: Kind = Kind {
    name: "waiting",
    ..Kind::NONE
};

const CALL: Part = Files(lua!["shared/call" "shared/arm"]);
const DRAIN: Part = Files(lua!["shared/drainable" "shared/config"]);
const RESIZE: Part = Files(lua!["bounded/same" "shared/drainable" "shared/config"]);
const READ: Part = Files(lua!["shared/readable" "shared/config"]);
const PLAIN: Part = Files(lua!["shared/plain" "shared/config"]);
const FRAMES: Part = Files(lua!["shared/frames"]);
const FITS: Part = Files(lua!["shared/fits"]);
const PACKS: Part = Files(lua!["shared/packs"]);
const SOUND: Part = Files(lua!["shared/sound"]);
const TIES: Part = Files(lua!["shared/ties" "shared/quiet"]);
const APART: Part = Files(lua!["rotating/apart"]);
const EXPECT: Part = Files(lua!["shared/expect" "shared/add_to"]);
const LEASES: Part = Files(lua![
    "shared/ends" "shared/uniques" "shared/holders" "shared/bodies" "shared/sweep" "shared/graves"
]);
const PLACES: Part = Files(lua!["shared/place_of"]);
const TIDY: Part = Files(lua![
    "shared/reframe" "shared/end_leases" "shared/wait_on" "shared/outdate" "shared/run_acks" "shared/runs"
    "shared/tidy"
]);

/// A script that first reclaims, then runs this file.
macro_rules! tidied {
    ($first:ident $($name:literal)+) => {
        &[
            CALL, Keys, $first, Settings, TIES, FRAMES, LongWay, FITS, PACKS, SOUND, EXPECT, LEASES, Line, Moves, PLACES,
            TIDY, Counts, Files(lua![$($name)+]),
        ]
    };
}

/// A script that first reclaims, then runs this file on single undelivered messages.
macro_rules! looking {
    ($first:ident $($before:literal)* then $name:literal) => {
        &[
            CALL, Keys, $first, Settings, TIES, FRAMES, LongWay, FITS, PACKS, SOUND, EXPECT, LEASES, Line, Moves, PLACES,
            TIDY, Files(lua![$($before)*]), Lookup, Files(lua![$name]),
        ]
    };
}

/// A script with a fast path, the first files. Only if the fast path cannot serve the call, the script reclaims if
/// needed and runs the second files.
macro_rules! quiet {
    ($($plain:literal)+ then $($name:literal)+) => {
        &[
            CALL, Keys, PLAIN, Settings, TIES,
            Files(lua!["shared/frames" $($plain)+]),
            LongWay, EXPECT,
            Files(lua!["shared/ended_marks" "shared/terms" $($name)+]),
            FITS, PACKS, SOUND, LEASES, Line, Moves, PLACES, TIDY, Files(lua!["shared/act"]),
        ]
    };
}

/// Declares the scripts of all leasing queues.
macro_rules! leasing_scripts {
    ($($verb:ident: $parts:expr;)+) => {
        /// The scripts that every leasing queue has.
        #[derive(Debug)]
        pub(crate) struct LeasingScripts {
            $(pub(crate) $verb: Script,)+
        }

        impl LeasingScripts {
            const fn of(kind: &'static Kind) -> Self {
                Self { $($verb: Script::new(kind, stringify!($verb), $parts),)+ }
            }

            fn all(&self) -> impl Iterator<Item = &Script> {
                [$(&self.$verb),+].into_iter()
            }
        }
    };
}

leasing_scripts! {
    settle_and_lease: &[
        CALL, Keys, DRAIN, Settings, TIES, Files(lua!["shared/frames" "shared/packs" "leasing/usual"]), Next,
        Files(lua!["leasing/acks" "shared/add_many" "leasing/usual_turn"]), LongWay, FITS, SOUND, EXPECT, LEASES, Line,
        Files(lua!["leasing/settle_and_lease"]), Moves, PLACES, TIDY,
        Files(lua!["shared/settle"]),
    ];
    extend: tidied![DRAIN "leasing/extend"];
    counters: tidied![READ "shared/ended_marks" "shared/count_leases" "leasing/counters"];
    dead_letters: tidied![READ "shared/records" "leasing/dead_letters"];
    revive: tidied![DRAIN "shared/records" "leasing/revive"];
    discard: tidied![DRAIN "leasing/discard"];
    purge: tidied![DRAIN "shared/take_out" "leasing/purge"];
    cancel: looking![DRAIN "shared/show" then "leasing/cancel"];
    peek: looking![READ "shared/show" "shared/show_leased" then "leasing/peek"];
    reconfigure: tidied![DRAIN "leasing/reconfigure"];
    pause: &[CALL, Keys, DRAIN, Settings, Files(lua!["leasing/pause"])];
    resume: &[CALL, Keys, DRAIN, Settings, Files(lua!["leasing/resume"])];
}

/// Declares scripts, and lists all of them.
macro_rules! scripts {
    (
        leasing { $($queue:ident of $queue_kind:ident;)+ }
        $($script:ident = $kind:path, $verb:literal: $parts:expr;)+
    ) => {
        $(pub(crate) static $queue: LeasingScripts = LeasingScripts::of(&$queue_kind);)+
        $(pub(crate) static $script: Script = Script::new(&$kind, $verb, $parts);)+

        /// Every script. Opening a connection loads them.
        pub(crate) static ALL: LazyLock<Vec<&Script>> = LazyLock::new(|| {
            let leasing = [$(&$queue),+].into_iter().flat_map(LeasingScripts::all);
            leasing.chain([$(&$script),+]).collect()
        });
    };
}

scripts! {
    leasing {
        RELIABLE of RELIABLE_KIND;
        DELAY of DELAY_KIND;
        PRIORITY of PRIORITY_KIND;
        BOUNDED of BOUNDED_KIND;
    }
    OPEN = Kind::NONE, "open": &[Files(lua!["shared/types" "leasing/open"])];
    LISTED = Kind::NONE, "listed": &[Files(lua!["leasing/listed"])];
    REMOVE = Kind::NONE, "remove": &[Files(lua![
        "shared/call" "shared/types" "leasing/any" "shared/run_acks" "shared/count_leases"
        "leasing/remove"
    ])];

    RELIABLE_PUSH = RELIABLE_KIND, "push": quiet![
        "shared/hand_over" "reliable/push_plain" then "shared/add_many" "shared/delay_new" "shared/line_new" "reliable/push"
    ];

    DELAY_SCHEDULE = DELAY_KIND, "schedule": quiet![
        "shared/add_many" "delay/schedule_plain" then "delay/schedule"
    ];
    DELAY_RESCHEDULE = DELAY_KIND, "reschedule": tidied![DRAIN "delay/reschedule"];
    DELAY_NEXT_DUE = DELAY_KIND, "next_due": tidied![READ "delay/next_due"];

    PRIORITY_ENQUEUE = PRIORITY_KIND, "enqueue": quiet![
        "shared/add_many" "shared/hand_over" "priority/enqueue_plain" then "shared/delay_new" "priority/enqueue"
    ];

    BOUNDED_OFFER = BOUNDED_KIND, "offer": &[
        CALL, Keys, PLAIN, Settings, TIES,
        Files(lua!["shared/frames" "shared/hand_over" "bounded/offer_plain"]), LongWay, FITS, PACKS, SOUND, EXPECT, LEASES, Line, PLACES,
        Files(lua![
            "shared/ended_marks" "shared/terms" "shared/add_many" "shared/delay_new" "shared/line_new"
            "shared/take_out" "bounded/shorten" "bounded/unreadable" "bounded/offer"
        ]),
        Moves, TIDY, Files(lua!["shared/act"]),
    ];
    BOUNDED_RECENT = BOUNDED_KIND, "recent": tidied![READ "bounded/recent"];
    BOUNDED_CAPACITY = BOUNDED_KIND, "capacity": &[CALL, Keys, PLAIN, Settings, Files(lua!["bounded/unreadable" "bounded/capacity"])];
    BOUNDED_RESIZE = BOUNDED_KIND, "resize": tidied![
        RESIZE "shared/take_out" "bounded/shorten" "bounded/resize"
    ];

    ROTATING_INSERT = ROTATING_KIND, "insert": &[
        CALL, Keys, PLAIN, Settings, Files(lua!["shared/sweep" "rotating/insert"]),
    ];
    ROTATING_ROTATE = ROTATING_KIND, "rotate": &[
        CALL, Keys, PLAIN, Settings, FRAMES, FITS, APART, Files(lua!["shared/sweep" "shared/add_to" "rotating/rotate"]),
    ];
    ROTATING_LIST = ROTATING_KIND, "list": &[CALL, Keys, PLAIN, Settings, FRAMES, FITS, APART, Files(lua!["rotating/list"])];
    ROTATING_REMOVE = ROTATING_KIND, "remove": &[CALL, Keys, PLAIN, Settings, APART, Files(lua!["rotating/remove"])];
    ROTATING_RECONFIGURE = ROTATING_KIND, "reconfigure": &[
        CALL, Keys, PLAIN, Settings, Files(lua!["rotating/reconfigure"]),
    ];
    ROTATING_LEN = ROTATING_KIND, "len": &[CALL, Keys, PLAIN, Settings, Files(lua!["rotating/len"])];

    ONCE_CLAIM = ONCE_KIND, "claim": &[CALL, Keys, Files(lua!["once/claim"])];
    ONCE_EXTEND = ONCE_KIND, "extend": &[CALL, Keys, Files(lua!["once/held" "once/extend"])];
    ONCE_FINISH = ONCE_KIND, "finish": &[CALL, Keys, Files(lua!["once/held" "once/finish"])];
    ONCE_RELEASE = ONCE_KIND, "release": &[CALL, Keys, Files(lua!["once/held" "once/release"])];
    ONCE_COUNTS = ONCE_KIND, "counts": &[CALL, Keys, Files(lua!["once/counts"])];

    WAITING_JOIN = WAITING_KIND, "join": &[CALL, Files(lua!["waiting/join"])];
    WAITING_PASS_ON = WAITING_KIND, "pass_on": &[CALL, Files(lua!["waiting/pass_on"])];
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    type Names<'a> = BTreeSet<&'a str>;

    /// The names that a file's header lists after these words.
    fn listed<'a>(file: &'a str, what: &str) -> Names<'a> {
        let lists = file.lines().filter_map(|line| line.strip_prefix(what));
        lists.flat_map(|list| list.split(", ")).collect()
    }

    fn names(code: &str) -> impl Iterator<Item = &str> {
        let words = code.split(|c: char| !(c.is_alphanumeric() || "_.".contains(c)));
        let words = words.filter_map(|word| word.split('.').next());
        words.filter(|word| !matches!(*word, "" | "_" | "function"))
    }

    /// The locals of a file's outermost block.
    fn defined(file: &str) -> Names<'_> {
        let locals = file.lines().filter_map(|line| line.strip_prefix("local "));
        let locals = locals.filter_map(|code| code.split(['=', '(', '-']).next());
        locals.flat_map(names).collect()
    }

    /// The names that a file uses, without names in comments and texts.
    fn used(file: &str) -> Names<'_> {
        let code = file.lines().filter_map(|line| line.split("--").next());
        let code = code.flat_map(|line| line.split('\'').step_by(2));
        code.flat_map(names).collect()
    }

    /// The user's needed rights, and the right that a refused user lacks, are read from there.
    #[test]
    fn each_command_is_named_where_it_is_called() {
        for script in &**ALL {
            let calls = script.source().matches("call(").count();
            let named = script.source().matches("call('").count();
            assert_eq!(calls, named, "{script:?}");
        }
    }

    #[test]
    fn each_file_says_what_it_needs_of_those_before_it_and_what_it_gives() {
        let (mut needed, mut offered) = (Names::new(), Names::new());
        for script in &**ALL {
            let (mut there, mut given) = (Names::new(), Names::new());
            for (at, file) in script.files().enumerate() {
                let told = format!("{script:?}, in {}", file.lines().next().unwrap_or("?"));
                let needs = listed(file, "-- needs: ");
                let used: Names<'_> = used(file).intersection(&there).copied().collect();
                assert_eq!(needs, used, "{told}");
                assert!(needs.is_subset(&given), "{told}: {needs:?} of {given:?}");
                let gives = listed(file, "-- gives: ");
                assert!(gives.is_subset(&defined(file)), "{told}: {gives:?}");
                needed.extend(needs);
                // The first file's names are known everywhere, so no header lists them.
                if at > 0 {
                    there.extend(defined(file));
                    offered.extend(&gives);
                }
                given.extend(gives);
            }
        }
        let unused: Vec<_> = offered.difference(&needed).collect();
        assert!(unused.is_empty(), "no file needs {unused:?}");
    }
}
