//! Commands of `qk` that people paste into a shell.

use queue_core::is_unprintable;

/// A command of `qk` for a POSIX shell. Its values may be anything: none of them is executed, ends the command, or is
/// taken for an option.
///
/// ```
/// use queue_ops::ShellCommand;
///
/// let resume = ShellCommand::new("resume").value("orders");
/// assert_eq!(resume.text().unwrap(), "qk resume orders");
/// let group = resume.clone().option("group", "o'neill; rm -r .");
/// assert_eq!(group.text().unwrap(), r"qk resume orders --group 'o'\''neill; rm -r .'");
/// let group = resume.option("group", "-x\n1");
/// assert_eq!(group.text().unwrap(), r#"qk resume orders --group="$(printf '\055x\0121')""#);
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShellCommand {
    verb: &'static str,
    values: Vec<Vec<u8>>,
    options: Vec<(&'static str, Option<Vec<u8>>)>,
}

impl ShellCommand {
    /// The command with this verb: `dead groups`.
    pub const fn new(verb: &'static str) -> Self {
        Self {
            verb,
            values: Vec::new(),
            options: Vec::new(),
        }
    }

    /// Adds a value without a name.
    #[must_use]
    pub fn value(mut self, value: impl AsRef<[u8]>) -> Self {
        self.values.push(value.as_ref().to_vec());
        self
    }

    /// Adds an option with its value.
    #[must_use]
    pub fn option(mut self, name: &'static str, value: impl AsRef<[u8]>) -> Self {
        self.options.push((name, Some(value.as_ref().to_vec())));
        self
    }

    /// Adds an option without a value.
    #[must_use]
    pub fn flag(mut self, name: &'static str) -> Self {
        self.options.push((name, None));
        self
    }

    /// The text to paste, on one line of printable characters. `None` if no shell can pass one of the values: a value
    /// with a byte 0, or with a line break at its end.
    pub fn text(&self) -> Option<String> {
        let mut text = format!("qk {}", self.verb);
        let values = self.values.iter().map(|value| quoted(value));
        let values = values.collect::<Option<Vec<_>>>()?;
        let like_options = self.values.iter().any(|value| value.starts_with(b"-"));
        let push_values = |text: &mut String| {
            for value in &values {
                text.push(' ');
                text.push_str(value);
            }
        };
        if !like_options {
            push_values(&mut text);
        }
        for (name, value) in &self.options {
            text.push_str(" --");
            text.push_str(name);
            let Some(value) = value else { continue };
            // Behind an `=`, no value is taken for an option.
            text.push(if value.starts_with(b"-") { '=' } else { ' ' });
            text.push_str(&quoted(value)?);
        }
        if like_options {
            text.push_str(" --");
            push_values(&mut text);
        }
        Some(text)
    }
}

/// One value for a POSIX shell. Text that cannot be printed, and other bytes, are written by `printf`.
fn quoted(value: &[u8]) -> Option<String> {
    let plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"_./:@%+,=-".contains(byte);
    match std::str::from_utf8(value) {
        Ok(text) if !text.is_empty() && value.iter().all(plain) => Some(text.to_owned()),
        Ok(text) if !text.contains(is_unprintable) => {
            Some(format!("'{}'", text.replace('\'', r"'\''")))
        }
        // The shell passes no byte 0, and cuts off line breaks at the end of a substitution.
        _ if value.contains(&0) || value.ends_with(b"\n") => None,
        _ => {
            let shown = value.iter().map(|byte| match byte {
                b' ' | b'_' | b'.' | b'/' | b':' => char::from(*byte).to_string(),
                byte if byte.is_ascii_alphanumeric() => char::from(*byte).to_string(),
                byte => format!(r"\{byte:03o}"),
            });
            Some(format!("\"$(printf '{}')\"", shown.collect::<String>()))
        }
    }
}

#[cfg(all(test, unix))]
mod tests {
    use std::{
        fs,
        os::unix::fs::PermissionsExt,
        path::{Path, PathBuf},
        process::Command,
    };

    use proptest::{collection::vec, prelude::*};

    use super::*;

    /// A folder whose program `qk` writes its arguments, each with a byte 0 behind it; and an empty folder in it.
    struct Shell(PathBuf);

    impl Shell {
        fn new(name: &str) -> Self {
            let folder = std::env::temp_dir().join(format!("{name}-{}", std::process::id()));
            fs::create_dir_all(folder.join("empty")).unwrap();
            let qk = folder.join("qk");
            fs::write(&qk, "#!/bin/sh\nprintf '%s\\0' \"$@\"\n").unwrap();
            fs::set_permissions(&qk, fs::Permissions::from_mode(0o755)).unwrap();
            Self(folder)
        }

        /// The arguments that a pasted line gives to `qk`. Nothing else happens.
        fn paste(&self, line: &str) -> Vec<Vec<u8>> {
            let path = format!("{}:/usr/bin:/bin", self.0.display());
            let shell = Command::new("sh")
                .args(["-c", line])
                .env("PATH", path)
                .current_dir(self.empty())
                .output()
                .unwrap();
            assert!(
                shell.status.success() && shell.stderr.is_empty(),
                "{line}: {shell:?}"
            );
            assert_eq!(fs::read_dir(self.empty()).unwrap().count(), 0, "{line}");
            let mut words: Vec<_> = shell.stdout.split(|byte| *byte == 0).collect();
            assert_eq!(words.pop(), Some(&b""[..]), "{line}");
            words.into_iter().map(<[u8]>::to_vec).collect()
        }

        fn empty(&self) -> PathBuf {
            Path::new(&self.0).join("empty")
        }
    }

    impl Drop for Shell {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    /// Bytes that shells treat specially, more often than others.
    fn value() -> impl Strategy<Value = Vec<u8>> {
        let special = prop::sample::select(&b"';&|`$(){}<>\"\\#!*?~ -\n\t\x1b%="[..]);
        prop_oneof![
            vec(prop_oneof![special, any::<u8>()], 0..24),
            any::<String>().prop_map(String::into_bytes),
            "[ -~]{0,12}".prop_map(String::into_bytes),
        ]
    }

    fn cannot_be_passed(value: &[u8]) -> bool {
        let is_text = std::str::from_utf8(value).is_ok_and(|text| !text.contains(is_unprintable));
        !is_text && (value.contains(&0) || value.ends_with(b"\n"))
    }

    #[test]
    fn a_pasted_command_gives_its_values_and_does_nothing_else() {
        let shell = Shell::new("queue-ops-paste");
        let cases = ProptestConfig::with_cases(256);
        proptest!(cases, |(values in vec(value(), 1..4), option in value())| {
            let command = values.iter().fold(ShellCommand::new("dead revive"), ShellCommand::value);
            let text = command.option("group", &option).flag("yes").text();
            if values.iter().chain([&option]).any(|value| cannot_be_passed(value)) {
                prop_assert_eq!(text, None);
                return Ok(());
            }
            let text = text.unwrap();
            prop_assert!(!text.contains(is_unprintable), "{text:?}");
            let words = shell.paste(&text);
            let joined = [b"--group=", &option[..]].concat();
            let group = match option.starts_with(b"-") {
                true => vec![joined],
                false => vec![b"--group".to_vec(), option],
            };
            let (verb, yes) = ([b"dead".to_vec(), b"revive".to_vec()], [b"--yes".to_vec()]);
            let meant = match values.iter().any(|value| value.starts_with(b"-")) {
                true => [&verb[..], &group, &yes, &[b"--".to_vec()], &values].concat(),
                false => [&verb[..], &values, &group, &yes].concat(),
            };
            prop_assert_eq!(words, meant, "{}", text);
        });
    }

    #[test]
    fn plain_values_stand_without_quotes() {
        for (value, shown) in [
            ("orders", "orders"),
            ("shop:order_1.eu-west", "shop:order_1.eu-west"),
            ("", "''"),
            ("a b", "'a b'"),
            ("Größe", "'Größe'"),
            ("it's", r"'it'\''s'"),
            ("a\u{202e}b", r#""$(printf 'a\342\200\256b')""#),
        ] {
            let text = ShellCommand::new("why").value(value).text();
            assert_eq!(text, Some(format!("qk why {shown}")), "{value:?}");
        }
    }
}
