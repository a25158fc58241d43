//! A handler for each type of job.

use std::{collections::BTreeMap, fmt, future::Future, pin::Pin, sync::Arc};

use queue_core::{Bytes, Decode, Error, Headers, Job, Json, Result, check_job_name};

use super::{
    Context, Failure, IntoVerdict,
    handler::{Handling, JobHandler, Single, Terms},
    handler_result::HandlerResult,
    job_type::{JobSettings, JobType},
};

/// A handler for each type of [`Job`] on one queue. It finds a message's handler by the name in its headers.
///
/// ```
/// use std::time::Duration;
/// use queue_core::{Job, Jobs, Queues};
/// use queue_worker::{Context, Failure, JobSettings, Router, Worker};
/// use serde::{Deserialize, Serialize};
///
/// #[derive(Serialize, Deserialize)]
/// struct Welcome {
///     user: u64,
/// }
/// impl Job for Welcome {
///     const NAME: &'static str = "welcome";
/// }
///
/// #[derive(Serialize, Deserialize)]
/// struct Export {
///     customer: u64,
/// }
/// impl Job for Export {
///     const NAME: &'static str = "export";
/// }
///
/// async fn export(job: Export, cx: Context) -> Result<(), Failure> {
///     println!("attempt {} for customer {}", cx.attempt(), job.customer);
///     Ok(())
/// }
///
/// # async fn example(queues: Queues) -> queue_core::Result<()> {
/// let jobs = queues.reliable("jobs").open::<Jobs>().await?;
/// let router = Router::new()
///     .on(|job: Welcome, _| async move { println!("welcome, {}", job.user) })
///     .on_with(JobSettings::new().timeout(Duration::from_secs(60)).at_most(4), export);
/// Worker::new(jobs).concurrency(16).router(router).run().await?;
/// # Ok(())
/// # }
/// ```
///
/// A job of a type without a handler is a failed attempt, for the reason ``no handler for job `x` ``. While a new
/// version of a program is rolled out, old workers get jobs that only new workers know.
/// [`bury_unknown`](Self::bury_unknown) buries such a job at its first attempt.
///
/// Spans, log lines, metrics and [`Health::jobs`](crate::Health::jobs) show the type of each job.
#[must_use = "it does nothing until a worker has it"]
pub struct Router<C = Json> {
    codec: C,
    handlers: BTreeMap<&'static str, (Arc<JobType>, Arc<dyn HandleJob>)>,
    unknown: Arc<JobType>,
    bury_unknown: bool,
    /// The first fault of its types.
    fault: Option<Error>,
}

impl Router {
    /// A router of JSON.
    pub fn new() -> Self {
        Self::with_codec(Json)
    }
}

impl Default for Router {
    fn default() -> Self {
        Self::new()
    }
}

impl<C: Clone + Send + Sync + 'static> Router<C> {
    /// A router of bodies that this codec writes, as [`Typed::codec`](queue_core::Typed::codec) set it.
    pub fn with_codec(codec: C) -> Self {
        Self {
            codec,
            handlers: BTreeMap::new(),
            unknown: Arc::new(JobType::new(UNKNOWN, JobSettings::new())),
            bury_unknown: false,
            fault: None,
        }
    }

    /// Handles jobs of type `J` with this handler, by the queue's settings. A second handler for one name makes the
    /// worker's run fail with `Invalid`, before it does anything.
    pub fn on<J, H, F>(self, handler: H) -> Self
    where
        J: Job + Send + Sync + 'static,
        C: Decode<J>,
        H: Fn(J, Context) -> F + Send + Sync + 'static,
        F: Future<Output: IntoVerdict> + Send + 'static,
    {
        self.on_with(JobSettings::new(), handler)
    }

    /// Handles jobs of type `J` with this handler, by settings of their own.
    pub fn on_with<J, H, F>(mut self, settings: JobSettings, handler: H) -> Self
    where
        J: Job + Send + Sync + 'static,
        C: Decode<J>,
        H: Fn(J, Context) -> F + Send + Sync + 'static,
        F: Future<Output: IntoVerdict> + Send + 'static,
    {
        let codec = self.codec.clone();
        let decode = move |body: &Bytes| -> Result<J> { codec.decode(body) };
        let job_type = Arc::new(JobType::new(J::NAME, settings));
        let entry: (_, Arc<dyn HandleJob>) = (job_type, Arc::new(Single { decode, handler }));
        if let Err(error) = check_job_name(J::NAME) {
            self.fault.get_or_insert(error);
        }
        if self.handlers.insert(J::NAME, entry).is_some() {
            let message = format!(
                "two handlers for job `{}`: give each type of job its own name",
                J::NAME
            );
            self.fault.get_or_insert(Error::invalid(message));
        }
        self
    }

    /// Buries a job of a type without a handler at its first attempt. Do this only if all workers of the queue know
    /// the same types.
    pub fn bury_unknown(mut self) -> Self {
        self.bury_unknown = true;
        self
    }
}

/// The name in metrics of all types without a handler.
const UNKNOWN: &str = "unknown";

impl<C> Router<C> {
    fn find(&self, headers: &Headers) -> Option<&(Arc<JobType>, Arc<dyn HandleJob>)> {
        self.handlers.get(headers.job()?)
    }

    fn unknown(&self, headers: &Headers) -> Failure {
        let reason = match headers.job() {
            Some(job) => format!("no handler for job `{job}`"),
            None => format!("no handler: the message has no header `{}`", Headers::JOB),
        };
        match self.bury_unknown {
            true => Failure::bury(reason),
            false => Failure::new(reason),
        }
    }
}

impl<C: Send + Sync + 'static> JobHandler for Router<C> {
    fn handle(self: Arc<Self>, jobs: Vec<(Bytes, Context)>, terms: Terms) -> Handling {
        Box::pin(async move {
            let mut endings = Vec::with_capacity(jobs.len());
            for (body, context) in jobs {
                let ending = match self.find(context.headers()) {
                    None => Err(self.unknown(context.headers())),
                    Some((job_type, handler)) => match job_type.take_slot() {
                        Ok(_slot) => {
                            Ok(Arc::clone(handler).handle_job(body, context, &terms).await)
                        }
                        Err(deferred) => Err(deferred),
                    },
                };
                let failed = |failure| HandlerResult::Returned(super::Verdict::Failed(failure));
                endings.push(ending.unwrap_or_else(failed));
            }
            endings
        })
    }

    fn job_type(&self, headers: &Headers) -> Option<&Arc<JobType>> {
        Some(
            self.find(headers)
                .map_or(&self.unknown, |(job_type, _)| job_type),
        )
    }

    fn job_types(&self) -> Result<Vec<&JobType>> {
        match &self.fault {
            Some(error) => Err(error.clone()),
            None if self.handlers.is_empty() => Err(Error::invalid(
                "a router without a handler: add one by `on`",
            )),
            None => Ok(self
                .handlers
                .values()
                .map(|(job_type, _)| &**job_type)
                .collect()),
        }
    }
}

impl<C> fmt::Debug for Router<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Router")
            .field("jobs", &self.handlers.keys())
            .field("bury_unknown", &self.bury_unknown)
            .finish_non_exhaustive()
    }
}

/// A handler of one type, with the type erased.
trait HandleJob: Send + Sync {
    fn handle_job<'a>(
        self: Arc<Self>,
        body: Bytes,
        context: Context,
        terms: &'a Terms,
    ) -> Pin<Box<dyn Future<Output = HandlerResult> + Send + 'a>>;
}

impl<T, D, H, F> HandleJob for Single<D, H>
where
    T: Send + 'static,
    D: Fn(&Bytes) -> Result<T> + Send + Sync + 'static,
    H: Fn(T, Context) -> F + Send + Sync + 'static,
    F: Future<Output: IntoVerdict> + Send + 'static,
{
    fn handle_job<'a>(
        self: Arc<Self>,
        body: Bytes,
        context: Context,
        terms: &'a Terms,
    ) -> Pin<Box<dyn Future<Output = HandlerResult> + Send + 'a>> {
        Box::pin(async move { self.handle_one(&body, context, terms).await })
    }
}
