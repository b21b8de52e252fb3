//! Tests the program's configuration: paths, cards, expiry, reload, TLS, proxies and web pages.

use std::{fs, path::PathBuf, time::Duration};

use bridge_client::{Client, Options};
use bridge_protocol::a2a::{
    CancelTaskRequest, Message, Part, Role, SendMessageRequest, StreamResponse,
};
use futures_util::StreamExt as _;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::time::{sleep, timeout};

use crate::program::Bridge;

/// The time limit for each action of the program.
const PATIENCE: Duration = Duration::from_secs(300);

struct Folder(TempDir);

impl Folder {
    fn with(config: &str) -> Self {
        let folder = Self(tempfile::tempdir().unwrap());
        folder.write(config);
        folder
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn write(&self, config: &str) {
        fs::write(self.path("bridge.toml"), format!("store = 'memory'\n{config}")).unwrap();
    }

    fn serve(&self) -> Bridge {
        Bridge::serve(&["--config", self.path("bridge.toml").to_str().unwrap()])
    }
}

fn request(id: &str, text: &str) -> SendMessageRequest {
    SendMessageRequest::new(Message::new(id, Role::User, vec![Part::text(text)]))
}

async fn client(bridge: &Bridge, path: &str) -> Client {
    let url = format!("{}{path}", bridge.url()).parse().unwrap();
    Client::connect(&url, &Options::default()).await.unwrap()
}

async fn get(url: &str, headers: &[(&str, &str)]) -> (reqwest::header::HeaderMap, Value) {
    let request = reqwest::Client::new().get(url);
    let add = |request: reqwest::RequestBuilder, (name, value): &(&str, &str)| {
        request.header(*name, *value)
    };
    let reply = headers.iter().fold(request, add).send().await.unwrap();
    let headers = reply.headers().clone();
    (headers, reply.json().await.unwrap_or_default())
}

async fn catalogue(bridge: &Bridge) -> Vec<String> {
    let (_, cards) = get(&format!("{}/a2a/catalog", bridge.url()), &[]).await;
    let names = cards["agents"].as_array().unwrap().iter();
    names.map(|card| card["name"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test]
async fn a_card_has_what_the_file_says_in_every_version() {
    let folder = Folder::with(
        r#"
provider = { organization = "Example", url = "https://example.test/" }

[[agents]]
name = "first"
builtin = "echo"

[[agents]]
name = "second"
builtin = "echo"
path = "/agents/second"

[agents.card]
name = "Second"
description = "Says it again"
version = "2.1.0"
documentation_url = "https://example.test/docs"
icon_url = "https://example.test/icon.png"
input_modes = ["text/plain"]
output_modes = ["text/plain", "image/png"]
security = [{ bearer = [] }]
security_schemes.bearer.httpAuthSecurityScheme = { scheme = "Bearer", bearerFormat = "JWT" }
extensions = [{ uri = "https://example.test/ext" }]

[agents.access.bearer.secrets]
me = { file = "word" }

[[agents.card.skills]]
id = "echo"
description = "Echoes"
tags = ["talk"]
examples = ["hello"]
"#,
    );
    fs::write(folder.path("word"), "hunter2").unwrap();
    let bridge = folder.serve();
    let url = format!("{}/agents/second/.well-known/agent-card.json", bridge.url());
    let (_, new) = get(&url, &[("a2a-version", "1.0")]).await;
    let (_, both) = get(&url, &[]).await;
    let expected = json!({
        "name": "Second", "description": "Says it again", "version": "2.1.0",
        "documentationUrl": "https://example.test/docs", "iconUrl": "https://example.test/icon.png",
        "defaultInputModes": ["text/plain"], "defaultOutputModes": ["text/plain", "image/png"],
        "provider": {"organization": "Example", "url": "https://example.test/"},
    });
    for card in [&new, &both] {
        for (key, value) in expected.as_object().unwrap() {
            assert_eq!(&card[key], value, "{key}");
        }
        assert_eq!(card["skills"][0]["name"], "echo");
        assert_eq!(card["capabilities"]["extensions"][1]["uri"], "https://example.test/ext");
    }
    assert_eq!(new["securityRequirements"], json!([{"schemes": {"bearer": {"list": []}}}]));
    assert_eq!(both["security"], json!([{"bearer": []}]));
    assert_eq!(both["securitySchemes"]["bearer"]["scheme"], "Bearer");
    assert_eq!(both["url"], format!("{}/agents/second", bridge.url()));
    assert_eq!(catalogue(&bridge).await, ["first", "Second"]);
    let client = client(&bridge, "/agents/second").await;
    let refused = client.send_message(request("m", "hi")).await.unwrap_err();
    assert!(refused.to_string().contains("expected credentials"), "{refused}");
}

#[tokio::test]
async fn a_reload_replaces_agents_and_drops_no_stream() {
    let two = "[[agents]]\nname = 'slow'\nbuiltin = 'hanging'\n[[agents]]\nname = 'gone'\nbuiltin = 'echo'\n";
    let folder = Folder::with(two);
    let bridge = folder.serve();
    assert_eq!(catalogue(&bridge).await, ["slow", "gone"]);
    let slow = client(&bridge, "/a2a/slow").await;
    let mut stream = slow.send_streaming_message(request("m", "hi")).await.unwrap();
    let first = stream.next().await.unwrap().unwrap();
    let StreamResponse::Task(task) = first else {
        panic!("a stream begins with its task, not {first:?}");
    };
    folder.write(
        "[[agents]]\nname = 'slow'\nbuiltin = 'echo'\n[[agents]]\nname = 'new'\nbuiltin = 'echo'\n",
    );
    bridge.hang_up();
    await_catalogue(&bridge, &["slow", "new"]).await;
    // A broken file changes nothing, and one that is read after it counts again.
    folder.write("[[agents]]\nname = 'slow'\nbuiltin = 'nobody'\n");
    bridge.hang_up();
    folder.write("[[agents]]\nname = 'slow'\nbuiltin = 'echo'\n");
    bridge.hang_up();
    await_catalogue(&bridge, &["slow"]).await;
    slow.cancel_task(CancelTaskRequest::new(task.id.as_str())).await.unwrap();
    let rest = timeout(PATIENCE, stream.collect::<Vec<_>>()).await.unwrap();
    let last = rest.last().unwrap().as_ref().unwrap();
    let StreamResponse::StatusUpdate(update) = last else {
        panic!("a stream ends with its task's state, not {last:?}");
    };
    assert_eq!(update.status.state.as_str(), "TASK_STATE_CANCELED");
}

/// SIGHUP ends a program that does not listen for it.
#[tokio::test]
async fn a_reload_may_be_wanted_as_soon_as_it_listens() {
    let folder = Folder::with("[[agents]]\nname = 'echo'\nbuiltin = 'echo'\n");
    for _ in 0..5 {
        let bridge = folder.serve();
        bridge.hang_up();
        assert_eq!(catalogue(&bridge).await, ["echo"]);
    }
}

/// A pipe that nobody writes stands for a file on a disk that hangs.
#[tokio::test]
async fn a_reload_that_hangs_delays_neither_requests_nor_the_shutdown() {
    const AGENT: &str = "[[agents]]\nname = 'echo'\nbuiltin = 'echo'\n";
    let folder = Folder::with(AGENT);
    let mut bridge = folder.serve();
    let pipes = tempfile::tempdir().unwrap();
    let pipe = pipes.path().join("card.json");
    let made = std::process::Command::new("mkfifo").arg(&pipe).status();
    assert!(made.unwrap().success());
    folder.write(&format!("{AGENT}card_file = '{}'\n", pipe.display()));
    for _ in 0..8 {
        bridge.hang_up();
        sleep(Duration::from_millis(20)).await;
        assert_eq!(catalogue(&bridge).await, ["echo"]);
    }
    bridge.terminate();
    let ended = timeout(PATIENCE, bridge.ended()).await;
    assert_eq!(ended.expect("the bridge is stopping"), Some(0));
}

async fn await_catalogue(bridge: &Bridge, expected: &[&str]) {
    let waiting = async {
        while catalogue(bridge).await != expected {
            sleep(Duration::from_millis(20)).await;
        }
    };
    timeout(PATIENCE, waiting).await.expect("the new configuration counts");
}

#[tokio::test]
async fn a_task_that_is_not_continued_is_canceled() {
    let folder = Folder::with("[[agents]]\nname = 'a'\nbuiltin = 'echo'\nexpire_after = '300ms'\n");
    let bridge = folder.serve();
    let client = client(&bridge, "/a2a").await;
    let mut stream = client.send_streaming_message(request("m", "hi")).await.unwrap();
    let first = stream.next().await.unwrap().unwrap();
    let StreamResponse::Task(task) = first else {
        panic!("a stream begins with its task, not {first:?}");
    };
    let subscribed = bridge_protocol::a2a::SubscribeToTaskRequest::new(task.id.as_str());
    let rest = match client.subscribe_to_task(subscribed).await {
        Ok(stream) => timeout(PATIENCE, stream.collect::<Vec<_>>()).await.unwrap(),
        // The task was already canceled.
        Err(_) => Vec::new(),
    };
    drop(rest);
    let got = bridge_protocol::a2a::GetTaskRequest::new(task.id.as_str());
    let task = client.get_task(got).await.unwrap();
    assert_eq!(task.status.state.as_str(), "TASK_STATE_CANCELED");
    assert_eq!(task.status.message.unwrap().text(), "Nobody answered within 300ms.");
}

#[tokio::test]
async fn proxies_and_web_pages_are_believed_as_far_as_the_file_says() {
    let agent = "[[agents]]\nname = 'a'\nbuiltin = 'echo'\n";
    let proxy = ("x-forwarded-host", "agents.test");
    let page = ("origin", "https://app.test");
    let strict = Folder::with(agent);
    let open = Folder::with(&format!(
        "trusted_proxies = ['127.0.0.0/8']\ncors = {{ origins = ['https://app.test'] }}\n{agent}"
    ));
    let url = |bridge: &Bridge| format!("{}/a2a/.well-known/agent-card.json", bridge.url());
    let bridge = strict.serve();
    let (_, card) = get(&url(&bridge), &[proxy]).await;
    assert_eq!(card["url"], format!("{}/a2a", bridge.url()));
    for foreign in [page, ("host", "evil.test")] {
        let (headers, refused) = get(&url(&bridge), &[proxy, foreign]).await;
        assert_eq!(refused["status"], 403, "{foreign:?}: {refused}");
        assert_eq!(headers.get("access-control-allow-origin"), None);
    }
    let own = bridge.url().to_owned();
    let (_, card) = get(&url(&bridge), &[("origin", &own)]).await;
    assert_eq!(card["url"], format!("{own}/a2a"));
    let bridge = open.serve();
    let (headers, card) = get(&url(&bridge), &[proxy, ("x-forwarded-proto", "https"), page]).await;
    assert_eq!(card["url"], "https://agents.test/a2a");
    assert_eq!(headers["access-control-allow-origin"], "https://app.test");
    let (headers, _) = get(&url(&bridge), &[("origin", "https://evil.test")]).await;
    assert_eq!(headers.get("access-control-allow-origin"), None);
}

/// The path of a public URL is known to the file alone: proxies remove it. And nobody gets a card, which may be signed, with
/// an address of his own.
#[tokio::test]
async fn a_public_url_counts_more_than_what_proxies_say() {
    let folder = Folder::with(
        "public_url = 'https://agents.test/bots/one'\ntrusted_proxies = ['127.0.0.0/8']\n\
         [[agents]]\nname = 'a'\nbuiltin = 'echo'\n",
    );
    let bridge = folder.serve();
    let url = format!("{}/a2a/.well-known/agent-card.json", bridge.url());
    for host in ["agents.test", "evil.test"] {
        let (_, card) = get(&url, &[("x-forwarded-host", host)]).await;
        assert_eq!(card["url"], "https://agents.test/bots/one/a2a", "{host}");
    }
}

#[tokio::test]
async fn the_program_speaks_tls() {
    let folder = Folder::with(
        "tls = { certificate = 'c.pem', key = 'k.pem' }\n[[agents]]\nname = 'a'\nbuiltin = 'echo'\n",
    );
    let made = rcgen::generate_simple_self_signed(["127.0.0.1".to_owned()]).unwrap();
    fs::write(folder.path("c.pem"), made.cert.pem()).unwrap();
    fs::write(folder.path("k.pem"), made.signing_key.serialize_pem()).unwrap();
    let bridge = folder.serve();
    assert!(bridge.url().starts_with("https://127.0.0.1:"), "{}", bridge.url());
    let root = reqwest::Certificate::from_pem(made.cert.pem().as_bytes()).unwrap();
    let http = reqwest::Client::builder().add_root_certificate(root).no_proxy().build().unwrap();
    let card = http.get(format!("{}/.well-known/agent-card.json", bridge.url())).send().await;
    let card: Value = card.unwrap().json().await.unwrap();
    assert_eq!(card["url"], format!("{}/a2a", bridge.url()));
    // gRPC is reached there too: HTTP/2 is agreed on with the encryption.
    let message = [0_u8; 5];
    let missing = http
        .post(format!("{}/lf.a2a.v1.A2AService/GetTask", bridge.url()))
        .header("content-type", "application/grpc")
        .header("a2a-version", "1.0")
        .body(message.to_vec());
    let missing = missing.send().await.unwrap();
    assert_eq!(missing.version(), reqwest::Version::HTTP_2);
    assert_eq!(missing.headers()["grpc-status"], "3");
    let plain = bridge.url().replace("https", "http");
    assert!(http.get(plain).send().await.is_err());
}
