//! Tests `bridge init` and `bridge check` from the command line.

use std::{fs, path::Path, time::Duration};

use axum::{
    Router,
    http::{HeaderMap, StatusCode},
    response::IntoResponse as _,
};
use bridge::auth::CARD_KEYS;
use serde_json::{Value, json};
use tokio::{net::TcpListener, process::Command};

use crate::{
    program::{Bridge, output, run},
    terminal::bridge,
};

const LIMIT: Duration = Duration::from_secs(300);

/// Returns the exit code, and what was printed.
async fn exit(mut command: Command) -> (i32, String) {
    let (code, stdout, stderr) = output(&mut command, LIMIT).await;
    (code.unwrap(), stdout + &stderr)
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

#[tokio::test]
async fn an_initialised_agent_passes_the_check_and_serves() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().join("my-agent");
    let init = ["init", text(&place), "--skill", "faq.answer", "--title", "Hello \"support\""];
    let (done, said) = run(&mut bridge(&init), LIMIT).await;
    assert!(done && said.contains("next: bridge serve --config"), "{said}");
    let (again, said) = exit(bridge(&init)).await;
    assert!(again == 2 && said.contains("exists already"), "{said}");
    let below_a_file = place.join("token/below");
    let (unwritten, said) = exit(bridge(&["init", text(&below_a_file)])).await;
    assert!(unwritten == 4 && said.contains("cannot make the folder"), "{said}");

    let (card, config) = (place.join("agent-card.json"), place.join("bridge.toml"));
    let (code, said) = exit(bridge(&["check", text(&card), text(&config)])).await;
    assert_eq!(code, 0, "{said}");
    assert!(said.contains("card of A2A 0.3, no mistakes"), "{said}");
    assert!(said.contains("configuration, no mistakes"), "{said}");

    let served = Bridge::serve(&["--config", text(&config), "--store", "memory"]);
    let address = served.url().strip_prefix("http://").unwrap();
    let token = fs::read_to_string(place.join("token")).unwrap();
    let http = reqwest::Client::builder().no_proxy().build().unwrap();
    let say = |token: &str| {
        let body = json!({"jsonrpc": "2.0", "id": "1", "method": "message/send", "params": {"message":
            {"messageId": "1", "role": "user", "parts": [{"kind": "text", "text": "hello"}]}}});
        http.post(format!("http://{address}/a2a/v1")).bearer_auth(token).json(&body).send()
    };
    let answer: Value = say(token.trim()).await.unwrap().json().await.unwrap();
    assert_eq!(answer["result"]["kind"], "task", "{answer}");
    assert_eq!(say("guess").await.unwrap().status().as_u16(), 401);
    let shown = http.get(format!("http://{address}/.well-known/agent-card.json"));
    let shown: Value = shown.send().await.unwrap().json().await.unwrap();
    assert_eq!(
        (&shown["name"], &shown["skills"][0]["id"]),
        (&json!("Hello \"support\""), &json!("faq.answer"))
    );
}

#[tokio::test]
async fn init_writes_nothing_that_is_wrong() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().join("a");
    let (code, said) = exit(bridge(&["init", text(&place), "--skill", ""])).await;
    assert!(code == 1 && said.contains("skills[0].id is empty"), "{said}");
    assert!(!place.exists());
}

/// A link that leads nowhere is in the way of the last file.
#[cfg(unix)]
#[tokio::test]
async fn init_that_fails_leaves_nothing_behind() {
    let folder = tempfile::tempdir().unwrap();
    let token = folder.path().join("token");
    std::os::unix::fs::symlink("/no/such/file", &token).unwrap();
    let (code, said) = exit(bridge(&["init", text(folder.path())])).await;
    assert!(code == 4 && said.contains("token: ") && !said.contains("wrote"), "{said}");
    fs::remove_file(token).unwrap();
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[tokio::test]
async fn init_tells_why_its_configuration_is_not_served_yet() {
    let folder = tempfile::tempdir().unwrap();
    let init = ["init", text(folder.path()), "--listen", "0.0.0.0:8080"];
    let (code, said) = exit(bridge(&init)).await;
    assert!(code == 0 && said.contains("first: others could read along on 0.0.0.0:8080"), "{said}");
}

#[tokio::test]
async fn mistakes_have_an_exit_code() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, text: &str| {
        let path = folder.path().join(name);
        fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let good = json!({
        "name": "n", "description": "d", "version": "1.0.0", "capabilities": {},
        "supportedInterfaces": [{"url": "http://h.test", "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}],
        "defaultInputModes": ["a/b"], "defaultOutputModes": ["a/b"],
        "skills": [{"id": "s", "name": "S", "description": "d", "tags": []}],
    });
    let mut bad = good.clone();
    bad["skills"][0]["id"] = "<namespace.skill>".into();
    let marked = file("marked.json", &format!("\u{feff}{good}"));
    let good = file("good.json", &good.to_string());
    let bad = file("bad.json", &bad.to_string());
    let broken = file("broken.json", "{");
    let keys = file("keys.json", r#"{"keys": []}"#);
    let config = file("bridge.toml", "[[agents]]\nname = 'a'\n");
    let carded =
        file("carded.toml", "[[agents]]\nname = 'a'\nbuiltin = 'echo'\ncard_file = 'bad.json'\n");
    let clear = file("clear.toml", "[[agents]]\nname = 'a'\nbuiltin = 'echo'\n");
    let secret = file(
        "secret.toml",
        "[[agents]]\nname = 'a'\nbuiltin = 'echo'\naccess.bearer.secrets.me = { file = 'nope' }\n",
    );
    let encrypted = file(
        "encrypted.toml",
        "[[agents]]\nname = 'a'\nbuiltin = 'echo'\n[tls]\ncertificate = 'nope.pem'\nkey = 'nope.pem'\n",
    );
    let nowhere = "http://127.0.0.1:9/a2a";
    for (arguments, code, expected) in [
        (&[good.as_str()][..], 0, "errors: 0, warnings: 1"),
        (&[&marked], 0, "errors: 0, warnings: 1"),
        (&["--strict", &good], 1, "warning supportedInterfaces[0].url [encryption]"),
        (&[&bad], 1, "error skills[0].id [placeholder]"),
        (&[&good, &bad], 1, "good.json: card of A2A 1.0"),
        (&["--keys", &keys, &good], 1, "the card is not signed"),
        (&["--keys", &good, &good], 3, "expected a set of keys"),
        (&[&broken], 3, "expected JSON"),
        (&["nowhere.json"], 3, "No such file"),
        (&["nowhere.toml"], 3, "No such file"),
        (&[&config], 1, "error 2:8 agents[0].name [configuration]"),
        (&[&carded], 1, "bad.json: skills[0].id [placeholder]"),
        (&["--strict", &clear], 0, "note push.seal [configuration]"),
        (&[&secret], 3, "error 4:28 agents[0].access.bearer.secrets.me [configuration]"),
        (&[&encrypted], 3, "nope.pem: expected a certificate in PEM"),
        (&[nowhere], 4, "cannot be reached"),
        (&["--json", &bad], 1, r#""rule":"placeholder""#),
        (&[], 2, "Usage"),
    ] {
        let (found, said) = exit(bridge(&[&["check"], arguments].concat())).await;
        assert!(found == code && said.contains(expected), "{arguments:?}: {found}\n{said}");
    }
}

#[tokio::test]
async fn a_card_that_requires_a_credential_is_checked_with_it() {
    let app = Router::new().fallback(async |headers: HeaderMap| {
        match headers.get("x-api-key").is_some_and(|key| key == "hunter2") {
            true => "{}".into_response(),
            false => StatusCode::UNAUTHORIZED.into_response(),
        }
    });
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async move { axum::serve(listener, app).await });
    for (credential, code, expected) in [
        (&[][..], 4, "answered with HTTP status 401"),
        (&["--header-env", "X-API-Key=CARD_KEY"], 1, "error name"),
        (&["--bearer-env", "NO_KEY"], 2, "variable NO_KEY"),
        (&["--ca", "nowhere.pem"], 3, "--ca nowhere.pem"),
    ] {
        let mut check = bridge(&[&["check"], credential, &[&url]].concat());
        check.env("CARD_KEY", "hunter2");
        let (found, said) = exit(check).await;
        assert!(
            found == code && said.contains(expected) && !said.contains("hunter2"),
            "{credential:?}: {found}\n{said}"
        );
    }
}

#[tokio::test]
async fn a_running_agents_signature_is_checked() {
    let folder = tempfile::tempdir().unwrap();
    let key = folder.path().join("key.pem");
    let mut openssl = Command::new("openssl");
    openssl.args(["genpkey", "-algorithm", "ed25519", "-out", text(&key)]);
    let (made, said) = run(&mut openssl, LIMIT).await;
    assert!(made, "openssl is needed for this test: {said}");
    let config = folder.path().join("bridge.toml");
    fs::write(
        &config,
        "store = 'memory'\ncard_key.file = 'key.pem'\n[[agents]]\nname = 'a'\nbuiltin = 'echo'\n",
    )
    .unwrap();
    let served = Bridge::serve(&["--config", text(&config)]);
    let url = format!("{}/a2a", served.url());
    for (place, code, expected) in [
        (served.url().to_owned(), 0, "signed by the key"),
        (format!("{}{CARD_KEYS}", served.url()), 0, "signed by the key"),
        ("http://127.0.0.1:9/".to_owned(), 1, "is not trusted"),
    ] {
        let check = ["check", "--keys-below", &place, &url];
        let (found, said) = exit(bridge(&check)).await;
        assert!(found == code && said.contains(expected), "{place}: {found}\n{said}");
    }
}

/// Only the proxy of the environment can be at fault here: no name server knows the host.
#[tokio::test]
async fn a_fault_of_the_environments_proxy_is_not_the_agents() {
    let answers = Router::new().fallback(StatusCode::PROXY_AUTHENTICATION_REQUIRED);
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let refusing = listener.local_addr().unwrap();
    tokio::spawn(async move { axum::serve(listener, answers).await });
    // Nothing listens at the port of a listener that is gone.
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let closed = listener.local_addr().unwrap();
    drop(listener);

    let through = async |proxy: String, url: &str| {
        let mut check = bridge(&["check", url]);
        check.envs([("http_proxy", &proxy), ("https_proxy", &proxy)]);
        check.env_remove("no_proxy").env_remove("NO_PROXY");
        exit(check).await.1
    };
    for url in ["http://agents.invalid/a", "https://agents.invalid/a"] {
        let said = through(format!("http://me:s3cret@{closed}"), url).await;
        let named = format!("requests to it go through the proxy http://{closed}");
        assert!(said.contains(&named) && !said.contains("s3cret"), "{said}");
    }
    let said = through(format!("http://{refusing}"), "https://agents.invalid/a").await;
    assert!(said.contains(&format!("go through the proxy http://{refusing}")), "{said}");
    let said = through(format!("http://{refusing}"), "http://agents.invalid/a").await;
    assert!(said.contains("HTTP status 407, which is the answer of a proxy"), "{said}");
}
