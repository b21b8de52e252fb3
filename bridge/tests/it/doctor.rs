//! Tests `bridge doctor` with the settings of an agent: the activity for the bot, and the bot's answers.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use axum::{
    Json, Router,
    extract::State,
    http::{HeaderMap, StatusCode, header::AUTHORIZATION},
    routing::post,
};
use serde_json::{Value, json};
use tokio::net::TcpListener;

use crate::{program::run, terminal::bridge};

/// The time limit of one examination.
const LIMIT: Duration = Duration::from_secs(300);

/// The credential that the bot requires.
const TOKEN: &str = "Bearer t-1";

/// Issues a token to clients that know the secret.
async fn token(form: String) -> (StatusCode, Json<Value>) {
    let said: Vec<&str> = form.split('&').collect();
    match said.contains(&"client_id=bridge") && said.contains(&"client_secret=hunter2") {
        true => {
            let token = json!({"access_token": "t-1", "token_type": "Bearer", "expires_in": 3600});
            (StatusCode::OK, Json(token))
        }
        false => {
            let refusal = json!({"error": "invalid_client"});
            (StatusCode::UNAUTHORIZED, Json(refusal))
        }
    }
}

/// Answers in its own calls, without a token.
async fn on_activity(headers: HeaderMap, Json(activity): Json<Value>) -> (StatusCode, Json<Value>) {
    if headers.get(AUTHORIZATION).is_none_or(|shown| shown != TOKEN) {
        return (StatusCode::UNAUTHORIZED, Json(json!("who are you?")));
    }
    let conversation = activity["conversation"]["id"].as_str().unwrap();
    let service = activity["serviceUrl"].as_str().unwrap();
    let url = format!("{service}v3/conversations/{conversation}/activities");
    let said = json!({"type": "message", "text": "hello"});
    reqwest::Client::new().post(url).json(&said).send().await.unwrap();
    (StatusCode::OK, Json(json!({})))
}

/// Repeats the request's credential in its refusal, as some servers' error pages do.
async fn shut(
    State(seen): State<Arc<Mutex<Vec<String>>>>,
    headers: HeaderMap,
) -> (StatusCode, String) {
    let shown = headers.get(AUTHORIZATION).map(|value| value.to_str().unwrap().to_owned());
    seen.lock().unwrap().extend(shown.clone());
    (StatusCode::FORBIDDEN, shown.unwrap_or_default())
}

#[tokio::test]
async fn an_agents_settings_are_tried() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let here = format!("http://{}", listener.local_addr().unwrap());
    let seen = Arc::default();
    let app = Router::new()
        .route("/token", post(token))
        .route("/api/messages", post(on_activity))
        .route("/shut", post(shut))
        .with_state(Arc::clone(&seen));
    tokio::spawn(async move { axum::serve(listener, app).await });

    let auth = |secret: &str| {
        format!(
            "[agents.auth.client_secret]\napp_id = 'bot-app'\nclient_id = 'bridge'\n\
             secret = {{ env = '{secret}' }}\ntoken_endpoint = '{here}/token'\n"
        )
    };
    let agent = |name: &str, path: &str, more: &str| {
        format!("[[agents]]\nname = '{name}'\nbot = '{here}{path}'\n{more}")
    };
    let accept = format!("[agents.accept.token]\nissuer = '{here}'\naudience = ['bridge']\n");
    let config = [
        agent("good", "/api/messages", &auth("BOT_SECRET")),
        agent("wary", "/api/messages", &format!("{}{accept}", auth("BOT_SECRET"))),
        agent("poor", "/api/messages", &auth("OTHER_SECRET")),
        agent("shut", "/shut", &auth("BOT_SECRET")),
        agent("bare", "/api/messages", ""),
        agent("own", "/api/messages", "[agents.auth.issuer]\napp_id = 'bot-app'\n"),
        "[[agents]]\nname = 'echo'\nbuiltin = 'echo'\n".to_owned(),
    ];
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("bridge.toml");
    std::fs::write(&file, config.concat()).unwrap();
    let look = async |name: &str| {
        let mut command = bridge(&["doctor", "--config", file.to_str().unwrap(), "--agent", name]);
        command.env("BOT_SECRET", "hunter2").env("OTHER_SECRET", "hunter3");
        let (well, told) = run(command.current_dir(folder.path()), LIMIT).await;
        assert!(!told.contains("hunter") && !told.contains("t-1"), "{told}");
        (well, told)
    };
    for (name, is_well, expected) in [
        ("good", true, "the bot must send nothing\nturns = \"answers\": completes the task"),
        ("wary", false, "the bridge would refuse the bot's calls: expected a bearer token"),
        ("poor", false, "check token_endpoint, tenant, client_id, scope and secret of agents.auth"),
        (
            "shut",
            false,
            "the bot refuses a token for bot-app that client bridge gets for the secret (403): the bot must",
        ),
        ("shut", false, "refused with 403: Bearer ***"),
        ("bare", false, "[agents.auth.issuer]"),
        ("own", false, "issuer.json yet: start the bridge with this configuration once"),
        ("echo", false, "agent echo is built in"),
        (
            "none",
            false,
            "there is no agent \"none\": expected one of good, wary, poor, shut, bare, own, echo",
        ),
    ] {
        let (well, told) = look(name).await;
        assert_eq!(well, is_well, "{name}: {told}");
        assert!(told.contains(expected), "{name}: {told}");
        assert_eq!(told.contains("the settings of good are right"), is_well, "{name}: {told}");
    }
    assert!(seen.lock().unwrap().iter().all(|shown| shown == TOKEN));
}

/// Answers at once, and speaks later than a bot that has only a last word to say.
async fn think(Json(activity): Json<Value>) -> Json<Value> {
    let conversation = activity["conversation"]["id"].as_str().unwrap();
    let service = activity["serviceUrl"].as_str().unwrap();
    let url = format!("{service}v3/conversations/{conversation}/activities");
    tokio::spawn(async move {
        tokio::time::sleep(Duration::from_millis(2500)).await;
        let said = json!({"type": "message", "text": "hello"});
        reqwest::Client::new().post(url).json(&said).send().await
    });
    Json(json!({}))
}

#[tokio::test]
async fn a_bot_that_speaks_after_its_answer_is_waited_for() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    let app = Router::new().route("/", post(think));
    tokio::spawn(async move { axum::serve(listener, app).await });
    let (well, told) = run(&mut bridge(&["doctor", &url]), LIMIT).await;
    assert!(well, "{told}");
    assert_eq!(told.matches("called back: hello\n").count(), 4, "{told}");
    assert!(!told.contains("delivery ="), "{told}");
}
