//! Follows a task event by event: from its stream, from another stream after that broke ([`super::resume`]),
//! or by polling ([`super::poll`]).

use std::{collections::VecDeque, sync::Arc};

use bridge_protocol::{a2a::StreamResponse, dialect::Call};
use futures_util::{
    StreamExt as _,
    stream::{self, BoxStream},
};

use super::{poll::Polling, reported::ReportedTask};
use crate::{
    Fault,
    agent::Agent,
    transport::{Item, Items},
};

/// Events, or the fault that ends them.
pub(super) type Events = BoxStream<'static, Result<StreamResponse, Fault>>;

pub(super) enum Source {
    /// A stream of the agent.
    Stream(Items),
    /// Polling the task.
    Polls(Polling),
    /// No source; everything was read.
    Ended,
}

/// The condition that ends the following.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Until {
    /// The end of the turn that a message started (SendStreamingMessage).
    Turn,
    /// The end of the task (SubscribeToTask).
    End,
}

impl Until {
    fn of(call: &Call) -> Self {
        if matches!(call, Call::SubscribeToTask(_)) { Self::End } else { Self::Turn }
    }
}

/// The state of following a call.
pub(super) struct Follower {
    pub(super) agent: Arc<Agent>,
    /// The tenant of the call.
    pub(super) tenant: Option<String>,
    pub(super) until: Until,
    pub(super) reported: ReportedTask,
    pub(super) source: Source,
    ready: VecDeque<StreamResponse>,
    /// The number of attempts to resume the stream since the last new event.
    pub(super) attempt: u32,
    /// The stream was resumed, so its end no longer means that the turn has ended.
    pub(super) again: bool,
}

async fn step(mut follower: Follower) -> Option<(Result<StreamResponse, Fault>, Follower)> {
    match follower.next().await {
        Ok(event) => event.map(|event| (Ok(event), follower)),
        Err(fault) => {
            follower.source = Source::Ended;
            Some((Err(fault), follower))
        }
    }
}

impl Follower {
    pub(super) fn new(
        agent: Arc<Agent>,
        call: &Call,
        source: Source,
        reported: ReportedTask,
    ) -> Self {
        Self {
            agent,
            tenant: call.tenant().map(str::to_owned),
            until: Until::of(call),
            reported,
            source,
            ready: VecDeque::new(),
            attempt: 0,
            again: false,
        }
    }

    /// Returns the events from now on.
    pub(super) fn into_events(self) -> Events {
        stream::unfold(self, step).boxed()
    }

    /// Returns the next event; `None` at the end.
    async fn next(&mut self) -> Result<Option<StreamResponse>, Fault> {
        loop {
            if let Some(event) = self.ready.pop_front() {
                return Ok(Some(event));
            }
            match &mut self.source {
                Source::Ended => return Ok(None),
                Source::Stream(items) => {
                    let item = items.next().await;
                    self.take(item).await?;
                }
                Source::Polls(polling) => {
                    let pause = polling.pause;
                    self.poll(pause).await?;
                }
            }
        }
    }

    async fn take(&mut self, item: Option<Result<Item, Fault>>) -> Result<(), Fault> {
        match item {
            Some(Ok(item)) => {
                self.hear(item);
                Ok(())
            }
            Some(Err(fault)) => self.broken(fault).await,
            // The end of the first stream ends the turn. The end of a resumed stream does so only if the
            // task's state agrees.
            None if !self.again || self.is_over() => {
                self.source = Source::Ended;
                Ok(())
            }
            None => self.ask_instead(Fault::StreamBroken("it ended before its task".into())),
        }
    }

    pub(super) fn hear(&mut self, item: Item) {
        // A message is a whole answer, unless it comes in the stream of a task: some agents of 0.3 send texts so.
        let is_answer =
            matches!(item.event, StreamResponse::Message(_)) && self.reported.task().is_none();
        let events = self.reported.take(item);
        self.show(events);
        // The first stream ends by itself, possibly with further events after the state that ends the turn.
        let is_streaming = matches!(self.source, Source::Stream(_)) && !self.again;
        if is_answer || (!is_streaming && self.is_over()) {
            self.source = Source::Ended;
        }
    }

    /// Ends the following if its condition is met.
    pub(super) fn end_if_over(&mut self) {
        if self.is_over() {
            self.source = Source::Ended;
        }
    }

    /// Queues events to be returned next.
    pub(super) fn show(&mut self, events: Vec<StreamResponse>) {
        if !events.is_empty() {
            self.attempt = 0;
        }
        self.ready.extend(events);
    }

    /// Returns whether the task's state meets the condition that ends the following.
    pub(super) fn is_over(&self) -> bool {
        match self.until {
            Until::Turn => self.reported.is_settled(),
            Until::End => self.reported.is_ended(),
        }
    }
}
