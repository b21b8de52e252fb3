//! Tests unmodified bots that require tokens, with tokens of the bridge's own issuer.

use std::{fs, path::Path, time::Duration};

use reqwest::StatusCode;
use serde_json::json;

use crate::{
    bots::on_node,
    program::{Bridge, run},
    terminal::bridge,
};

const LIMIT: Duration = Duration::from_secs(300);

#[tokio::test]
async fn a_bot_accepts_tokens_of_its_issuer_only() {
    guarded("guarded.js", "expectRepliesAlways").await;
}

#[tokio::test]
async fn a_bot_on_the_teams_sdk_accepts_tokens_of_its_issuer_only() {
    guarded("guarded_teams.js", "normal").await;
}

async fn guarded(bot: &str, delivery: &str) {
    let folder = tempfile::tempdir().unwrap();
    let trusted = folder.path().join("trusted");
    let bot = on_node(bot, &[("TRUSTED", trusted.to_str().unwrap())]).await;
    let bridge = serve(folder.path(), &bot, delivery);
    fs::write(&trusted, bridge.url()).unwrap();

    let (_, told) = say_hello(&bridge, "known").await;
    assert_eq!(told, "You said: hello\n");
    for agent in ["stranger", "other"] {
        let (_, told) = say_hello(&bridge, agent).await;
        assert!(told.contains("401"), "{agent}: {told}");
    }

    let post = reqwest::Client::new().post(format!("{}/api/messages", bot.url()));
    let forged = post.bearer_auth("e30.e30.e30").json(&json!({"type": "message"}));
    let answer = forged.send().await.unwrap();
    assert_eq!(answer.status(), StatusCode::UNAUTHORIZED);
}

async fn say_hello(host: &Bridge, agent: &str) -> (bool, String) {
    let url = format!("{}/a2a/{agent}", host.url());
    run(&mut bridge(&["chat", &url, "--message", "hello"]), LIMIT).await
}

/// Returns the bot as three agents: with a token for it, with none, and with one for another bot.
fn serve(folder: &Path, bot: &Bridge, delivery: &str) -> Bridge {
    let url = bot.url();
    let agent = |name: &str, auth: &str| {
        format!(
            "[[agents]]\nname = '{name}'\nbot = '{url}/api/messages'\ndelivery = '{delivery}'\n{auth}\n"
        )
    };
    let token = |app: &str| format!("[agents.auth.issuer]\napp_id = '{app}'");
    let agents = [
        agent("known", &token("guarded-bot")),
        agent("stranger", ""),
        agent("other", &token("another-bot")),
    ];
    let keys = folder.join("issuer.json");
    let config = folder.join("bridge.toml");
    let text =
        format!("store = 'memory'\n[issuer]\nkeys = '{}'\n{}", keys.display(), agents.concat());
    fs::write(&config, text).unwrap();
    Bridge::serve(&["--config", config.to_str().unwrap()])
}
