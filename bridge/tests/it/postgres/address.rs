//! One address in front of several bridges: each request goes to the next of them, from any sender.

use std::sync::{
    Arc, Mutex,
    atomic::{AtomicUsize, Ordering},
};

use axum::{
    Router,
    body::Body,
    extract::{Request, State},
    http::StatusCode,
    response::{IntoResponse as _, Response},
};
use tokio::{net::TcpListener, task::JoinHandle};

/// The address. It ends when this is dropped.
pub(super) struct Address {
    pub(super) url: String,
    places: Arc<Places>,
    server: JoinHandle<()>,
}

#[derive(Default)]
struct Places {
    urls: Mutex<Vec<String>>,
    count: AtomicUsize,
    http: reqwest::Client,
}

impl Address {
    pub(super) async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let places = Arc::new(Places::default());
        let app = Router::new().fallback(pass_on).with_state(places.clone());
        let server = tokio::spawn(async move { axum::serve(listener, app).await.unwrap() });
        Self { url, places, server }
    }

    /// Requests go to these from now on, beginning with the first.
    pub(super) fn leads_to<'u>(&self, urls: impl IntoIterator<Item = &'u str>) {
        *self.places.urls.lock().unwrap() = urls.into_iter().map(str::to_owned).collect();
        self.places.count.store(0, Ordering::SeqCst);
    }

    /// Returns the number of requests since.
    pub(super) fn count(&self) -> usize {
        self.places.count.load(Ordering::SeqCst)
    }
}

impl Drop for Address {
    fn drop(&mut self) {
        self.server.abort();
    }
}

async fn pass_on(State(places): State<Arc<Places>>, request: Request) -> Response {
    let number = places.count.fetch_add(1, Ordering::SeqCst);
    let base = {
        let urls = places.urls.lock().unwrap();
        urls[number % urls.len()].clone()
    };
    let (parts, body) = request.into_parts();
    let body = axum::body::to_bytes(body, 1 << 20).await.unwrap();
    let passed = places
        .http
        .request(parts.method, format!("{base}{}", parts.uri))
        .headers(parts.headers)
        .body(body);
    match passed.send().await {
        Ok(answer) => {
            let mut response = Response::new(Body::empty());
            *response.status_mut() = answer.status();
            *response.headers_mut() = answer.headers().clone();
            *response.body_mut() = Body::from_stream(answer.bytes_stream());
            response
        }
        Err(_) => StatusCode::BAD_GATEWAY.into_response(),
    }
}
