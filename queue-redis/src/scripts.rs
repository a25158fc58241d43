//! The table of scripts: what each is called, and the file or the part of `lua/` that it begins with.
//!
//! [`script`](crate::script) describes how a file includes others. The header of each file and of each part lists the
//! names that it needs from texts before it, and the names that it gives to texts behind it. Most scripts begin with
//! `lib/call`, so no header lists its names.

use std::sync::LazyLock;

use crate::script::Script;

/// Declares the scripts of all leasing queues.
macro_rules! leasing_scripts {
    ($($verb:ident: $entry:literal;)+) => {
        /// The scripts that every leasing queue has.
        #[derive(Debug)]
        pub(crate) struct LeasingScripts {
            $(pub(crate) $verb: Script,)+
        }

        impl LeasingScripts {
            const fn of(kind: &'static str) -> Self {
                Self { $($verb: Script::new(kind, stringify!($verb), $entry),)+ }
            }

            fn all(&self) -> impl Iterator<Item = &Script> {
                [$(&self.$verb),+].into_iter()
            }
        }
    };
}

leasing_scripts! {
    push: "{kind}/push";
    settle_and_lease: "leasing/settle_and_lease";
    extend: "leasing/extend";
    counters: "leasing/counters";
    dead_letters: "leasing/dead_letters#dead_letters";
    revive: "leasing/dead_letters#revive";
    discard: "leasing/dead_letters#discard";
    purge: "leasing/operators#purge";
    cancel: "leasing/operators#cancel";
    reschedule: "leasing/operators#reschedule";
    peek: "leasing/peek";
    find: "leasing/find";
    reconfigure: "leasing/operators#reconfigure";
    pause: "leasing/operators#pause";
    resume: "leasing/operators#resume";
}

/// Declares scripts, and lists all of them.
macro_rules! scripts {
    (
        leasing { $($queue:ident = $queue_kind:literal;)+ }
        $($script:ident = $kind:literal, $verb:literal: $entry:literal;)+
    ) => {
        $(pub(crate) static $queue: LeasingScripts = LeasingScripts::of($queue_kind);)+
        $(pub(crate) static $script: Script = Script::new($kind, $verb, $entry);)+

        /// Every script. Opening a connection loads them.
        pub(crate) static ALL: LazyLock<Vec<&Script>> = LazyLock::new(|| {
            let leasing = [$(&$queue),+].into_iter().flat_map(LeasingScripts::all);
            leasing.chain([$(&$script),+]).collect()
        });
    };
}

scripts! {
    leasing {
        RELIABLE = "reliable";
        DELAY = "delay";
        PRIORITY = "priority";
        GROUPED = "grouped";
        BOUNDED = "bounded";
    }
    OPEN = "", "open": "leasing/queues#open";
    LISTED = "", "listed": "leasing/queues#listed";
    REMOVE = "", "remove": "leasing/queues#remove";

    DELAY_NEXT_DUE = "delay", "next_due": "delay/next_due";

    GROUPED_CHANGE = "grouped", "change": "grouped/change";
    GROUPED_GROUPS = "grouped", "groups": "grouped/groups";

    BOUNDED_RECENT = "bounded", "recent": "bounded/recent";
    BOUNDED_CAPACITY = "bounded", "capacity": "bounded/capacity#capacity";
    BOUNDED_RESIZE = "bounded", "resize": "bounded/capacity#resize";

    ROTATING_INSERT = "rotating", "insert": "rotating/insert";
    ROTATING_ROTATE = "rotating", "rotate": "rotating/rotate";
    ROTATING_LIST = "rotating", "list": "rotating/ring#list";
    ROTATING_REMOVE = "rotating", "remove": "rotating/ring#remove";
    ROTATING_RECONFIGURE = "rotating", "reconfigure": "rotating/ring#reconfigure";
    ROTATING_LEN = "rotating", "len": "rotating/ring#len";

    ONCE_CLAIM = "once", "claim": "once/store#claim";
    ONCE_EXTEND = "once", "extend": "once/store#extend";
    ONCE_FINISH = "once", "finish": "once/store#finish";
    ONCE_RELEASE = "once", "release": "once/store#release";
    ONCE_COUNTS = "once", "counts": "once/store#counts";

    WAITING_JOIN = "waiting", "join": "waiting/marker#join";
    WAITING_FORWARD = "waiting", "forward": "waiting/marker#forward";
}

/// The script of [`leak_finder`](crate::leak_finder), which no backend calls.
pub(crate) static LEAKS: Script = Script::new("", "leaks", "leaks");

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use super::*;

    type Names<'a> = BTreeSet<&'a str>;

    /// The names in a line of a header that begins with these words.
    fn listed<'a>(line: &'a str, what: &str) -> impl Iterator<Item = &'a str> {
        let list = line.strip_prefix(what).map(str::trim_end);
        list.into_iter().flat_map(|list| list.split(", "))
    }

    fn names(code: &str) -> impl Iterator<Item = &str> {
        let words = code.split(|c: char| !(c.is_alphanumeric() || "_.".contains(c)));
        let words = words.filter_map(|word| word.split('.').next());
        words.filter(|word| !matches!(*word, "" | "_" | "function"))
    }

    /// The locals of the outermost block that this line defines.
    fn defined(line: &str) -> impl Iterator<Item = &str> {
        let code = line.strip_prefix("local ");
        let code = code.and_then(|code| code.split(['=', '(', '-']).next());
        code.into_iter().flat_map(names)
    }

    /// The names that this line uses, without names in comments and texts.
    fn used(line: &str) -> impl Iterator<Item = &str> {
        let code = line.split("--").next().into_iter();
        let code = code.flat_map(|code| code.split('\'').step_by(2));
        code.flat_map(names)
    }

    /// The names that a header lists, and the names that its text defines and uses.
    #[derive(Default)]
    struct Header<'a> {
        needs: Names<'a>,
        gives: Names<'a>,
        used: Names<'a>,
        defined: Names<'a>,
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
    fn headers_list_the_names_that_a_text_needs_and_gives() {
        let (mut needed, mut offered) = (BTreeSet::<String>::new(), BTreeSet::new());
        let mut wrong = BTreeMap::new(); // and in which script
        for script in ALL.iter().copied().chain([&LEAKS]) {
            let lines = script.lines();
            let mut headers = BTreeMap::<&str, Header<'_>>::new();
            let mut there = BTreeMap::<&str, &str>::new();
            for (from, text) in &lines {
                let from = &**from;
                let header = headers.entry(from).or_default();
                header.needs.extend(listed(text, "-- needs: "));
                header.gives.extend(listed(text, "-- gives: "));
                let others = |name: &&str| there.get(name).is_some_and(|giver| *giver != from);
                header.used.extend(used(text).filter(others));
                header.defined.extend(defined(text));
                if from != "lib/call" {
                    there.extend(defined(text).map(|name| (name, from)));
                }
            }
            for (from, header) in &headers {
                if header.needs != header.used {
                    wrong.insert(format!("{from} needs {:?}", header.used), script);
                }
                let given = |name: &&&str| {
                    let giver = there.get(**name).and_then(|from| headers.get(from));
                    giver.is_some_and(|giver| giver.gives.contains(**name))
                };
                let missing: Vec<_> = header.needs.iter().filter(|name| !given(name)).collect();
                if !missing.is_empty() {
                    wrong.insert(format!("nothing gives {missing:?} to {from}"), script);
                }
                if !header.gives.is_subset(&header.defined) {
                    wrong.insert(format!("{from} defines only {:?}", header.defined), script);
                }
            }
            for (from, header) in headers {
                needed.extend(header.needs.iter().map(|name| (*name).to_owned()));
                if from != "lib/call" {
                    offered.extend(header.gives.iter().map(|name| (*name).to_owned()));
                }
            }
        }
        assert!(wrong.is_empty(), "{wrong:#?}");
        let unused: Vec<_> = offered.difference(&needed).collect();
        assert!(unused.is_empty(), "no text needs {unused:?}");
    }
}
