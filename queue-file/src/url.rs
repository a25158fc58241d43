//! The URL `file:PATH?sync=…`.

use std::{path::PathBuf, time::Duration};

use queue_core::{Error, Result};

/// When records are synced to the disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum SyncMode {
    /// Before each answer: no crash and no loss of power undoes an answered call.
    #[default]
    Always,
    /// At least once in this time: a loss of power undoes the last calls of this time at most (R1). A crash of the
    /// process undoes nothing.
    Every(Duration),
    /// When the operating system does, and at each new segment of the journal. A crash of the process undoes nothing.
    Never,
}

/// Reads what follows `file:`.
pub(crate) fn parse(url: &str) -> Result<(PathBuf, SyncMode)> {
    let scheme = url
        .split_once(':')
        .filter(|(scheme, _)| scheme.eq_ignore_ascii_case("file"));
    let Some((_, rest)) = scheme else {
        return Err(Error::invalid(
            "the URL does not begin with `file:`, as in file:/var/lib/shop/queues",
        ));
    };
    let (path, query) = rest.split_once('?').unwrap_or((rest, ""));
    // `file:///path` has an empty host.
    let path = path
        .strip_prefix("//")
        .filter(|path| path.starts_with('/'))
        .unwrap_or(path);
    if path.is_empty() || path.starts_with("//") {
        return Err(Error::invalid(
            "the URL names no folder: write file:/var/lib/shop/queues, or file:queues for a folder here",
        ));
    }
    let mut sync = None;
    for parameter in query.split('&').filter(|parameter| !parameter.is_empty()) {
        match parameter.split_once('=') {
            Some(("sync", value)) if sync.is_none() => sync = Some(parse_sync(value)?),
            Some(("sync", _)) => return Err(Error::invalid("the URL has `sync` twice")),
            _ => {
                let name = parameter.split('=').next().unwrap_or_default();
                return Err(Error::invalid(format!(
                    "the URL has an unknown parameter `{name}`: known is sync=always, sync=50ms or sync=never"
                )));
            }
        }
    }
    Ok((PathBuf::from(path), sync.unwrap_or_default()))
}

fn parse_sync(value: &str) -> Result<SyncMode> {
    let millis = |number: &str| number.parse().ok().map(Duration::from_millis);
    let seconds = |number: &str| number.parse().ok().map(Duration::from_secs);
    let time = match value {
        "always" => return Ok(SyncMode::Always),
        "never" => return Ok(SyncMode::Never),
        _ => match value.strip_suffix("ms") {
            Some(number) => millis(number),
            None => value.strip_suffix('s').and_then(seconds),
        },
    };
    let is_time = |time: &Duration| (1..=60_000).contains(&time.as_millis());
    time.filter(is_time).map(SyncMode::Every).ok_or_else(|| {
        Error::invalid(format!(
            "the URL has sync={value}: write sync=always, sync=never, or a time of up to a minute, as sync=50ms"
        ))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_has_a_path_and_perhaps_a_sync() {
        let ms = |millis| SyncMode::Every(Duration::from_millis(millis));
        for (url, path, sync) in [
            ("file:queues", "queues", SyncMode::Always),
            ("file:/var/lib/q", "/var/lib/q", SyncMode::Always),
            (
                "FILE:///var/lib/q?sync=always",
                "/var/lib/q",
                SyncMode::Always,
            ),
            ("file:./q?sync=50ms", "./q", ms(50)),
            ("file:q?sync=2s", "q", ms(2_000)),
            ("file:q?sync=never", "q", SyncMode::Never),
        ] {
            assert_eq!(parse(url).unwrap(), (PathBuf::from(path), sync), "{url}");
        }
        for url in [
            "memory:",
            "file:",
            "file:?sync=always",
            "file://host/path",
            "file:q?sync=0ms",
            "file:q?sync=2m",
            "file:q?sync=always&sync=never",
            "file:q?async=true",
        ] {
            assert!(parse(url).is_err(), "{url}");
        }
    }
}
