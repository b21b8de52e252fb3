//! Follows a task from event to event: by the stream that was opened, by another one after that broke
//! ([`super::resume`]), or by asking for the task ([`super::poll`]).

use std::{collections::VecDeque, sync::Arc};

use bridge_protocol::a2a::StreamResponse;
use futures_util::{
    StreamExt as _,
    stream::{self, BoxStream},
};

use super::{poll::Polling, seen::Seen};
use crate::{
    Fault,
    agent::Agent,
    transport::{Item, Items},
};

/// Events, or the fault that ends them.
pub(super) type Events = BoxStream<'static, Result<StreamResponse, Fault>>;

/// Where events come from.
pub(super) enum Source {
    /// A stream of the agent's.
    Stream(Items),
    /// Asking for the task.
    Polls(Polling),
    /// Nowhere any more.
    Ended,
}

/// When there is nothing more to follow.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Until {
    /// The turn that a message began has ended: SendStreamingMessage.
    Turn,
    /// The task has ended: SubscribeToTask.
    End,
}

/// What is followed, and how far.
pub(super) struct Follower {
    pub(super) agent: Arc<Agent>,
    pub(super) until: Until,
    pub(super) seen: Seen,
    pub(super) source: Source,
    ready: VecDeque<StreamResponse>,
    /// Attempts to take the stream up again since something new was heard.
    pub(super) attempt: u32,
    /// The stream was taken up again, so its end is no longer the agent's word on the turn's.
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
    pub(super) fn new(agent: Arc<Agent>, until: Until, source: Source, seen: Seen) -> Self {
        Self {
            agent,
            until,
            seen,
            source,
            ready: VecDeque::new(),
            attempt: 0,
            again: false,
        }
    }

    /// The events from now on.
    pub(super) fn into_events(self) -> Events {
        stream::unfold(self, step).boxed()
    }

    /// The next event; none at the end.
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
            // The agent ended the stream that it began; of another one only the state says what it means.
            None if !self.again || self.is_over() => {
                self.source = Source::Ended;
                Ok(())
            }
            None => self.ask_instead(Fault::StreamBroken("it ended before its task".into())),
        }
    }

    pub(super) fn hear(&mut self, item: Item) {
        let is_message = matches!(item.event, StreamResponse::Message(_));
        let events = self.seen.take(item);
        self.show(events);
        // A stream that was opened for the turn ends by itself, after what the agent has left to say.
        let is_streaming = matches!(self.source, Source::Stream(_)) && !self.again;
        if is_message || (!is_streaming && self.is_over()) {
            self.source = Source::Ended;
        }
    }

    /// Ends it if there is nothing more to follow.
    pub(super) fn end_if_over(&mut self) {
        if self.is_over() {
            self.source = Source::Ended;
        }
    }

    /// Has these shown next.
    pub(super) fn show(&mut self, events: Vec<StreamResponse>) {
        if !events.is_empty() {
            self.attempt = 0;
        }
        self.ready.extend(events);
    }

    /// Whether there is nothing more to follow, as far as the task's state says.
    pub(super) fn is_over(&self) -> bool {
        match self.until {
            Until::Turn => self.seen.is_settled(),
            Until::End => self.seen.is_ended(),
        }
    }
}
