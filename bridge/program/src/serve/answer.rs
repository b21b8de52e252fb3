//! The body of a response, which counts as a request until it was sent or given up.

use std::{pin::Pin, sync::Arc, task::Context};

use axum::body::{Body, Bytes};
use hyper::body::{Body as HttpBody, SizeHint};

use super::{
    activity::Activity,
    gate::Held,
    outgoing::Room,
    pace::{Content, Pace, Polled},
};

/// A request that is being answered, until its answer was sent or given up.
#[derive(Debug)]
pub(super) struct Asking {
    activity: Arc<Activity>,
    _place: Option<Held>,
}

impl Asking {
    pub(super) fn new(activity: Arc<Activity>, place: Option<Held>) -> Self {
        activity.asked();
        Self {
            activity,
            _place: place,
        }
    }
}

impl Drop for Asking {
    fn drop(&mut self) {
        self.activity.answered();
    }
}

/// The body of a response.
pub(super) struct Answer {
    said: Said,
    _asking: Asking,
}

/// Where it is: of HTTP/1 the connection itself shows whether its reader is behind.
enum Said {
    Here(Content),
    Paced(Arc<Pace>),
}

impl Answer {
    /// What a handler answered; of HTTP/2 it is watched one by one.
    pub(super) fn new(body: Body, room: Option<Room>, asking: Asking, is_http2: bool) -> Self {
        let is_empty = body.is_end_stream();
        let content = Content::new(body, room);
        let said = match is_http2 && !is_empty {
            false => Said::Here(content),
            true => {
                let pace = Arc::new(Pace::new(content));
                asking.activity.watch(Arc::downgrade(&pace));
                Said::Paced(pace)
            }
        };
        Self {
            said,
            _asking: asking,
        }
    }
}

impl HttpBody for Answer {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Polled {
        match &mut self.said {
            Said::Here(content) => content.poll(context),
            Said::Paced(pace) => pace.poll(context),
        }
    }

    fn is_end_stream(&self) -> bool {
        match &self.said {
            Said::Here(content) => content.is_end(),
            Said::Paced(pace) => pace.lock().as_ref().is_some_and(Content::is_end),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match &self.said {
            Said::Here(content) => content.size_hint(),
            Said::Paced(pace) => pace
                .lock()
                .as_ref()
                .map_or_else(SizeHint::default, Content::size_hint),
        }
    }
}

#[cfg(test)]
mod tests {
    use http_body_util::BodyExt as _;

    use std::time::Duration;

    use super::*;
    use crate::serve::pace::PIECE;

    fn answer(body: Body, is_http2: bool) -> (Answer, Arc<Activity>) {
        let activity = Arc::new(Activity::new());
        let asking = Asking::new(activity.clone(), None);
        (Answer::new(body, None, asking, is_http2), activity)
    }

    #[tokio::test]
    async fn a_large_frame_is_given_in_pieces() {
        for is_http2 in [false, true] {
            let text = Bytes::from(vec![7; 2 * PIECE + 1]);
            let (mut answer, activity) = answer(Body::from(text.clone()), is_http2);
            assert_eq!(answer.size_hint().exact(), Some(text.len() as u64));
            let mut pieces = Vec::new();
            while let Some(frame) = answer.frame().await {
                pieces.push(frame.unwrap().into_data().unwrap());
            }
            let lengths: Vec<_> = pieces.iter().map(Bytes::len).collect();
            assert_eq!(lengths, [PIECE, PIECE, 1]);
            assert_eq!(pieces.concat(), text);
            assert!(activity.is_spare().is_none());
            drop(answer);
            assert!(activity.is_spare().is_some());
        }
    }

    #[tokio::test]
    async fn an_answer_that_nobody_takes_is_cut_off() {
        let (mut answer, _) = answer(Body::from(vec![7; 2 * PIECE]), true);
        let Said::Paced(pace) = &answer.said else {
            panic!("it is not watched");
        };
        let pace = pace.clone();
        assert!(answer.frame().await.unwrap().is_ok());
        assert!(pace.cut_after(Duration::from_secs(3600)));
        while pace.lock().is_some() {
            pace.cut_after(Duration::ZERO);
        }
        assert!(answer.frame().await.unwrap().is_err());
    }
}
