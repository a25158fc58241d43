//! Enums whose variants have names.

/// An enum, a list of all its variants, and the name of each, which it displays.
macro_rules! named {
    (
        $(#[$about:meta])*
        $visibility:vis enum $enum:ident { $($(#[$doc:meta])* $variant:ident = $text:literal,)* }
    ) => {
        $(#[$about])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        $visibility enum $enum {
            $($(#[$doc])* $variant,)*
        }

        impl $enum {
            /// All of them.
            $visibility const ALL: &[Self] = &[$(Self::$variant),*];

            /// Its name in plans and reports.
            $visibility const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$variant => $text,)*
                }
            }
        }

        impl std::fmt::Display for $enum {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.as_str())
            }
        }
    };
}

pub(crate) use named;
