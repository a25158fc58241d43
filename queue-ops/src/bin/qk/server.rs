//! Commands about the server.

use std::sync::Arc;

use queue_core::{Backend, Error, FolderFacts, ServerFacts, with_sources};
use queue_ops::{Severity, clock_finding, duration_in_words, server_facts, server_findings};
use serde_json::json;

use crate::{
    End, Outcome,
    output::{Output, table, write_line},
};

/// Says that there are no queues. It names the server, since another may be meant, and the server's problems, since they
/// may be why.
pub(crate) async fn no_queues(backend: &dyn Backend, recipe: bool, output: &Output) -> Outcome {
    let mut well = true;
    let text = if recipe {
        "a published strategy keeps no list of its queues: name one".to_owned()
    } else {
        let server = server_facts(backend).await?;
        let mut findings = server.as_ref().map_or_else(Vec::new, server_findings);
        findings.retain(|finding| finding.severity != Severity::Note);
        well = findings.is_empty();
        let problems = findings.iter().map(|finding| format!("!! {finding}\n"));
        let problems: String = problems.collect();
        let address = server.map(|server| format!(" at {}", server.address));
        let address = address.unwrap_or_default();
        format!("{problems}no queues{address}; `--url` or QUEUE_URL names another server")
    };
    output.show(&json!([]), || text)?;
    Ok(End::all(well))
}

/// Shows the server's problems, now and later. An error of connecting is a finding, too.
pub(crate) async fn check(backend: Result<Arc<dyn Backend>, Error>, output: &Output) -> Outcome {
    let backend = match backend {
        Ok(backend) => backend,
        Err(error) => {
            output.show(&json!({ "problems": [with_sources(&error)] }), || {
                format!("!! {}", with_sources(&error))
            })?;
            return Ok(End::Findings);
        }
    };
    let Some(server) = server_facts(&*backend).await? else {
        write_line("the user may not call INFO, so nothing is known of the server: give it +info")?;
        return Ok(End::Findings);
    };
    let mut problems = Vec::new();
    problems.extend(
        server
            .refuses_writes
            .iter()
            .map(|why| format!("it refuses writes: {why}")),
    );
    for denied in &server.denied {
        problems.push(format!(
            "user `{}` lacks the right to {} (refused {} ×, last {} ago): `qk acl` prints the rights",
            denied.user,
            denied.what,
            denied.times,
            duration_in_words(denied.age)
        ));
    }
    problems.extend(server.warnings.iter().cloned());
    let clock = clock_finding(&*backend).await?;
    problems.extend(clock.map(|finding| finding.sentence));
    let clean = problems.is_empty();
    output.show(&json!({ "server": server, "problems": problems }), || {
        let room = room(&server);
        let mut text = format!("{} at {}, {room}\n", server.version, server.address);
        for problem in &problems {
            text.push_str(&format!("!  {problem}\n"));
        }
        if clean {
            text.push_str("nothing is wrong\n");
        }
        text
    })?;
    Ok(if clean { End::Well } else { End::Findings })
}

/// The room that a server has; and the process that has a folder.
fn room(server: &ServerFacts) -> String {
    let Some(folder) = &server.folder else {
        let limit = server.memory_limit;
        let limit = limit.map_or("no limit".to_owned(), |limit| format!("of {limit}"));
        return format!("{} bytes used, {limit}", server.memory);
    };
    let free = folder.free.map(|free| format!("{free} bytes free, "));
    let owner = match folder {
        FolderFacts {
            held: true,
            owner: Some(owner),
            ..
        } => format!("the process {owner} has it"),
        FolderFacts { held: true, .. } => "a process has it".to_owned(),
        _ => "no process has it".to_owned(),
    };
    free.unwrap_or_default() + &owner
}

pub(crate) fn acl(prefix: &str, cluster: bool, optional: bool, read_only: bool) -> Outcome {
    write_line(&match (optional, cluster) {
        (true, _) => {
            let rights = queue_redis::optional_rights().iter();
            let rows = rights.map(|right| {
                [right.rule, right.gives, right.exposes]
                    .map(str::to_owned)
                    .to_vec()
            });
            table(&["RIGHT", "GIVES", "EXPOSES"], &rows.collect::<Vec<_>>())
        }
        (false, _) if read_only => {
            let rules = queue_redis::read_only_rules(prefix);
            let slots = if cluster {
                " +cluster|slots +asking"
            } else {
                ""
            };
            rules + slots
        }
        (false, true) => queue_redis::cluster_access_rules(prefix),
        (false, false) => queue_redis::access_rules(prefix),
    })?;
    Ok(End::Well)
}
