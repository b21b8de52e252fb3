//! The server that the official conformance suite tests, with this crate's HTTP server and authentication.
//!
//! The suite defines the names and behaviour of the tools, prompts and resources. It cannot send a token:
//! therefore a layer adds the token to each request of the suite.
//!
//! cargo run --example conformance_server -- 127.0.0.1:9300

#![expect(deprecated, reason = "the suite tests logging and sampling, which SEP-2577 deprecates")]

mod ask;
mod input;
mod offers;
mod prompts;
mod resources;
mod server;
mod tools;

use axum::{
    Router,
    extract::Request,
    http::{HeaderValue, header},
    middleware::{Next, from_fn},
    response::Response,
};
use mcp_tools::server::{Admission, Authenticator, ServerSettings, Unauthorized, protected};
use tokio::net::TcpListener;

use server::Fixture;

/// The token of the only user.
const TOKEN: &str = "conformance";

#[derive(Clone)]
struct OneGuest;

impl Authenticator for OneGuest {
    type User = ();

    fn admit(&self, token: &str) -> Result<Admission<()>, Unauthorized> {
        match token == TOKEN {
            true => Ok(Admission { key: TOKEN.to_owned(), user: () }),
            false => Err(Unauthorized::Unknown),
        }
    }

    fn knows(&self, key: &str) -> bool {
        key == TOKEN
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let address = std::env::args().nth(1);
    let listener = TcpListener::bind(address.as_deref().unwrap_or("127.0.0.1:0")).await?;
    eprintln!("listening on http://{}", listener.local_addr()?);
    axum::serve(listener, app(Fixture::new()?)).await?;
    Ok(())
}

/// Serves the suite at `/mcp`; `/closed/mcp` is the same server without the layer that adds the token.
fn app(fixture: Fixture) -> Router {
    let settings = ServerSettings {
        allowed_origins: vec!["http://127.0.0.1:*".into(), "http://localhost:*".into()],
        // The suite begins a session for each scenario and leaves some of them open.
        sessions: 200,
        ..ServerSettings::default()
    };
    let door = protected(OneGuest, move |()| fixture.clone(), settings);
    Router::new().nest("/closed", door.clone()).merge(door.layer(from_fn(with_token)))
}

async fn with_token(mut request: Request, next: Next) -> Response {
    let token = HeaderValue::from_static("Bearer conformance");
    request.headers_mut().insert(header::AUTHORIZATION, token);
    next.run(request).await
}
