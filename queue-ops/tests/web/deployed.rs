//! The paths in `deploy/` answer as probes and autoscalers expect.

use crate::site::Site;

const KUBERNETES: &str = include_str!("../../../deploy/kubernetes.yml");
const AUTOSCALER: &str = include_str!("../../../deploy/autoscaler.yml");
const DOCKERFILE: &str = include_str!("../../../deploy/Dockerfile");

#[tokio::test]
async fn the_probes_and_the_autoscaler_of_the_manifests_are_answered() {
    // As in the container, but for the address.
    assert!(KUBERNETES.contains("args: [web, --listen, \"0.0.0.0:7700\", --no-bodies]"));
    assert!(DOCKERFILE.contains("CMD [\"web\", \"--listen\", \"0.0.0.0:7700\"]"));
    let site = Site::start(&["--no-bodies"]).await;
    site.orders().await;
    let page = KUBERNETES
        .split("\n---\n")
        .find(|part| part.contains("name: qk\n"));
    let probes = page
        .expect("the page's deployment")
        .split("httpGet: {path: ");
    let paths: Vec<&str> = probes
        .skip(1)
        .filter_map(|rest| rest.split(',').next())
        .collect();
    assert_eq!(paths, ["/readyz", "/healthz"]);
    for path in paths {
        assert_eq!(site.get(path).0, 200, "{path}");
    }

    let url = AUTOSCALER
        .lines()
        .find_map(|line| line.trim().strip_prefix("url: http://qk:7700"));
    let path = url
        .expect("the URL of the trigger")
        .replace("jobs", "orders");
    // Three are ready, and one is leased. A number alone is a whole JSON text.
    assert_eq!(
        site.get(&path),
        (200.try_into().expect("a status"), "4".to_owned())
    );
}
