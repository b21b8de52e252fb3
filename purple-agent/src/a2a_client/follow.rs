//! Follows the evaluator's task until there is nothing more to be heard.

use std::{sync::Arc, time::Duration};

use bridge_client::{Client, ClientError, EventStream};
use bridge_protocol::a2a::{GetTaskRequest, StreamResponse};
use futures_util::StreamExt as _;
use tokio::time::sleep;

use super::heard::{Heard, Stage};

/// How often a task is asked for whose agent does not stream, or whose stream broke.
const POLL: Duration = Duration::from_millis(250);

/// How often in a row asking may fail.
const FAILURES: u32 = 5;

/// Where the events come from.
pub(super) enum Source {
    Stream(EventStream),
    Polls,
}

/// Hears all there is to be heard. Whoever waits for it has the limits; dropping ends it.
pub(super) async fn follow(client: Arc<Client>, source: Source, heard: Arc<Heard>) {
    let broken = match source {
        Source::Stream(events) => listen(events, &heard).await.err(),
        Source::Polls => None,
    };
    if *heard.stage().borrow() != Stage::Open {
        return;
    }
    // A stream that ended early, or broke, lost nothing: the task knows what was said.
    match heard.task_id() {
        Some(task) => poll(&client, &task, &heard).await,
        None => heard.broken(match broken {
            Some(error) => error.to_string(),
            None => "the stream ended before it said anything".to_owned(),
        }),
    }
}

async fn listen(mut events: EventStream, heard: &Heard) -> Result<(), ClientError> {
    while let Some(item) = events.next().await {
        heard.take(item?);
    }
    Ok(())
}

async fn poll(client: &Client, task: &str, heard: &Heard) {
    let mut failures = 0;
    while *heard.stage().borrow() == Stage::Open {
        sleep(POLL).await;
        match client.get_task(GetTaskRequest::new(task)).await {
            Ok(task) => {
                failures = 0;
                heard.take(StreamResponse::Task(task));
            }
            Err(error) => {
                failures += 1;
                if failures >= FAILURES {
                    heard.broken(error.to_string());
                }
            }
        }
    }
}
