//! A site with an answer for each path, which records its requests.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
};

use axum::{
    Router,
    body::{Body, Bytes},
    http::{HeaderMap, Method, Response, Uri},
};
use serde_json::Value;
use tokio::net::TcpListener;
use url::Url;

use crate::server::reply;

/// A request: its line, headers and JSON.
#[derive(Clone, Debug)]
pub(crate) struct Asked {
    pub(crate) line: String,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Value,
}

/// A running site.
pub(crate) struct Site {
    pub(crate) url: Url,
    asked: Arc<Mutex<Vec<Asked>>>,
}

/// An answer's status, the address of a redirect if it is one, and its body.
pub(crate) type Answer = (u16, Option<String>, String);

impl Site {
    /// Returns the requests, in order.
    pub(crate) fn asked(&self) -> Vec<Asked> {
        self.asked.lock().unwrap().clone()
    }

    /// Returns the request lines, in order.
    pub(crate) fn lines(&self) -> Vec<String> {
        self.asked().into_iter().map(|asked| asked.line).collect()
    }
}

pub(crate) fn json(body: &Value) -> Answer {
    (200, None, body.to_string())
}

pub(crate) fn redirect(to: &str) -> Answer {
    (302, Some(to.to_owned()), String::new())
}

/// Starts a site with these answers. In them `URL` is replaced by the site's address and `ASKED` by the
/// request's id. Several answers for one line are given in order, and the last one repeats.
pub(crate) async fn site(answers: &[(&str, Answer)]) -> Site {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let base = format!("http://{}", listener.local_addr().unwrap());
    let asked = Arc::new(Mutex::new(Vec::new()));
    let mut queues: BTreeMap<String, Vec<Answer>> = BTreeMap::new();
    for (line, (status, to, body)) in answers.iter().rev() {
        let at_home = |text: &str| text.replace("URL", &base);
        let answer = (*status, to.as_deref().map(at_home), at_home(body));
        queues.entry((*line).to_owned()).or_default().push(answer);
    }
    let (queues, remembered) = (Arc::new(Mutex::new(queues)), asked.clone());
    let app = Router::new().fallback(
        async move |method: Method, uri: Uri, headers: HeaderMap, body: Bytes| {
            let line = format!("{method} {}", uri.path());
            let body: Value = serde_json::from_slice(&body).unwrap_or_default();
            let answer = next(&mut queues.lock().unwrap(), &line, &body["id"]);
            let asked = Asked { line, headers, body };
            remembered.lock().unwrap().push(asked);
            answer
        },
    );
    tokio::spawn(async move { axum::serve(listener, app).await });
    Site { url: Url::parse(&base).unwrap(), asked }
}

fn next(queues: &mut BTreeMap<String, Vec<Answer>>, line: &str, id: &Value) -> Response<Body> {
    let Some(queue) = queues.get_mut(line) else {
        return reply(404, "text/plain", "nothing here");
    };
    let (status, to, body) = match queue.len() {
        1 => queue[0].clone(),
        _ => queue.pop().unwrap(),
    };
    let body = body.replace("\"ASKED\"", &id.to_string());
    let mut response = reply(status, "application/json", &body);
    if let Some(to) = to {
        response.headers_mut().insert("location", to.parse().unwrap());
    }
    response
}
