//! The events of a streaming operation.

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
    let opened = agent.open(&call, None).await;
    let items = opened.map_err(|fault| agent.named(fault, &call))?;
    let events = items.map(move |item| match item {
        Ok(item) => Ok(item.event),
        Err(fault) => Err(agent.named(fault, &call)),
    });
    Ok(EventStream(events.boxed()))
}
