//! Repairing a damaged folder.

use std::time::SystemTime;

use queue_core::{Error, Timestamp};
use queue_file::{
    FileBackend,
    repair::{Damage, Loss, look, mend},
};
use queue_ops::{counted, duration_in_words};
use serde_json::json;

use crate::{End, Outcome, output::Output};

/// Says what a repair would lose; with `yes`, repairs the folder.
pub(crate) fn repair(url: &str, yes: bool, output: &Output) -> Outcome {
    if !crate::is_folder(url) {
        return Err(Error::invalid(
            "only a folder is repaired: name it, as in --url file:/var/lib/shop/queues",
        ));
    }
    let path = FileBackend::path(url)?;
    let Some(damage) = look(&path)? else {
        output.show(&json!({ "damage": null }), || {
            "nothing is damaged".to_owned()
        })?;
        return Ok(End::Well);
    };
    if yes {
        mend(&path, &damage)?;
    }
    let shown = json!({ "damage": as_json(&damage), "repaired": yes });
    output.show(&shown, || in_words(&damage, yes))?;
    Ok(End::all(yes))
}

fn as_json(damage: &Damage) -> serde_json::Value {
    let places = damage.places.iter();
    let places = places
        .map(|place| json!({ "file": place.file, "byte": place.byte, "records": place.records }));
    let losses = damage.losses.iter().map(|loss| {
        json!({
            "queue": loss.name, "back_to_ms": loss.back_to,
            "records": loss.records, "messages": loss.messages,
        })
    });
    json!({
        "places": places.collect::<Vec<_>>(), "losses": losses.collect::<Vec<_>>(), "whole": damage.whole,
    })
}

fn in_words(damage: &Damage, yes: bool) -> String {
    let mut text = String::new();
    for place in &damage.places {
        let records = counted(place.records, "record");
        text += &format!(
            "damaged: {records} in {}, at byte {}\n",
            place.file, place.byte
        );
    }
    for loss in &damage.losses {
        text += &of_queue(loss);
    }
    if damage.whole > 0 {
        text += &format!("{} without a loss\n", counted(damage.whole, "other queue"));
    }
    text + match yes {
        true => "repaired; the journal as it was is in the files journal-….damaged",
        false => {
            "would repair that, and keep the journal as it is in files journal-….damaged: say --yes"
        }
    }
}

fn of_queue(loss: &Loss) -> String {
    let dropped = format!(
        "{} behind the damage dropped, with {}",
        counted(loss.records, "record"),
        counted(loss.messages, "message")
    );
    let Some(name) = &loss.name else {
        return format!("a queue whose name is lost: nothing is left; {dropped}\n");
    };
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    let now = now.map_or(Timestamp::default(), |now| {
        Timestamp::from_millis(u64::try_from(now.as_millis()).unwrap_or(u64::MAX))
    });
    let state = match loss.back_to.as_millis() {
        0 => "an older state".to_owned(),
        _ => format!(
            "its state of {} ago",
            duration_in_words(now.since(loss.back_to))
        ),
    };
    format!("{name}: back to {state}; {dropped}\n")
}
