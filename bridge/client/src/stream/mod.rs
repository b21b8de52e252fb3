//! The events of a streaming operation, whatever becomes of the connection that brings them.
//!
//! - [`follow`]: takes broken streams up again, and asks for the task where there are none
//! - [`seen`]: what was shown already, so that nothing is shown twice and nothing is left out
//! - [`news`]: what a task says that was not shown yet, as events

mod follow;
mod news;
mod seen;

use std::{
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use bridge_protocol::{a2a::StreamResponse, dialect::Call};
use futures_util::{Stream, StreamExt as _, stream::BoxStream};

use crate::{ClientError, agent::Agent};

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
    match follow::begin(agent.clone(), call.clone()).await {
        Ok(events) => Ok(EventStream(
            events
                .map(move |event| event.map_err(|fault| agent.named(fault, &call)))
                .boxed(),
        )),
        Err(fault) => Err(agent.named(fault, &call)),
    }
}
