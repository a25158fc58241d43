//! The page of periodic jobs.

use std::sync::Arc;

use axum::{Form, extract::State, response::Response};
use maud::{Markup, html};
use queue_core::{Backend, Error, Queues, Result};
use queue_schedule::{Periodic, ScheduleInfo, Schedules};
use serde::Deserialize;

use super::{
    Web,
    access::Operator,
    actions::back,
    asked::name,
    frame::Frame,
    show::{Failed, act as form, page},
};
use crate::{ShellCommand, duration_in_words as words, hex::hex, schedules::with_ring};

/// The schedules that are stored, if there are any. Opening them would make their ring.
async fn stored(web: &Web) -> Result<Option<Schedules>> {
    if web
        .backend
        .open_stored(&name(&web.schedules)?)
        .await?
        .is_none()
    {
        return Ok(None);
    }
    let queues = Queues::from(Arc::clone(&web.backend) as Arc<dyn Backend>);
    Schedules::open(&queues, &web.schedules).await.map(Some)
}

pub(super) async fn list(State(web): State<Web>, frame: Frame) -> Result<Markup, Failed> {
    let listed = match stored(&web).await? {
        Some(schedules) => schedules.list().await?,
        None => Vec::new(),
    };
    let now = web.backend.now().await?;
    let acts = frame.acts();
    let to = frame.to(&["schedules"]);
    let content = html! {
        @if listed.is_empty() { p { "There are no schedules under the name " code { (web.schedules) } "." } }
        @else {
            div.scroll { table {
                thead { tr {
                    @for head in ["Schedule", "Rule", "Queue", "Next"] { th scope="col" { (head) } }
                    @if acts { th scope="col" { "Actions" } }
                } }
                tbody { @for one in &listed { tr {
                    td.text { (one.name) }
                    td.text { (one.rule) @if let Some(own) = &one.program_rule { " " span.aside { "edited; the program's is " (own) } } }
                    td.text { a href=(frame.to(&["queues", &one.queue])) { (one.queue) } }
                    td { @match (&one.problem, one.next) {
                        (Some(problem), _) => strong { (problem) },
                        (None, Some(next)) => { "in " (words(next.since(now))) },
                        (None, None) => strong { (if one.enabled { "never" } else { "disabled" }) },
                    } }
                    @if acts { td {
                        @let (verb, what) = match (&one.problem, one.enabled) {
                            (Some(_), _) => ("remove", "Remove"),
                            (None, true) => ("disable", "Disable"),
                            (None, false) => ("enable", "Enable"),
                        };
                        @let own = [("name", one.name.clone())];
                        (form(&to, verb, what, &own))
                        @if one.problem.is_none() { (form(&to, "run", "Run now", &own)) (edit_form(&to, one)) }
                    } }
                } } }
            } }
        }
    };
    let command = with_ring(ShellCommand::new("schedules ls"), &web.schedules);
    let command = command.text().unwrap_or_default();
    Ok(page(&frame, "Schedules", &command, &content))
}

/// The form that gives a schedule another rule.
fn edit_form(to: &str, one: &ScheduleInfo) -> Markup {
    let id = format!("rule-{}", hex(one.name.as_bytes()));
    html! {
        details.form {
            summary { "Edit" }
            form method="post" action=(to) {
                input type="hidden" name="action" value="edit";
                input type="hidden" name="name" value=(one.name);
                label for=(id) { "Rule" }
                input id=(id) name="rule" value=(one.rule) required spellcheck="false";
                button { "Set it" }
            }
        }
    }
}

#[derive(Debug, Deserialize)]
pub(super) struct Action {
    action: String,
    name: String,
    /// Of an edit: the rule, as the page shows it.
    #[serde(default)]
    rule: String,
}

pub(super) async fn act(
    operator: Operator,
    frame: Frame,
    State(web): State<Web>,
    Form(action): Form<Action>,
) -> Result<Response, Failed> {
    let done = do_it(&web, &action).await;
    let mut what = format!("{} schedule {}", action.action, action.name);
    if !action.rule.is_empty() {
        what.push_str(&format!(": {}", action.rule));
    }
    web.note(&operator, what, done.as_deref()).await;
    done?;
    Ok(back(frame.to(&["schedules"])))
}

async fn do_it(web: &Web, Action { action, name, rule }: &Action) -> Result<String> {
    let missing = || Error::invalid(format!("there is no schedule `{name}`"));
    let schedules = stored(web).await?.ok_or_else(missing)?;
    let done = match &**action {
        "enable" => schedules.enable(name).await?,
        "disable" => schedules.disable(name).await?,
        "remove" => schedules.remove(name).await?,
        "run" => schedules.run_now(name).await?,
        "edit" => schedules.edit(&Periodic::read(name, rule)?).await?,
        other => return Err(Error::invalid(format!("there is no action `{other}` here"))),
    };
    match done {
        true => Ok("done".to_owned()),
        false => Err(missing()),
    }
}
