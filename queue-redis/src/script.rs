//! A Lua script of this backend: the files that make it up.

use std::{fmt, ops::Deref, sync::OnceLock};

/// Texts of files of `lua/`.
pub(crate) type Files = &'static [&'static str];

const BEGINS: Files = &[include_str!("../lua/shared/long_way.lua")];
const ENDS: Files = &[include_str!("../lua/shared/long_way_ends.lua")];

/// The parts that only the scripts of one kind of queue have.
pub(crate) struct Kind {
    pub(crate) name: &'static str,
    pub(crate) keys: Files,
    /// These files read stored data of this kind only, once the stored configuration is known.
    pub(crate) settings: Files,
    /// These files find the next message when a call leases a single one.
    pub(crate) next: Files,
    /// These files read and take the kind's ready messages.
    pub(crate) line: Files,
    /// These files make messages ready.
    pub(crate) moves: Files,
    /// These files count ready messages.
    pub(crate) counts: Files,
    /// These files find one undelivered message, and show the ready ones.
    pub(crate) lookup: Files,
}

impl Kind {
    /// For scripts that belong to no kind.
    pub(crate) const NONE: Self = Self {
        name: "",
        keys: &[],
        settings: &[],
        next: &[],
        line: &[],
        moves: &[],
        counts: &[],
        lookup: &[],
    };
}

/// A part of a script: files, or the files of its kind.
pub(crate) enum Part {
    Files(Files),
    Keys,
    Settings,
    Next,
    Line,
    Moves,
    Counts,
    Lookup,
    /// The following parts form a separate function, see `lua/shared/long_way.lua`.
    LongWay,
}

/// A script: a `static`, assembled at its first use.
pub(crate) struct Script {
    kind: &'static Kind,
    verb: &'static str,
    parts: &'static [Part],
    whole: OnceLock<&'static redis_link::Script>,
}

impl Script {
    pub(crate) const fn new(
        kind: &'static Kind,
        verb: &'static str,
        parts: &'static [Part],
    ) -> Self {
        Self {
            kind,
            verb,
            parts,
            whole: OnceLock::new(),
        }
    }

    /// The whole script. Its name is its kind and operation; the operation alone if it has no kind.
    pub(crate) fn whole(&self) -> &'static redis_link::Script {
        self.whole.get_or_init(|| {
            let name = format!("{}/{}", self.kind.name, self.verb);
            let name = name.trim_start_matches('/').to_owned();
            redis_link::Script::new(name, self.files().collect())
        })
    }

    /// Its files, from first to last.
    pub(crate) fn files(&self) -> impl Iterator<Item = &'static str> {
        let files = self.parts.iter().flat_map(|part| match part {
            Part::Files(files) => files,
            Part::Keys => self.kind.keys,
            Part::Settings => self.kind.settings,
            Part::Next => self.kind.next,
            Part::Line => self.kind.line,
            Part::Moves => self.kind.moves,
            Part::Counts => self.kind.counts,
            Part::Lookup => self.kind.lookup,
            Part::LongWay => BEGINS,
        });
        let long = self.parts.iter().any(|part| matches!(part, Part::LongWay));
        let end = if long { ENDS } else { &[] };
        files.chain(end).copied()
    }
}

impl fmt::Debug for Script {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.whole().fmt(f)
    }
}

impl Deref for Script {
    type Target = redis_link::Script;

    fn deref(&self) -> &redis_link::Script {
        self.whole()
    }
}
