//! A bot that wants the bridge's tokens, and a bridge that wants the bot's, both with issuers on sockets.

use std::{fs, sync::Arc};

use axum::{
    Json, Router,
    extract::State,
    http::{HeaderMap, StatusCode},
    routing::post,
};
use bridge::auth::{
    self, Issuer, IssuerSettings, KeySource, Subject, TrustedIssuer, Verifier, bearer,
};
use jiff::Timestamp;
use serde_json::{Value, json};
use tokio::{net::TcpListener, sync::OnceCell};

use crate::{client::Client, program::Bridge};

/// A bot that admits calls with a token of the bridge's issuer, and reports the results of its own calls.
struct Bot {
    bridge: OnceCell<String>,
    issuer: Arc<Issuer>,
}

async fn on_activity(
    State(bot): State<Arc<Bot>>,
    headers: HeaderMap,
    Json(activity): Json<Value>,
) -> (StatusCode, Json<Value>) {
    let bridge = bot.bridge.get().unwrap();
    let metadata = format!("{bridge}/.well-known/openid-configuration").parse().unwrap();
    let trusted = TrustedIssuer {
        issuer: bridge.clone(),
        keys: KeySource::metadata(metadata, false).unwrap(),
    };
    let verifier = Verifier::new([trusted], ["bot-app".to_owned()])
        .claim("serviceurl", activity["serviceUrl"].as_str().unwrap());
    let token = bearer(&headers).map(str::to_owned);
    let identity = match token {
        Ok(token) => verifier.verify(&token, Timestamp::now()).await,
        Err(refusal) => Err(refusal),
    };
    if let Err(refusal) = identity {
        return (StatusCode::UNAUTHORIZED, Json(json!(refusal.to_string())));
    }
    let mut said = Vec::new();
    for (audience, appid) in [(None, ""), (Some("other"), "bot-app"), (Some("bridge"), "bot-app")] {
        let status = call_back(&bot, &activity, audience, appid).await;
        said.push(status.as_u16().to_string());
    }
    let replies = json!({"activities": [{"type": "message", "text": said.join(" ")}]});
    (StatusCode::OK, Json(replies))
}

async fn call_back(
    bot: &Bot,
    activity: &Value,
    audience: Option<&str>,
    subject: &str,
) -> StatusCode {
    let (service, conversation) = (&activity["serviceUrl"], &activity["conversation"]["id"]);
    let (service, conversation) = (service.as_str().unwrap(), conversation.as_str().unwrap());
    let url = format!("{service}v3/conversations/{conversation}/members");
    let mut request = reqwest::Client::new().get(url);
    if let Some(audience) = audience {
        let subject = Subject {
            audience: audience.to_owned(),
            subject: Some(subject.to_owned()),
            service_url: None,
        };
        let token = bot.issuer.token(&subject, Timestamp::now()).await.unwrap();
        request = request.bearer_auth(token.expose());
    }
    request.send().await.unwrap().status()
}

#[tokio::test]
async fn bot_and_bridge_authenticate_each_other_by_tokens() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let here = format!("http://{}", listener.local_addr().unwrap());
    let settings = IssuerSettings::new(here.as_str());
    let issuer = Arc::new(Issuer::open(settings, Timestamp::now()).await.unwrap());
    let bot = Arc::new(Bot { bridge: OnceCell::new(), issuer: issuer.clone() });
    let app = Router::new()
        .route("/api/messages", post(on_activity))
        .with_state(bot.clone())
        .merge(auth::router(issuer));
    tokio::spawn(async move { axum::serve(listener, app).await });

    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("bridge.toml");
    let config = format!(
        "store = 'sled:{store}'\n[[agents]]\nname = 'bot'\nbot = '{here}/api/messages'\n\
         delivery = 'expectReplies'\n[agents.auth.issuer]\napp_id = 'bot-app'\n\
         [agents.accept.token]\nissuer = '{here}'\naudience = ['bridge']\nclaims = {{ sub = 'bot-app' }}\n",
        store = folder.path().join("data").display(),
    );
    fs::write(&file, config).unwrap();
    let bridge = Bridge::serve(&["--config", file.to_str().unwrap()]);
    bot.bridge.set(bridge.url().to_owned()).unwrap();
    let message =
        json!({"message": {"messageId": "m", "role": "ROLE_USER", "parts": [{"text": "hi"}]}});
    let answer = Client::of(bridge.url()).call("bot", "SendMessage", &message).await.unwrap();
    let said = &answer["result"]["task"]["artifacts"][0]["parts"][0]["text"];
    assert_eq!(said, "401 403 200", "{answer}");
}
