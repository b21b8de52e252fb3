//! A custom bot behind A2A. After `cargo run --example host_a_bot`, any A2A client can talk to
//! `http://127.0.0.1:3978/a2a`.

use bridge::bot::{Bot, BotError, BotExecutor, BotSettings, TurnContext, async_trait};
use bridge::{host::Host, store::MemoryStore};
use std::{error::Error, future::pending, sync::Arc};
use tokio::net::TcpListener;

struct Shouting;

#[async_trait]
impl Bot for Shouting {
    async fn on_activity(&self, turn: &mut TurnContext) -> Result<(), BotError> {
        let answer = turn.text().to_uppercase();
        turn.send_text(answer).await?;
        Ok(())
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let (store, settings) = (Arc::new(MemoryStore::new()), BotSettings::new("shouting"));
    let agent = BotExecutor::new(Arc::new(Shouting), store.clone(), settings).into_agent();
    let listener = TcpListener::bind("127.0.0.1:3978").await?;
    let app = Host::new(store, [agent]).router("http://127.0.0.1:3978").await?;
    Ok(bridge::serve(listener, app, pending()).await?)
}
