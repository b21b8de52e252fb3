//! The body of a response. Its request counts as open until the body was sent or given up.

use std::{pin::Pin, sync::Arc, task::Context};

use axum::body::{Body, Bytes};
use hyper::body::{Body as HttpBody, SizeHint};

use crate::lock;

use super::{
    connection_monitor::ConnectionMonitor,
    large_responses::ResponsePermit,
    monitored_body::{MonitoredBody, PolledFrame, SplitBody},
    request_limits::Permits,
};

/// Counts a request as open on its connection until it is dropped.
#[derive(Debug)]
pub(super) struct RequestGuard {
    monitor: Arc<ConnectionMonitor>,
    _permits: Option<Permits>,
}

impl RequestGuard {
    pub(super) fn new(monitor: Arc<ConnectionMonitor>, permits: Option<Permits>) -> Self {
        monitor.request_began();
        Self { monitor, _permits: permits }
    }
}

impl Drop for RequestGuard {
    fn drop(&mut self) {
        self.monitor.request_ended();
    }
}

pub(super) struct ResponseBody {
    source: Source,
    _guard: RequestGuard,
}

/// The source of the frames. A body of HTTP/1 needs no monitor of its own, because it stalls with its connection.
enum Source {
    Direct(SplitBody),
    Monitored(Arc<MonitoredBody>),
}

impl ResponseBody {
    /// Returns the body of a handler's response, which holds `permit` and `guard` until it was sent.
    pub(super) fn new(
        body: Body,
        permit: Option<ResponsePermit>,
        guard: RequestGuard,
        is_http2: bool,
    ) -> Self {
        let is_empty = body.is_end_stream();
        let content = SplitBody::new(body, permit);
        let source = match is_http2 && !is_empty {
            false => Source::Direct(content),
            true => {
                let body = Arc::new(MonitoredBody::new(content));
                guard.monitor.watch(Arc::downgrade(&body));
                Source::Monitored(body)
            }
        };
        Self { source, _guard: guard }
    }
}

impl HttpBody for ResponseBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> PolledFrame {
        match &mut self.source {
            Source::Direct(content) => content.poll(context),
            Source::Monitored(body) => body.poll(context),
        }
    }

    fn is_end_stream(&self) -> bool {
        match &self.source {
            Source::Direct(content) => content.is_end(),
            Source::Monitored(body) => lock(&body.content).as_ref().is_some_and(SplitBody::is_end),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match &self.source {
            Source::Direct(content) => content.size_hint(),
            Source::Monitored(body) => {
                lock(&body.content).as_ref().map_or_else(SizeHint::default, SplitBody::size_hint)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use http_body_util::BodyExt as _;

    use std::time::Duration;

    use super::*;
    use crate::serve::monitored_body::PIECE;

    fn response_body(body: Body, is_http2: bool) -> (ResponseBody, Arc<ConnectionMonitor>) {
        let monitor = Arc::new(ConnectionMonitor::new());
        let guard = RequestGuard::new(monitor.clone(), None);
        (ResponseBody::new(body, None, guard, is_http2), monitor)
    }

    #[tokio::test]
    async fn a_large_frame_is_sent_in_pieces() {
        for is_http2 in [false, true] {
            let text = Bytes::from(vec![7; 2 * PIECE + 1]);
            let (mut body, monitor) = response_body(Body::from(text.clone()), is_http2);
            assert_eq!(body.size_hint().exact(), Some(text.len() as u64));
            let mut pieces = Vec::new();
            while let Some(frame) = body.frame().await {
                pieces.push(frame.unwrap().into_data().unwrap());
            }
            let lengths: Vec<_> = pieces.iter().map(Bytes::len).collect();
            assert_eq!(lengths, [PIECE, PIECE, 1]);
            assert_eq!(pieces.concat(), text);
            assert!(monitor.idle().is_none());
            drop(body);
            assert!(monitor.idle().is_some());
        }
    }

    #[tokio::test]
    async fn a_body_that_nobody_reads_is_aborted() {
        let (mut body, _) = response_body(Body::from(vec![7; 2 * PIECE]), true);
        let Source::Monitored(monitored) = &body.source else {
            panic!("the body is not monitored");
        };
        let monitored = monitored.clone();
        assert!(body.frame().await.unwrap().is_ok());
        assert!(monitored.cut_after(Duration::from_secs(3600)));
        while lock(&monitored.content).is_some() {
            monitored.cut_after(Duration::ZERO);
        }
        assert!(body.frame().await.unwrap().is_err());
    }
}
