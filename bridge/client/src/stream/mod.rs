//! The events of a streaming operation, independent of broken connections.
//!
//! - [`start`]: starts with a stream, or with an answer if the agent does not stream
//! - [`follow`]: moves from event to event, resumes a broken stream, and polls the task
//! - [`reported`]: filters out repeated events and detects missed ones
//! - [`changes`]: the differences between two states of a task, as events

mod changes;
mod follow;
mod reported;
mod start;

use std::{
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use bridge_protocol::{
    a2a::{GetTaskRequest, StreamResponse, Task},
    dialect::Call,
};
use futures_util::{Stream, StreamExt as _, stream::BoxStream};

use crate::{Result, agent::Agent};
use follow::Follower;

/// The events of a streaming operation, in the types of 1.0. The stream ends after the first error, or when the agent
/// ends its stream properly, whatever the task's state.
///
/// A stream that breaks is resumed with SubscribeToTask, or by polling the task if the agent does not support
/// that; the message is never sent again. Events are not repeated after that, and missed ones are supplied:
/// each message once, artifacts as far as they grew, and the status. If the agent does not stream at all, the
/// task is polled from the beginning. [`Options`](crate::Options) has the limits of both.
///
/// Dropping the stream closes the connection; the agent continues the task.
pub struct EventStream(BoxStream<'static, Result<StreamResponse>>);

impl Stream for EventStream {
    type Item = Result<StreamResponse>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.0.poll_next_unpin(cx)
    }
}

impl std::fmt::Debug for EventStream {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("EventStream")
    }
}

/// Opens the stream of a call. A refusal is returned here and not as the first event.
pub(crate) async fn open(agent: Arc<Agent>, call: Call) -> Result<EventStream> {
    match start::with(agent.clone(), &call).await {
        Ok(follower) => Ok(EventStream::named(follower, agent, call)),
        Err(fault) => Err(agent.named(fault, &call)),
    }
}

/// Follows a task in a known state by polling, in this tenant or that of the interface.
pub(crate) fn poll(agent: Arc<Agent>, tenant: Option<String>, task: Task) -> EventStream {
    let request = GetTaskRequest { tenant, ..GetTaskRequest::new(task.id.as_str()) };
    let call = agent.with_tenant(Call::GetTask(request));
    EventStream::named(start::at(agent.clone(), &call, task), agent, call)
}

impl EventStream {
    /// Creates the events of a follower, whose errors name the agent and the call.
    fn named(follower: Follower, agent: Arc<Agent>, call: Call) -> Self {
        let events = follower.into_events();
        let named = events.map(move |event| event.map_err(|fault| agent.named(fault, &call)));
        Self(named.boxed())
    }
}
