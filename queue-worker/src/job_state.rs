//! The state of a message while a handler has it (L21): what the handler set itself, and its steps.

use queue_core::{Bytes, Error, Result, Steps, limits};

/// The state of one lease.
#[derive(Debug, Default)]
pub(crate) struct JobState {
    /// The state that is stored with the message, as far as the worker knows.
    stored: Bytes,
    /// The state that the handler has made of it, unless that is the same.
    unstored: Option<Unstored>,
    /// The number of the last state.
    number: u64,
    /// The steps in the state, once a step was asked for.
    steps: Option<Steps>,
    /// The names that the handler has used in this run.
    used: Vec<String>,
}

/// A state to store, and its number: a later state has a greater one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Unstored {
    pub(crate) state: Bytes,
    pub(crate) number: u64,
}

impl JobState {
    /// The state that a delivery brought.
    pub(crate) fn brought(state: Bytes) -> Self {
        Self {
            stored: state,
            ..Self::default()
        }
    }

    /// The state that the handler set itself, in JSON.
    pub(crate) fn own(&mut self) -> Result<Option<Bytes>> {
        if self.steps.is_none() && !Steps::are_in(self.current()) {
            let state = self.current();
            return Ok((!state.is_empty()).then(|| state.clone()));
        }
        let own = self.steps()?.own.as_ref();
        Ok(own.map(|own| Bytes::copy_from_slice(own.as_bytes())))
    }

    /// Sets the state that the handler itself sets, in JSON; an empty one takes it away.
    pub(crate) fn set_own(&mut self, own: Bytes) -> Result<()> {
        if Steps::are_in(&own) {
            return Err(Error::invalid(
                "a state whose first field is \"qk-steps\": the worker keeps the steps of the job under this name, so \
                 name the field otherwise",
            ));
        }
        if self.steps.is_none() && !Steps::are_in(self.current()) {
            limits::check_state(own.len())?;
            self.set(own);
            return Ok(());
        }
        let text = String::from_utf8(own.into())
            .map_err(|_| Error::invalid("a state that is no text: it is JSON"))?;
        self.change(|steps| steps.own = (!text.is_empty()).then_some(text))
    }

    /// The steps, with the state that the handler set.
    pub(crate) fn steps(&mut self) -> Result<&Steps> {
        if self.steps.is_none() {
            self.steps = Some(self.read_steps()?);
        }
        Ok(self.steps.get_or_insert_default())
    }

    /// Changes the steps.
    ///
    /// # Errors
    ///
    /// `Invalid` if the state is too large then; and the errors of reading the steps. Nothing is changed.
    pub(crate) fn change(&mut self, change: impl FnOnce(&mut Steps)) -> Result<()> {
        let mut steps = self.steps()?.clone();
        change(&mut steps);
        let state = match (steps.steps.is_empty(), &steps.own) {
            (true, None) => Bytes::new(),
            (true, Some(own)) => Bytes::copy_from_slice(own.as_bytes()),
            (false, _) => queue_core::Json::write(&steps)?,
        };
        limits::check_state(state.len())?;
        self.steps = Some(steps);
        self.set(state);
        Ok(())
    }

    /// Notes that the handler uses this name. Returns false if it has used it before.
    pub(crate) fn uses(&mut self, name: &str) -> bool {
        let is_new = self.used.iter().all(|used| used != name);
        if is_new {
            self.used.push(name.to_owned());
        }
        is_new
    }

    /// The names of steps in the state that the handler has not used.
    pub(crate) fn unused(&self) -> Vec<&str> {
        let steps = self.steps.iter().flat_map(|steps| &steps.steps);
        let names = steps.map(|step| step.name.as_str());
        names
            .filter(|name| self.used.iter().all(|used| used != name))
            .collect()
    }

    /// The state to store, unless it is stored.
    pub(crate) const fn unstored(&self) -> Option<&Unstored> {
        self.unstored.as_ref()
    }

    /// Notes that a call has stored this state.
    pub(crate) fn stored(&mut self, sent: &Unstored) {
        self.stored.clone_from(&sent.state);
        self.unstored
            .take_if(|unstored| unstored.number <= sent.number);
    }

    /// Forgets what is not stored, because the backend refused it.
    pub(crate) fn forget_unstored(&mut self) {
        self.unstored = None;
        self.steps = None;
    }

    /// The state as the handler has made it.
    pub(crate) fn current(&self) -> &Bytes {
        let unstored = self.unstored.as_ref();
        unstored.map_or(&self.stored, |unstored| &unstored.state)
    }

    fn set(&mut self, state: Bytes) {
        self.number += 1;
        let number = self.number;
        self.unstored = Some(Unstored { state, number });
    }

    fn read_steps(&self) -> Result<Steps> {
        let state = self.current();
        if let Some(steps) = Steps::of(state)? {
            return Ok(steps);
        }
        let mut steps = Steps::default();
        if !state.is_empty() {
            steps.own = Some(String::from_utf8_lossy(state).into_owned());
        }
        Ok(steps)
    }
}
