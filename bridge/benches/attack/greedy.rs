//! A caller that sends requests without a pause on many connections, once with the limits for callers and once without.

use std::{
    sync::atomic::{AtomicUsize, Ordering},
    time::{Duration, Instant},
};

use futures_util::future::join_all;
use reqwest::header::{HeaderMap, HeaderValue};
use serde_json::json;

use crate::harness::{BackgroundClients, Error, Harness, Program};

/// The number of connections of the greedy caller.
const CONNECTIONS: usize = 64;

/// The configuration of an agent with two callers.
const AGENT: &str = r#"
[[agents]]
name = "echo"
builtin = "echo"
card.security = [{ key = [] }]
card.security_schemes.key.apiKeySecurityScheme = { location = "header", name = "X-Key" }
access.key.secrets = { greedy = { env = "GREEDY" }, other = { env = "OTHER" } }
"#;

pub(crate) async fn run(harness: &mut Harness) -> Result<(), Error> {
    let length = Duration::from_secs(harness.pick(5, 2));
    let folder = tempfile::tempdir()?;
    for (name, limits) in [
        ("has the limits for callers", ""),
        ("has no limits", "[limits]\ncaller_requests = 1000000000\n"),
    ] {
        let path = folder.path().join("bridge.toml");
        std::fs::write(&path, format!("{limits}{AGENT}"))?;
        let program = Program::with_secrets(
            &["--config", &path.display().to_string()],
            &[("GREEDY", "greedy's"), ("OTHER", "other's")],
        )?;
        harness.note(format_args!("the greedy caller {name}:"));
        let background = BackgroundClients::with_headers(&program, key("other's"));
        let asking = flood(&program, length);
        let (good, refused) = harness.attack_with(background, &program, 300, asking).await?;
        let seconds = length.as_secs_f64();
        harness.note(format_args!(
            "it received {:.0} answers and {:.0} refusals a second",
            good as f64 / seconds,
            refused as f64 / seconds,
        ));
        harness.check(good > 0, "the greedy caller is served too");
        if limits.is_empty() {
            // A thousand a second, and a burst of two seconds' worth; one more request waits on each connection.
            let most = 1_000 * (length.as_secs() as usize + 2) + 2 * CONNECTIONS + 1_000;
            harness.check(
                good <= most,
                format_args!("at most {most} requests are answered, {good} were"),
            );
        }
    }
    Ok(())
}

fn key(secret: &'static str) -> HeaderMap {
    HeaderMap::from_iter([(
        reqwest::header::HeaderName::from_static("x-key"),
        HeaderValue::from_static(secret),
    )])
}

/// Sends requests for this time, and returns how many were answered and how many were refused.
async fn flood(program: &Program, length: Duration) -> (usize, usize) {
    let client = reqwest::Client::builder().default_headers(key("greedy's")).no_proxy().build();
    let (client, url) = (client.expect("a client is made"), format!("{}/a2a/echo", program.url()));
    let (good, refused) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let begun = Instant::now();
    let one = async |connection: usize| {
        for number in 0.. {
            if begun.elapsed() >= length {
                return;
            }
            let message = json!({"messageId": format!("g-{connection}-{number}"),
                "role": "ROLE_USER", "parts": [{"text": "hello"}]});
            let request = json!({"jsonrpc": "2.0", "id": 1, "method": "SendMessage",
                "params": {"message": message}});
            let request = client.post(&url).header("a2a-version", "1.0").json(&request);
            match request.send().await {
                Ok(answer) if answer.status() == 200 => {
                    let _ = answer.bytes().await;
                    good.fetch_add(1, Ordering::Relaxed);
                }
                Ok(_) | Err(_) => drop(refused.fetch_add(1, Ordering::Relaxed)),
            }
        }
    };
    join_all((0..CONNECTIONS).map(one)).await;
    (good.into_inner(), refused.into_inner())
}
