//! One bad entry among those of several callers.

use super::*;

/// Refuses calls with this entry by one error, and records the calls that took effect.
struct Refusing {
    bad: u32,
    error: Error,
    calls: Mutex<usize>,
    applied: Mutex<Vec<u32>>,
}

#[async_trait]
impl SendBatch for Refusing {
    type Request = u32;
    type Reply = u32;

    const MOST: BatchLimit = MOST;

    async fn send_batch(&self, entries: &[u32]) -> Result<Vec<u32>> {
        *self.calls.lock().unwrap() += 1;
        sleep(TRIP).await;
        let refused = entries.contains(&self.bad);
        if !refused || self.error.outcome() == Outcome::Unknown {
            self.applied.lock().unwrap().extend(entries);
        }
        match refused {
            true => Err(self.error.clone()),
            false => Ok(entries.to_vec()),
        }
    }

    fn size(_: &u32) -> usize {
        1
    }

    async fn ready(&self) -> Result<()> {
        Ok(())
    }

    fn unsent(&self) -> Error {
        Error::new(ErrorKind::Unavailable, "not in time")
    }
}

type Answered = (u32, Result<Vec<u32>>);

/// Submits the entries of these callers, two each, in one call behind that of an earlier caller. Returns each caller's
/// answer, and the sender.
async fn submit(callers: u32, bad: u32, error: Error) -> (Vec<Answered>, Arc<Batcher<Refusing>>) {
    let sender = Refusing {
        bad,
        error,
        calls: Mutex::default(),
        applied: Mutex::default(),
    };
    let batcher = Arc::new(Batcher::new(
        sender,
        PATIENCE,
        Arc::new(TokioSpawn::default()),
    ));
    let mut set = JoinSet::new();
    for caller in 0..=callers {
        let batcher = Arc::clone(&batcher);
        set.spawn(async move {
            let own = [2 * caller, 2 * caller + 1];
            (caller, batcher.submit(&own).await)
        });
    }
    let mut answers = set.join_all().await;
    answers.sort_by_key(|(caller, _)| *caller);
    (answers, batcher)
}

#[tokio::test(start_paused = true)]
async fn a_refused_entry_fails_its_own_caller_and_no_neighbour() {
    for callers in 1..=12 {
        // The first caller sends alone; the others share a call.
        for bad in 2..2 * (callers + 1) {
            let error = Error::invalid("a bad entry");
            let (answers, batcher) = submit(callers, bad, error).await;
            let mut expected = Vec::new();
            for (caller, answer) in answers {
                let own = [2 * caller, 2 * caller + 1];
                if own.contains(&bad) {
                    let error = answer.unwrap_err();
                    assert_eq!(error.kind(), ErrorKind::Invalid);
                    assert_eq!(error.outcome(), Outcome::NotApplied);
                } else {
                    assert_eq!(answer.unwrap(), own, "{callers} callers, {bad} is bad");
                    expected.extend(own);
                }
            }
            let mut applied = batcher.sender().applied.lock().unwrap().clone();
            applied.sort_unstable();
            assert_eq!(applied, expected, "each once: {callers} callers, {bad}");
            let calls = *batcher.sender().calls.lock().unwrap();
            let again = if callers == 1 { 0 } else { callers };
            assert_eq!(calls, 2 + again as usize);
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_call_is_not_repeated_if_it_may_have_taken_effect_or_may_succeed_later() {
    let unknown = Error::invalid("half-way").with_outcome(Outcome::Unknown);
    let transient = Error::new(ErrorKind::OutOfMemory, "full");
    for error in [unknown, transient] {
        let (answers, batcher) = submit(5, 7, error.clone()).await;
        let calls = *batcher.sender().calls.lock().unwrap();
        assert_eq!(calls, 2, "{error}");
        for (caller, answer) in answers {
            match caller {
                0 => assert!(answer.is_ok()),
                _ => assert_eq!(answer.unwrap_err().outcome(), error.outcome()),
            }
        }
        let mut applied = batcher.sender().applied.lock().unwrap().clone();
        let all = applied.len();
        applied.dedup();
        assert_eq!(applied.len(), all, "each once at most");
    }
}

/// Refuses 13 in any company, and is down for 17.
struct Down(Mutex<Vec<Vec<u32>>>);

#[async_trait]
impl SendBatch for Down {
    type Request = u32;
    type Reply = u32;

    const MOST: BatchLimit = MOST;

    async fn send_batch(&self, entries: &[u32]) -> Result<Vec<u32>> {
        self.0.lock().unwrap().push(entries.to_vec());
        sleep(TRIP).await;
        match entries {
            _ if entries.contains(&13) => Err(Error::invalid("13")),
            [17] => {
                Err(Error::new(ErrorKind::Unavailable, "cut off").with_outcome(Outcome::Unknown))
            }
            _ => Ok(entries.to_vec()),
        }
    }

    fn size(_: &u32) -> usize {
        1
    }

    async fn ready(&self) -> Result<()> {
        Ok(())
    }

    fn unsent(&self) -> Error {
        Error::new(ErrorKind::Unavailable, "not in time")
    }
}

#[tokio::test(start_paused = true)]
async fn once_the_server_is_gone_the_other_callers_are_not_sent_and_are_told_so() {
    let spawn = Arc::new(TokioSpawn::default());
    let batcher = Arc::new(Batcher::new(Down(Mutex::default()), PATIENCE, spawn));
    let mut set = JoinSet::new();
    // The caller of 15 is gone before its own call.
    for entry in [1, 13, 14, 15, 17, 18] {
        let batcher = Arc::clone(&batcher);
        set.spawn(async move {
            let gone = TRIP * 5 / 2;
            let longest = if entry == 15 { gone } else { PATIENCE };
            let answer = timeout(longest, batcher.submit(&[entry])).await.ok();
            let told = answer.map(|answer| answer.map_err(|error| (error.kind(), error.outcome())));
            (entry, told)
        });
    }
    let mut answers = set.join_all().await;
    answers.sort_by_key(|(entry, _)| *entry);
    let (invalid, gone) = (ErrorKind::Invalid, ErrorKind::Unavailable);
    let expected = [
        (1, Some(Ok(vec![1]))),
        (13, Some(Err((invalid, Outcome::NotApplied)))),
        (14, Some(Ok(vec![14]))),
        (15, None),
        (17, Some(Err((gone, Outcome::Unknown)))),
        (18, Some(Err((gone, Outcome::NotApplied)))),
    ];
    assert_eq!(answers, expected);
    let sent = batcher.sender().0.lock().unwrap().clone();
    let whole = vec![13, 14, 15, 17, 18];
    assert_eq!(sent, [vec![1], whole, vec![13], vec![14], vec![17]]);
}
