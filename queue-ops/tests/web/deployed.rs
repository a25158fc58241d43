//! The paths in `deploy/` answer as probes and autoscalers expect.

use std::process::Command;

use real_redis::Server;

use crate::site::Site;

const KUBERNETES: &str = include_str!("../../../deploy/kubernetes.yml");
const AUTOSCALER: &str = include_str!("../../../deploy/autoscaler.yml");
const COMPOSE: &str = include_str!("../../../deploy/compose.yml");
const DOCKERFILE: &str = include_str!("../../../deploy/Dockerfile");

/// The arguments of `qk` in a file: a list that begins with `web`.
fn arguments(file: &str) -> Vec<String> {
    let lists = file.split('[').filter_map(|rest| rest.split_once(']'));
    let words = |list: &str| -> Vec<String> {
        let words = list.split(',').map(|word| word.trim().trim_matches('"'));
        words.map(str::to_owned).collect()
    };
    let mut lists = lists.map(|(list, _)| words(list));
    lists.find(|words| words[0] == "web").expect("the list")
}

/// Nothing is listened on before the hosts are known.
#[test]
fn to_listen_on_all_addresses_demands_hosts() {
    let server = Server::start().expect("a server");
    for listen in ["0.0.0.0:0", "[::]:0"] {
        let qk = Command::new(env!("CARGO_BIN_EXE_qk"))
            .args(["--url", &server.url(), "web", "--listen", listen])
            .output()
            .expect("it runs");
        let said = String::from_utf8_lossy(&qk.stderr);
        assert!(said.contains("--host") && said.contains(listen), "{said}");
        assert_eq!(qk.status.code(), Some(2), "{said}");
    }
}

/// Each pod reaches what it needs, and is reached at its own port alone.
#[test]
fn the_manifests_give_each_pod_no_token_and_a_network_policy() {
    let parts: Vec<&str> = KUBERNETES.split("\n---\n").collect();
    let of_kind = |kind: &str| -> Vec<&str> {
        let kind = format!("kind: {kind}\n");
        parts
            .iter()
            .copied()
            .filter(|part| part.contains(&kind))
            .collect()
    };
    let deployments = of_kind("Deployment");
    let policies = of_kind("NetworkPolicy");
    assert_eq!((deployments.len(), policies.len()), (2, 2));
    for (app, port, from) in [
        ("service", 8080, "[ingress-nginx, monitoring]"),
        ("qk", 7700, "[ingress-nginx, monitoring, keda]"),
    ] {
        let own = |parts: &[&str]| -> String {
            let name = format!("  name: {app}\n");
            let mut own = parts.iter().filter(|part| part.contains(&name));
            own.next().unwrap_or_else(|| panic!("of {app}")).to_string()
        };
        let pod = own(&deployments);
        assert!(
            pod.contains("      automountServiceAccountToken: false\n"),
            "{app}"
        );
        assert!(pod.contains(&format!("containerPort: {port}}}")), "{app}");
        let policy = own(&policies);
        assert!(policy.contains("policyTypes: [Ingress, Egress]"), "{app}");
        assert!(
            policy.contains(&format!("matchLabels: {{app: {app}}}")),
            "{app}"
        );
        let (ingress, egress) = policy.split_once("  egress:\n").expect("both ways");
        let ports = |part: &str| -> Vec<String> {
            let ports = part.split("{port: ").skip(1);
            ports
                .filter_map(|rest| Some(rest.split_once('}')?.0.to_owned()))
                .collect()
        };
        assert_eq!(ports(ingress), [format!("{port}, protocol: TCP")], "{app}");
        assert!(ingress.contains(&format!("values: {from}")), "{app}");
        let needed = [
            "53, protocol: UDP",
            "53, protocol: TCP",
            "6379, protocol: TCP",
        ];
        assert_eq!(ports(egress), needed, "{app}");
        // Neither rule is open to all.
        assert_eq!(egress.matches("    - to:\n").count(), 2, "{app}");
        assert!(
            egress.contains("{app: redis}") && egress.contains("kube-system"),
            "{app}"
        );
    }
}

#[tokio::test]
async fn the_probes_and_the_autoscaler_of_the_manifests_are_answered() {
    // As in the container, but for the address: all of them are listened on, so the hosts have to be named.
    let in_all = "0.0.0.0:7700";
    for arguments in [
        arguments(KUBERNETES),
        arguments(COMPOSE),
        arguments(DOCKERFILE),
    ] {
        let listens = arguments.windows(2).any(|two| two == ["--listen", in_all]);
        assert!(
            listens && arguments.iter().any(|one| one == "--host"),
            "{arguments:?}"
        );
    }
    let arguments = arguments(KUBERNETES);
    let arguments: Vec<_> = arguments.iter().map(String::as_str).collect();
    assert_eq!(arguments[..3], ["web", "--listen", in_all]);
    let site = Site::start_in_all(&arguments[3..]).await;
    site.orders().await;
    let page = KUBERNETES
        .split("\n---\n")
        .find(|part| part.contains("name: qk\n"));
    let probes = page
        .expect("the page's deployment")
        .split("httpGet: {path: ");
    let probes: Vec<&str> = probes.skip(1).collect();
    let of = |probe: &str, start: &str, end: char| {
        let (_, rest) = probe.lines().next()?.split_once(start)?;
        Some(rest.split(end).next()?.to_owned())
    };
    for (probe, path) in probes.iter().zip(["/readyz", "/healthz"]) {
        assert!(probe.starts_with(path), "{probe}");
        let host = of(probe, "{name: Host, value: ", '}').expect("a host");
        assert_eq!(site.get_as(&host, path).0, 200, "{path}");
        assert_eq!(site.get(path).0, 421, "another host");
    }
    assert_eq!(probes.len(), 2);

    let url = AUTOSCALER
        .lines()
        .find_map(|line| line.trim().strip_prefix("url: http://"));
    let (host, path) = url
        .and_then(|url| url.split_once('/'))
        .expect("the URL of the trigger");
    let path = format!("/{}", path.replace("jobs", "orders"));
    // Three are ready, and one is leased. A number alone is a whole JSON text.
    assert_eq!(
        site.get_as(host, &path),
        (200.try_into().expect("a status"), "4".to_owned())
    );
}
