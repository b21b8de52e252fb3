//! A webhook on a socket that records deliveries and answers as configured.

use std::{
    collections::{BTreeMap, VecDeque},
    sync::{Arc, Mutex},
    time::Duration,
};

use axum::{
    Router,
    body::Bytes,
    extract::State,
    http::{HeaderMap, StatusCode, Uri},
    response::{IntoResponse as _, Redirect, Response},
};
use serde_json::Value;
use tokio::{net::TcpListener, sync::watch, time::timeout};

/// The time limit of an expected delivery.
const PATIENCE: Duration = Duration::from_secs(300);

/// A delivery that a webhook received.
#[derive(Clone, Debug)]
pub(super) struct Delivery {
    /// The path that it came to.
    pub(super) path: String,
    pub(super) headers: BTreeMap<String, String>,
    pub(super) raw: Vec<u8>,
    pub(super) body: Value,
}

/// The webhook's reaction to the next delivery at a path.
#[derive(Clone, Copy, Debug)]
pub(super) enum Answer {
    Status(u16),
    Redirect,
    Silence,
}

#[derive(Debug, Default)]
struct ReceiverState {
    deliveries: Vec<Delivery>,
    answers: BTreeMap<String, VecDeque<Answer>>,
}

#[derive(Clone, Debug)]
pub(super) struct Receiver {
    url: String,
    noted: Arc<Mutex<ReceiverState>>,
    count: watch::Sender<usize>,
}

impl Receiver {
    pub(super) async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let receiver = Self {
            url: format!("http://{}", listener.local_addr().unwrap()),
            noted: Arc::default(),
            count: watch::Sender::new(0),
        };
        let app = Router::new().fallback(take).with_state(receiver.clone());
        tokio::spawn(async move { axum::serve(listener, app).await });
        receiver
    }

    /// Returns the URL of a webhook below this receiver.
    pub(super) fn at(&self, path: &str) -> String {
        format!("{}{path}", self.url)
    }

    /// Sets the next answers at this path; later ones are successes.
    pub(super) fn answer(&self, path: &str, answers: &[Answer]) {
        let answers = answers.iter().copied().collect();
        self.noted.lock().unwrap().answers.insert(path.to_owned(), answers);
    }

    /// Returns the deliveries at a path.
    pub(super) fn got(&self, path: &str) -> Vec<Delivery> {
        let noted = self.noted.lock().unwrap();
        let to_path = noted.deliveries.iter().filter(|one| one.path == path);
        to_path.cloned().collect()
    }

    /// Waits until what came to a path is as wanted.
    pub(super) async fn wait(
        &self,
        path: &str,
        wanted: impl Fn(&[Delivery]) -> bool,
    ) -> Vec<Delivery> {
        let mut counted = self.count.subscribe();
        let waiting = counted.wait_for(|_| wanted(&self.got(path)));
        let came = timeout(PATIENCE, waiting).await.is_ok();
        assert!(came, "{path} got {:?}", self.got(path));
        self.got(path)
    }

    /// Waits until a path has received the end of a task.
    pub(super) async fn wait_for_end(&self, path: &str) -> Vec<Delivery> {
        let is_end = |one: &Delivery| one.state().is_some_and(|state| state.ends_with("COMPLETED"));
        self.wait(path, |got| got.last().is_some_and(is_end)).await
    }
}

impl Delivery {
    /// Returns the state in the delivery.
    pub(super) fn state(&self) -> Option<String> {
        let update = self.body.get("statusUpdate").unwrap_or(&self.body);
        let state = update["status"]["state"].as_str()?;
        Some(state.to_uppercase())
    }
}

async fn take(
    State(receiver): State<Receiver>,
    uri: Uri,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    let path = uri.path().to_owned();
    let text = |value: &axum::http::HeaderValue| value.to_str().unwrap_or("?").to_owned();
    let headers = headers.iter().map(|(name, value)| (name.to_string(), text(value)));
    let delivery = Delivery {
        path: path.clone(),
        headers: headers.collect(),
        body: serde_json::from_slice(&body).unwrap_or_default(),
        raw: body.to_vec(),
    };
    let answer = {
        let mut noted = receiver.noted.lock().unwrap();
        noted.deliveries.push(delivery);
        noted.answers.get_mut(&path).and_then(VecDeque::pop_front)
    };
    receiver.count.send_modify(|count| *count += 1);
    match answer {
        None => StatusCode::OK.into_response(),
        Some(Answer::Status(status)) => StatusCode::from_u16(status).unwrap().into_response(),
        Some(Answer::Redirect) => Redirect::temporary("/elsewhere").into_response(),
        Some(Answer::Silence) => std::future::pending().await,
    }
}
