//! The loop: one future that holds everything in flight, and drops none of it.
//!
//! It polls by hand instead of through `select!`, because the set in flight changes: a call, an extension and
//! a wait for each queue. Each pass polls all of them in the same order, so that a simulation can be
//! repeated. When nothing moves any more, the loop sleeps until something wakes it, or until the earliest
//! time that any part asked for.

mod alarm;
mod batch_limit;
mod calls;
mod gathering;
mod heartbeats;
mod in_flight;
mod jobs;
mod own_task;
mod phases;
mod refused_extensions;
mod refused_results;
mod registration;
mod samples;
mod served;
mod waits;
mod watch;

use std::{
    collections::BTreeMap,
    future::{Future, pending, poll_fn},
    pin::{Pin, pin},
    sync::Arc,
    task::{Context as Poller, Poll},
    time::Duration,
};

use queue_core::{Error, Holder, Result, TokioSpawn};
use tokio::{
    sync::{self, mpsc, oneshot},
    time::{Instant, Sleep},
};

use self::{
    alarm::Alarm, in_flight::InFlight, jobs::Job, own_task::Relay, phases::Shutdown,
    registration::Registration, served::ServedQueue,
};
use super::{
    Control, Health, Report,
    control::Steering,
    event::{Event, Phase},
    events::Events,
    families::WaitingParents,
    queue_scope::QueueScope,
    rate::Limiter,
    settings::WorkerSettings,
    shares::Shares,
    source::Source,
    task_message::TaskMessage,
};

/// Handlers that take less end while a call would be under way.
const SHORT: Duration = Duration::from_micros(50);

pub(crate) struct Runner {
    settings: WorkerSettings,
    /// The name that its leases carry.
    holder: Holder,
    events: Events,
    queues: Vec<ServedQueue>,
    shares: Shares,
    jobs: BTreeMap<u64, Job>,
    last_job: u64,
    notes: mpsc::UnboundedReceiver<TaskMessage>,
    /// Handlers' tasks send messages through clones of this.
    note_sender: mpsc::UnboundedSender<TaskMessage>,
    /// Handlers themselves send messages through clones of this.
    half_way: mpsc::UnboundedSender<TaskMessage>,
    phase: Phase,
    /// The shutdown, once it has begun.
    shutdown: Option<Shutdown>,
    /// The program's control of the worker, and the wait for a change of it.
    control: Control,
    steered: InFlight<sync::watch::Receiver<Steering>>,
    /// Tells handlers that a shutdown has begun.
    shutting_down: Arc<sync::watch::Sender<bool>>,
    /// The time for which the loop last set its timer.
    planned: Option<Instant>,
    /// The time since which slots are free that no lease has offered.
    freed: Option<Instant>,
    /// The moving average of handlers' times.
    average_time: Duration,
    rate: Option<Limiter>,
    /// Before this time no lease ends and no handler has to be cut off.
    watch_due: Option<Instant>,
    timer: Pin<Box<Sleep>>,
    /// Whether several threads run the handlers.
    threads: bool,
    /// The time since which the loop goes behind handlers that are about to end.
    gathering: Option<Instant>,
    /// Its place in the list of workers, if it registers.
    registration: Option<Registration>,
}

/// Runs a worker until `shutdown` ends, then drains and ends it.
pub(crate) async fn run(
    settings: WorkerSettings,
    sources: Vec<Source>,
    health: Health,
    control: Control,
    shutdown: impl Future<Output = ()> + Send,
) -> Result<Report> {
    settings.check()?;
    let holder = settings.holder()?;
    if sources.is_empty() {
        return Err(Error::invalid("a worker without a queue: add one"));
    }
    for source in &sources {
        source.check(&settings)?;
    }
    // Its timers need a runtime, whatever runs the handlers.
    TokioSpawn::current()?;
    let mut runner = Runner::new(settings, holder, sources, health.clone(), control);
    for served in &runner.queues {
        let jobs = &served.handler.job_types()?;
        runner.events.emit(&served.name, &Event::Serving { jobs });
    }
    runner.enter(Phase::Working);
    if !own_task::pays() {
        return Ok(runner.run(shutdown, health).await);
    }
    let relay = runner.relay();
    let run = |begun: oneshot::Receiver<()>| {
        let shutdown = async move {
            if begun.await.is_err() {
                // The caller is gone, and the task is about to be stopped.
                pending::<()>().await;
            }
        };
        runner.run(shutdown, health)
    };
    own_task::run(run, relay, shutdown).await
}

impl Runner {
    fn new(
        settings: WorkerSettings,
        holder: Holder,
        sources: Vec<Source>,
        health: Health,
        control: Control,
    ) -> Self {
        let now = Instant::now();
        let events = Events::new(health, settings.times, now);
        let seed = settings.outage_seed();
        let shares = Shares::new(settings.sharing, sources.iter().map(|s| s.terms.weight));
        let shutting_down = Arc::<sync::watch::Sender<bool>>::default();
        let queues = sources.into_iter().enumerate();
        let queues = queues.map(|(index, source)| {
            let given = source.terms.name.clone();
            let name = given.unwrap_or_else(|| Arc::from(format!("queue {}", index + 1)));
            let scope = QueueScope {
                name,
                queue: Some(Arc::clone(&source.queue)),
                shutting_down: Arc::clone(&shutting_down),
                parents: WaitingParents::new(Arc::clone(&settings.spawn)),
            };
            ServedQueue::new(source, scope, now, seed.wrapping_add(index as u64))
        });
        let queues: Vec<ServedQueue> = queues.collect();
        let registration = settings.registry.clone();
        let registration = registration.map(|registry| Registration::new(registry, now));
        let rate = settings.rate.and_then(|rate| Limiter::new(rate, now));
        let (note_sender, notes) = mpsc::unbounded_channel();
        Self {
            settings,
            holder,
            events,
            queues,
            shares,
            jobs: BTreeMap::new(),
            last_job: 0,
            notes,
            half_way: note_sender.clone(),
            note_sender,
            phase: Phase::Idle,
            shutdown: None,
            steered: Box::pin(Control::changed(control.listen())),
            control,
            shutting_down,
            planned: None,
            rate,
            freed: None,
            average_time: Duration::ZERO,
            watch_due: None,
            timer: Box::pin(tokio::time::sleep_until(now)),
            threads: own_task::has_threads(),
            gathering: None,
            registration,
        }
    }

    async fn run(mut self, shutdown: impl Future<Output = ()> + Send, health: Health) -> Report {
        let mut shutdown = pin!(shutdown);
        poll_fn(|cx| self.poll(cx, shutdown.as_mut())).await;
        self.leave_the_list().await;
        self.finish(&health)
    }

    /// Takes messages that handlers send half-way by the caller's future.
    fn relay(&mut self) -> Relay {
        let (sender, from) = mpsc::unbounded_channel();
        let to = self.note_sender.clone();
        self.half_way = sender;
        Relay { from, to }
    }

    fn poll<S: Future<Output = ()>>(
        &mut self,
        cx: &mut Poller<'_>,
        mut shutdown: Pin<&mut S>,
    ) -> Poll<()> {
        self.watch_itself();
        let mut gathers = false;
        loop {
            let mut alarm = Alarm::new(Instant::now());
            self.events.now = alarm.now;
            let mut moved = self.follow(cx, alarm.now);
            if self.is_working() && shutdown.as_mut().poll(cx).is_ready() {
                self.begin_shutdown(alarm.now);
                moved = true;
            }
            while let Poll::Ready(Some(note)) = self.notes.poll_recv(cx) {
                self.take(note, alarm.now);
                moved = true;
            }
            for index in 0..self.queues.len() {
                moved |= self.poll_call(index, cx, alarm.now);
                moved |= self.poll_heartbeat(index, cx, alarm.now);
                moved |= self.poll_wait(index, cx, alarm.now);
            }
            moved |= self.advance(&mut alarm);
            moved |= self.start_gathered(&mut alarm);
            moved |= self.watch_leases(&mut alarm);
            gathers = gathers || self.gathers(cx, alarm.now);
            if !gathers {
                moved |= self.send_calls(&mut alarm);
            }
            moved |= self.send_heartbeats(&mut alarm);
            moved |= self.set_waits(&mut alarm);
            moved |= self.take_samples(cx, &mut alarm);
            moved |= self.keep_registered(cx, &mut alarm);
            if self.is_over(alarm.now) {
                return Poll::Ready(());
            }
            if moved {
                continue;
            }
            let Some(at) = alarm.earliest() else {
                return Poll::Pending;
            };
            self.planned = Some(at);
            if self.timer.deadline() != at {
                self.timer.as_mut().reset(at);
            }
            if self.timer.as_mut().poll(cx).is_pending() {
                return Poll::Pending;
            }
        }
    }

    /// Whether the next calls wait for handlers that are about to end; if so, the loop is woken behind other tasks.
    ///
    /// On a runtime of several threads, the end of the first handler wakes the loop before the runtime has polled the
    /// handlers that are ready behind it. So the loop goes behind them once; and again while handlers are so short
    /// that the others end in less than a call takes. Then one call settles them all. The other threads may share the
    /// loop's core, so it offers them the core, too.
    fn gathers(&mut self, cx: &Poller<'_>, now: Instant) -> bool {
        let could_send = |served: &ServedQueue| !served.pending.is_empty() && served.call.is_none();
        let waits = self.threads && !self.jobs.is_empty() && self.queues.iter().any(could_send);
        let gathers = waits
            && match self.gathering {
                None => true,
                Some(since) => self.average_time < SHORT && now - since < SHORT,
            };
        if gathers {
            self.gathering.get_or_insert(now);
            std::thread::yield_now();
            cx.waker().wake_by_ref();
        } else {
            self.gathering = None;
        }
        gathers
    }

    fn take(&mut self, note: TaskMessage, now: Instant) {
        match note {
            TaskMessage::Ended {
                job,
                endings,
                panic,
                took,
            } => self.ended(job, endings.as_deref(), panic, took, now),
            TaskMessage::Extend(request) => self.request_extension(request),
            TaskMessage::Progress { job } => self.progress_reported(job, now),
        }
    }

    fn enter(&mut self, phase: Phase) {
        self.phase = phase;
        let names: Vec<&str> = self.queues.iter().map(|served| &*served.name).collect();
        let names = Arc::from(names.join(", "));
        self.events.emit(&names, &Event::Phase(phase));
    }
}
