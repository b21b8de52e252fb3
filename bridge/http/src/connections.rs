//! Connections to a server, which are kept only if the server closes none while a request waits there.
//!
//! A server on Node.js closes a connection on which it has received nothing for 5 s, and looks at its clock before it reads. If
//! its only thread was busy for that long, a request on such a connection is lost, and most requests cannot be repeated, since
//! nobody knows whether the server has seen them. These servers announce the time in the header `Keep-Alive`; others read first,
//! and announce nothing.

use std::{
    sync::{Arc, OnceLock},
    time::Duration,
};

use reqwest::{
    Client, ClientBuilder, Method, Request, RequestBuilder, Response, Result,
    header::{CONNECTION, HeaderName, HeaderValue},
};

/// The time that an unused connection is kept. Servers close one after some seconds, gunicorn after 2 s, and a request that is sent
/// at that moment is lost.
pub const IDLE_TIMEOUT: Duration = Duration::from_millis(1500);

const KEEP_ALIVE: HeaderName = HeaderName::from_static("keep-alive");

/// The connections to one server. Clones share what is known of it.
#[derive(Clone, Debug)]
pub struct Connections {
    /// Keeps connections.
    keeping: Client,
    /// Makes a connection for each request.
    single: Client,
    /// Whether connections to the server are kept; empty until it has answered.
    are_kept: Arc<OnceLock<bool>>,
}

impl Connections {
    /// Prepares connections to a server that has not answered yet. `builder` is called for each of two clients.
    ///
    /// # Errors
    /// If the system's TLS setup cannot be used.
    pub fn new(builder: impl Fn() -> ClientBuilder) -> Result<Self> {
        Ok(Self {
            keeping: builder().pool_idle_timeout(IDLE_TIMEOUT).build()?,
            single: builder().pool_max_idle_per_host(0).build()?,
            are_kept: Arc::default(),
        })
    }

    /// Returns connections to another server, which has not answered yet.
    pub fn to_another_server(&self) -> Self {
        Self { are_kept: Arc::default(), ..self.clone() }
    }

    /// Begins a request, which [`send`](Self::send) sends.
    pub fn request(&self, method: Method, url: impl reqwest::IntoUrl) -> RequestBuilder {
        self.single.request(method, url)
    }

    /// Sends a request.
    ///
    /// # Errors
    /// If the request is invalid, or no answer arrives.
    pub async fn send(&self, request: RequestBuilder) -> Result<Response> {
        self.execute(request.build()?).await
    }

    /// Sends a request, and learns from the first successful answer whether connections are kept. An error may come from a proxy.
    ///
    /// # Errors
    /// If no answer arrives.
    pub async fn execute(&self, mut request: Request) -> Result<Response> {
        let client = match self.are_kept.get() {
            Some(true) => &self.keeping,
            Some(false) => {
                // So the server closes the connection. If this side closed it, its port could not be used for a minute.
                request.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
                &self.single
            }
            None => &self.single,
        };
        let answer = client.execute(request).await?;
        if answer.status().is_success() {
            self.are_kept.get_or_init(|| !answer.headers().contains_key(KEEP_ALIVE));
        }
        Ok(answer)
    }
}

/// A client that decides by itself which connections are kept, such as a client of HTTP/2.
impl From<Client> for Connections {
    fn from(client: Client) -> Self {
        let are_kept = Arc::new(OnceLock::from(true));
        Self { keeping: client.clone(), single: client, are_kept }
    }
}

#[cfg(test)]
mod tests {
    use std::net::SocketAddr;

    use axum::{
        Router, extract::ConnectInfo, http::StatusCode, response::IntoResponse as _, routing::get,
    };
    use tokio::net::TcpListener;

    use super::*;

    /// Starts a server that answers with the caller's address, and returns its URL.
    async fn server(status: StatusCode, keep_alive: Option<&'static str>) -> String {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/", listener.local_addr().unwrap());
        let answer = async move |ConnectInfo(peer): ConnectInfo<SocketAddr>| {
            let mut answer = (status, peer.to_string()).into_response();
            if let Some(announced) = keep_alive {
                answer.headers_mut().insert(KEEP_ALIVE, HeaderValue::from_static(announced));
            }
            answer
        };
        let app = Router::new().route("/", get(answer));
        let app = app.into_make_service_with_connect_info::<SocketAddr>();
        tokio::spawn(async move { axum::serve(listener, app).await });
        url
    }

    /// Returns the addresses from which three requests are sent.
    async fn callers(connections: &Connections, url: &str) -> [String; 3] {
        let mut callers = Vec::new();
        for _ in 0..3 {
            let answer = connections.send(connections.request(Method::GET, url)).await.unwrap();
            callers.push(answer.text().await.unwrap());
        }
        callers.try_into().unwrap()
    }

    fn connections() -> Connections {
        Connections::new(|| Client::builder().no_proxy()).unwrap()
    }

    #[tokio::test]
    async fn a_server_that_announces_when_it_closes_gets_a_connection_for_each_request() {
        let url = server(StatusCode::OK, Some("timeout=5")).await;
        let [first, second, third] = callers(&connections(), &url).await;
        assert!(first != second && second != third && third != first);
    }

    #[tokio::test]
    async fn other_servers_get_one_connection_once_they_have_answered() {
        let url = server(StatusCode::OK, None).await;
        let connections = connections();
        let [first, second, third] = callers(&connections, &url).await;
        assert!(first != second && second == third);
        let [another, ..] = callers(&connections.to_another_server(), &url).await;
        assert_ne!(another, third);
    }

    #[tokio::test]
    async fn nothing_is_learnt_from_an_error() {
        let url = server(StatusCode::BAD_GATEWAY, None).await;
        let [first, second, third] = callers(&connections(), &url).await;
        assert!(first != second && second != third && third != first);
    }
}
