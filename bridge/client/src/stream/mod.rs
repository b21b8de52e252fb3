//! The events of a streaming operation, whatever becomes of the connection that brings them.
//!
//! - [`begin`]: with a stream, or with an answer where the agent has none
//! - [`follow`]: from event to event
//! - [`resume`]: a stream that broke is taken up again
//! - [`poll`]: the task is asked for
//! - [`seen`]: what was shown already, so that nothing is shown twice and nothing is left out
//! - [`recent`]: the last of that, and no more
//! - [`news`]: what a task says that was not shown yet, as events

mod begin;
mod follow;
mod news;
mod poll;
mod recent;
mod resume;
mod seen;

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

use crate::{ClientError, agent::Agent};
use follow::Follower;

/// Events as they arrive, in the types of 1.0. It ends after the stream's end or the first error.
///
/// A stream that breaks before its end is taken up again by itself with SubscribeToTask, and where the
/// agent has none, by asking for the task; the message is never sent again. What was shown is not shown
/// again, and what was missed is: each message once, artifacts as they grew, and the status. Where the
/// agent does not stream at all, the task is asked for from the beginning. [`Options`](crate::Options)
/// has the limits of both.
///
/// A stream that the agent ends properly is at its end, whatever state its task is in.
///
/// Dropping it closes the connection; the task goes on at the agent.
pub struct EventStream(BoxStream<'static, Result<StreamResponse, ClientError>>);

impl Stream for EventStream {
    type Item = Result<StreamResponse, ClientError>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.0.poll_next_unpin(cx)
    }
}

impl std::fmt::Debug for EventStream {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("EventStream")
    }
}

/// Opens the stream of a call. A refusal is told here already, not by the first event.
pub(crate) async fn open(agent: Arc<Agent>, call: Call) -> Result<EventStream, ClientError> {
    match begin::with(agent.clone(), &call).await {
        Ok(follower) => Ok(EventStream::named(follower, agent, call)),
        Err(fault) => Err(agent.named(fault, &call)),
    }
}

/// What becomes of a task that is known as it stands here, by asking for it.
pub(crate) fn poll(agent: Arc<Agent>, task: Task) -> EventStream {
    let call = Call::GetTask(GetTaskRequest::new(task.id.as_str()));
    EventStream::named(begin::at(agent.clone(), task), agent, call)
}

impl EventStream {
    /// The events of what is followed; its faults say whom they come from and what was called.
    fn named(follower: Follower, agent: Arc<Agent>, call: Call) -> Self {
        let events = follower.into_events();
        let named = events.map(move |event| event.map_err(|fault| agent.named(fault, &call)));
        Self(named.boxed())
    }
}
