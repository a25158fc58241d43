//! Bugs of the Redis backend outside the scripts: between client and server, one request becomes several,
//! or another one.

use std::fmt::Debug;

use async_trait::async_trait;
use bytes::Bytes;
use queue_sim::wire::{Reply, Request, Rewrite, Steps};

use crate::lua::{Edit, Edits};

/// A bug between a client and its server, and the changes that it needs in scripts.
#[async_trait]
pub(crate) trait Meddling: Debug + Copy + Send + Sync + 'static {
    /// The end of the names of the scripts that it calls in another way than usual.
    const SCRIPT: &str = "";
    /// The changes in them.
    const EDITS: Edits = &[];

    /// Plays a request as [`Rewrite::rewrite`] does.
    async fn meddle(self, request: Request, steps: &Steps<'_>) -> Option<Reply>;
}

/// Puts a bug between every client and its server.
#[derive(Debug)]
pub(crate) struct Between<M>(pub(crate) M);

#[async_trait]
impl<M: Meddling> Rewrite for Between<M> {
    async fn rewrite(&self, request: Request, steps: &Steps<'_>) -> Option<Reply> {
        self.0.meddle(request, steps).await
    }
}

macro_rules! edit {
    ($file:literal: $find:literal => $replace:literal) => {
        Edit {
            file: $file,
            find: $find,
            replace: $replace,
        }
    };
}

/// Whether this call leases and settles nothing.
fn leases(request: &Request) -> bool {
    let is_turn = request
        .script
        .is_some_and(|name| name.ends_with("/settle_and_lease"));
    is_turn && request.arguments().len() == 6 && &request.arguments()[2][..] != b"0"
}

/// The same call in this phase: the argument with the lease time also carries the phase.
fn phase(request: &Request, phase: &str) -> Request {
    let mut request = request.clone();
    let lease_time = String::from_utf8_lossy(&request.arguments()[3]).into_owned();
    let process = request.process;
    request.arguments_mut()[3] = format!("{phase}{process} {lease_time}").into();
    request
}

/// Both phases of a lease, one after the other, if the first found the queue.
async fn in_two_phases(request: &Request, steps: &Steps<'_>) -> Option<Reply> {
    if !leases(request) {
        return None;
    }
    let looked = steps.run(&phase(request, "look")).await;
    if looked.is_nil() || looked.error().is_some() {
        return Some(looked);
    }
    Some(steps.run(&phase(request, "act")).await)
}

/// In KEYS, because the function that uses them has no room for another upvalue.
const PHASES: Edit = edit!("leasing/settle_and_lease": "local wants, lease_time, settlements = tonumber(ARGV[3]), tonumber(ARGV[4]), #ARGV - 6" =>
    "local lane, length
     KEYS.phase, lane, length = string.match(ARGV[4], '^(%a+)(%d+) (%d+)')
     local wants, lease_time, settlements = tonumber(ARGV[3]), tonumber(length or ARGV[4]), #ARGV - 6
     KEYS.memory = META .. (lane or '')");

/// A call in phases takes the slow path.
const LONG_WAY: Edit = edit!("leasing/settle_and_lease": "local only_acks = now <" => "local only_acks = not KEYS.phase and now <");

/// Finds messages, and takes them in another step.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ClaimsInTwoSteps;

#[async_trait]
impl Meddling for ClaimsInTwoSteps {
    const SCRIPT: &str = "settle_and_lease";
    const EDITS: Edits = &[
        PHASES,
        LONG_WAY,
        edit!("leasing/settle_and_lease": "  local picked = for_all or pick(allowed)" =>
            "  local seen = KEYS.phase == 'act' and call('GET', KEYS.memory)
               local picked = seen and cmsgpack.unpack(seen) or pick(allowed)
               if KEYS.phase == 'look' then
                 call('SET', KEYS.memory, cmsgpack.pack(picked))
                 return 0
               end"),
    ];

    async fn meddle(self, request: Request, steps: &Steps<'_>) -> Option<Reply> {
        in_two_phases(&request, steps).await
    }
}

/// Finds expired leases, and gives their messages back in another step.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ReclaimsInTwoSteps;

#[async_trait]
impl Meddling for ReclaimsInTwoSteps {
    const SCRIPT: &str = "settle_and_lease";
    const EDITS: Edits = &[
        PHASES,
        LONG_WAY,
        edit!("leasing/settle_and_lease": "if now < next_due and (" => "if now < next_due and not KEYS.phase and ("),
        edit!("leasing/settle_and_lease": "if wants > 0 and not is_paused" => "if wants > 0 and KEYS.phase ~= 'look' and not is_paused"),
        edit!("lib/reclaim": "if now < next_due then" => "if now < next_due and KEYS.phase ~= 'act' then"),
        edit!("lib/reclaim": "  local expired = find_expired()" =>
            "  local seen = KEYS.phase == 'act' and call('GET', KEYS.memory)
               if seen then call('DEL', KEYS.memory) end
               seen = seen and cmsgpack.unpack(seen)
               local expired = seen and seen[1] or find_expired()"),
        edit!("lib/reclaim": "  local count = #expired / 2" =>
            "  if KEYS.phase == 'look' then
                 local ids = {}
                 for k = 1, #expired, 2 do ids[#ids + 1] = sub(expired[k], 1, 7) end
                 call('SET', KEYS.memory, cmsgpack.pack({ expired, call('HMGET', FRAMES, unpack(ids)) }))
                 return false
               end
               local count = #expired / 2"),
        edit!("lib/reclaim": "local frames = call('HMGET', FRAMES, unpack(ids))" =>
            "local frames = seen and seen[2] or call('HMGET', FRAMES, unpack(ids))"),
    ];

    async fn meddle(self, request: Request, steps: &Steps<'_>) -> Option<Reply> {
        in_two_phases(&request, steps).await
    }
}

/// Ends the lease, and gives the message back in another step.
#[derive(Debug, Clone, Copy)]
pub(crate) struct NacksInTwoSteps;

#[async_trait]
impl Meddling for NacksInTwoSteps {
    const SCRIPT: &str = "settle_and_lease";
    const EDITS: Edits = &[
        edit!("leasing/settle_and_lease": "local wants, lease_time, settlements = tonumber(ARGV[3]), tonumber(ARGV[4]), #ARGV - 6" =>
            "local ended = string.match(ARGV[4], 'ended')
             local wants, lease_time, settlements = tonumber(ARGV[3]), tonumber(string.match(ARGV[4], '%d+')), #ARGV - 6"),
        edit!("leasing/settle": "not deadlines[k] or tonumber(deadlines[k]) <= now or" =>
            "not ended and (not deadlines[k] or tonumber(deadlines[k]) <= now) or"),
    ];

    async fn meddle(self, request: Request, steps: &Steps<'_>) -> Option<Reply> {
        let is_turn = request
            .script
            .is_some_and(|name| name.ends_with("/settle_and_lease"));
        if !is_turn || request.arguments().len() != 7 {
            return None;
        }
        let settlement = &request.arguments()[6];
        if matches!(settlement[0], b'a' | b'A' | b'b') {
            return None;
        }
        let (leases, member) = (request.keys()[1].clone(), settlement.slice(1..15));
        let deadline = steps.command(&[b"ZSCORE", &leases[..], &member]).await;
        let deadline = deadline.value().ok()?;
        let deadline: Option<f64> = redis::from_redis_value(deadline).ok()?;
        if deadline? <= steps.now().as_millis() as f64 {
            return None;
        }
        steps.command(&[b"ZREM", &leases[..], &member]).await;
        for _ in 0..8 {
            // Meanwhile the client runs other work.
            steps.command(&["PING"]).await;
        }
        let mut ended = request;
        let lease_time = String::from_utf8_lossy(&ended.arguments()[3]).into_owned();
        ended.arguments_mut()[3] = format!("{lease_time} ended").into();
        Some(steps.run(&ended).await)
    }
}

/// Counts the messages, and pushes in another step.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ChecksThenPushes;

#[async_trait]
impl Meddling for ChecksThenPushes {
    const SCRIPT: &str = "bounded/push";
    const EDITS: Edits = &[
        edit!("bounded/push": "byte(ARGV[4], #ARGV[4] == 1 and 1 or entry) == 49" => "byte(ARGV[4], 1) == 49"),
        edit!("bounded/push": "local occupied = call('LLEN', READY) - holes + call('ZCARD', LINE) + leased + call('ZCARD', DELAYED)" =>
            "local occupied = tonumber(sub(ARGV[4], 3)) - holes"),
    ];

    async fn meddle(self, mut request: Request, steps: &Steps<'_>) -> Option<Reply> {
        if request.script != Some("bounded/push") {
            return None;
        }
        let mut occupied = 0;
        let parts = [("ZCARD", 1), ("ZCARD", 5), ("ZCARD", 6), ("LLEN", 7)];
        for (count, key) in parts {
            let key = request.keys()[key].clone();
            let reply = steps.command(&[count.as_bytes(), &key[..]]).await;
            occupied += reply.number()?;
        }
        let overflow = String::from_utf8_lossy(&request.arguments()[3]).into_owned();
        request.arguments_mut()[3] = format!("{overflow} {occupied}").into();
        Some(steps.run(&request).await)
    }
}

/// Takes items from the head, and puts them at the tail in another step.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RotatesInTwoSteps;

#[async_trait]
impl Meddling for RotatesInTwoSteps {
    const SCRIPT: &str = "rotate";
    const EDITS: Edits = &[
        edit!("rotating/rotate": "local max = tonumber(ARGV[3])" =>
            "local max, lane = string.match(ARGV[3], '(%d+) (%d+)')
             max = tonumber(max)"),
        edit!("rotating/rotate": "call('ZADD', RING, unpack(places))" =>
            "call('ZREM', RING, unpack(visited))
             call('SET', META .. lane, cmsgpack.pack(places))"),
    ];

    async fn meddle(self, mut request: Request, steps: &Steps<'_>) -> Option<Reply> {
        const PUT: &str = "local places = redis.call('GET', KEYS[2])
            if places then
              redis.call('DEL', KEYS[2])
              redis.call('ZADD', KEYS[1], unpack(cmsgpack.unpack(places)))
            end
            return 1";
        if request.script != Some("rotating/rotate") {
            return None;
        }
        let (ring, process) = (request.keys()[1].clone(), request.process);
        let hand = format!("{}{process}", String::from_utf8_lossy(&request.keys()[0]));
        let max = String::from_utf8_lossy(&request.arguments()[2]).into_owned();
        request.arguments_mut()[2] = format!("{max} {process}").into();
        let taken = steps.run(&request).await;
        steps
            .command(&[b"EVAL", PUT.as_bytes(), b"2", &ring, hand.as_bytes()])
            .await;
        Some(taken)
    }
}

/// Reads the last id, and pushes in another step: `MULTI` can do this in place of a script.
#[derive(Debug, Clone, Copy)]
pub(crate) struct NumbersThenPushes;

#[async_trait]
impl Meddling for NumbersThenPushes {
    const SCRIPT: &str = "reliable/push";
    const EDITS: Edits = &[
        edit!("reliable/push": "(packs or #ARGV == 3 + ARGV[3])" => "false"),
        edit!("reliable/push": "ARGV[3] == 'packs'" => "string.find(ARGV[3], 'packs') ~= nil"),
        edit!("reliable/push": "local message_count, payloads, due_times = tonumber(ARGV[3])," =>
            "local sent, seen = string.match(ARGV[3], '(%w+) (%d+)')
             accepted = tonumber(seen)
             local message_count, payloads, due_times = tonumber(sent),"),
    ];

    async fn meddle(self, mut request: Request, steps: &Steps<'_>) -> Option<Reply> {
        if request.script != Some("reliable/push") {
            return None;
        }
        let meta = request.keys()[0].clone();
        let read = steps.command(&[b"HGET", &meta[..], b"accepted"]).await;
        let accepted: Option<u64> = redis::from_redis_value(read.value().ok()?).ok()?;
        let accepted = accepted.unwrap_or(0);
        let count = String::from_utf8_lossy(&request.arguments()[2]).into_owned();
        request.arguments_mut()[2] = format!("{count} {accepted}").into();
        Some(steps.run(&request).await)
    }
}

/// Uses the client's clock; clients' clocks differ by some milliseconds.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ClientsClock;

#[async_trait]
impl Meddling for ClientsClock {
    async fn meddle(self, mut request: Request, steps: &Steps<'_>) -> Option<Reply> {
        request.script.filter(|script| *script != "open")?;
        let ahead = 7 * u64::from(request.process.0);
        let now = steps.now().as_millis() + ahead;
        request.arguments_mut()[0] = now.to_string().into();
        Some(steps.run(&request).await)
    }
}

/// Never sends a forgotten script again.
#[derive(Debug, Clone, Copy)]
pub(crate) struct NoFallBack;

#[async_trait]
impl Meddling for NoFallBack {
    async fn meddle(self, request: Request, steps: &Steps<'_>) -> Option<Reply> {
        const UNKNOWN: &str = "0000000000000000000000000000000000000000";
        if !request.words[0].eq_ignore_ascii_case(b"EVAL") {
            return None;
        }
        Some(steps.command(&["EVALSHA", UNKNOWN, "0"]).await)
    }
}

/// Gives one key another hash tag than its queue's.
#[derive(Debug, Clone, Copy)]
pub(crate) struct WrongHashTag;

#[async_trait]
impl Meddling for WrongHashTag {
    async fn meddle(self, mut request: Request, steps: &Steps<'_>) -> Option<Reply> {
        request.script?;
        for key in request.keys_mut() {
            if key.ends_with(b"}:dead") {
                *key = Bytes::from(String::from_utf8_lossy(key).replace("}:dead", ":dead}"));
            }
        }
        Some(steps.run(&request).await)
    }
}

/// Sends an arrival's hint only to clients that listen at that moment.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TellsListenersOnly;

#[async_trait]
impl Meddling for TellsListenersOnly {
    async fn meddle(self, request: Request, steps: &Steps<'_>) -> Option<Reply> {
        request.script.filter(|script| *script != "open")?;
        let arrivals = request
            .keys()
            .iter()
            .find(|key| key.ends_with(b":arrivals"))?;
        let arrivals = arrivals.clone();
        let reply = steps.run(&request).await;
        let disarm = [&b"ZREM"[..], &arrivals, b"armed"];
        steps.command(&disarm).await;
        Some(reply)
    }
}
