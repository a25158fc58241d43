//! The hosts that a page answers to.

use axum::http::{HeaderMap, Uri, header, uri::Authority};

/// The host that a request names, in small letters. None if it names none, several, or something that is no host.
pub(super) fn of_request(uri: &Uri, headers: &HeaderMap) -> Option<Authority> {
    let mut named = headers.get_all(header::HOST).iter();
    let host = match (named.next(), named.next()) {
        (Some(host), None) => host.to_str().ok()?.to_ascii_lowercase(),
        // HTTP/2 has it in the address.
        (None, _) => uri.authority()?.as_str().to_ascii_lowercase(),
        (Some(_), Some(_)) => return None,
    };
    let host: Authority = host.parse().ok()?;
    // A user's name before the host is for clients alone.
    (!host.host().is_empty() && !host.as_str().contains('@')).then_some(host)
}

/// Whether a host is listed: with its port, or without one, which stands for every port. Without a list, this machine's
/// own names and addresses are: no other site's name leads to them in a browser that sends that name (DNS rebinding).
pub(super) fn is_served(listed: &[String], host: &Authority) -> bool {
    if listed.is_empty() {
        return is_loopback(host.host());
    }
    listed.iter().any(|one| {
        let one = one.to_ascii_lowercase();
        one == host.as_str() || one == host.host()
    })
}

fn is_loopback(host: &str) -> bool {
    let address = host.trim_start_matches('[').trim_end_matches(']');
    let is_own = |address: std::net::IpAddr| address.to_canonical().is_loopback();
    host == "localhost" || host.ends_with(".localhost") || address.parse().is_ok_and(is_own)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(hosts: &[&str]) -> Option<Authority> {
        let mut headers = HeaderMap::new();
        for host in hosts {
            headers.append(header::HOST, host.parse().expect("a value"));
        }
        of_request(&Uri::from_static("/"), &headers)
    }

    #[test]
    fn one_host_is_named_once() {
        assert_eq!(
            request(&["Ops.Example:80"]).expect("a host").as_str(),
            "ops.example:80"
        );
        for none in [
            &[][..],
            &["a", "a"],
            &["a", "b"],
            &[""],
            &["a b"],
            &["a/b"],
            &["u@a"],
            &[":80"],
        ] {
            assert_eq!(request(none), None, "{none:?}");
        }
        let second = of_request(&Uri::from_static("http://A.example/x"), &HeaderMap::new());
        assert_eq!(second.expect("HTTP/2").as_str(), "a.example");
    }

    #[test]
    fn without_a_list_only_this_machine_is_served() {
        let is_served = |host: &str| is_served(&[], &request(&[host]).expect(host));
        for own in [
            "localhost",
            "localhost:7700",
            "LOCALHOST",
            "a.localhost:1",
            "127.0.0.1",
            "127.0.0.1:7700",
            "127.9.9.9",
            "[::1]",
            "[::1]:7700",
            "[::ffff:127.0.0.1]:80",
        ] {
            assert!(is_served(own), "{own}");
        }
        for foreign in [
            "evil.example",
            "evil.example:7700",
            "localhost.evil.example",
            "evil-localhost",
            "127.0.0.1.evil.example",
            "127.0.0.1.nip.io:7700",
            "localhost.",
            "10.0.0.1",
            "[::2]",
            "0.0.0.0:7700",
            "128.0.0.1",
            "2130706433",
        ] {
            assert!(!is_served(foreign), "{foreign}");
        }
    }

    #[test]
    fn a_list_is_all_that_is_served() {
        let listed = [
            "Ops.example".to_owned(),
            "queues.example:8443".to_owned(),
            "[::1]:7700".to_owned(),
        ];
        let is_served = |host: &str| is_served(&listed, &request(&[host]).expect(host));
        for listed in [
            "ops.example",
            "ops.example:7700",
            "OPS.example",
            "queues.example:8443",
            "[::1]:7700",
        ] {
            assert!(is_served(listed), "{listed}");
        }
        for other in [
            "localhost",
            "127.0.0.1:7700",
            "queues.example",
            "queues.example:84430",
            "queues.example:844",
            "[::1]",
            "ops.example.evil.example",
            "evil-ops.example",
            "ops.example.",
            "ops",
        ] {
            assert!(!is_served(other), "{other}");
        }
    }
}
