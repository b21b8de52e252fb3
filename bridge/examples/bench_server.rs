//! The agent that servers are compared with: it completes each task with what was said, as an artifact
//! and as status message. A text that begins with `hold` keeps its turn open.
//!
//! `cargo run --release --example bench_server -- PORT memory|sled:FOLDER`

use std::{error::Error, sync::Arc};

use async_trait::async_trait;
use bridge::{
    agent::{Agent, TurnSettings},
    executor::{Executor, Turn, Update},
    host::Host,
    store::{MemoryStore, SledSettings, SledStore, Store},
};
use bridge_protocol::a2a::{AgentCard, Part, TaskState};
use tokio::net::TcpListener;

/// As the program has it, see `main.rs`.
#[cfg(feature = "mimalloc")]
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

struct Echo;

#[async_trait]
impl Executor for Echo {
    async fn execute(&self, turn: Turn) -> Vec<Update> {
        let text = turn.message.text();
        if text.starts_with("hold") {
            let mut inbox = turn.inbox;
            inbox.canceled().await;
        }
        let id = &turn.message.message_id;
        vec![
            Update::artifact(
                format!("{id}-artifact"),
                "echo",
                vec![Part::text(text.as_str())],
            ),
            Update::said(TaskState::Completed, format!("{id}-answer"), text.as_str()),
        ]
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let args: Vec<String> = std::env::args().collect();
    let store: Arc<dyn Store> = match args.get(2).and_then(|choice| choice.strip_prefix("sled:")) {
        Some(folder) => Arc::new(SledStore::open(&SledSettings::in_folder(folder))?),
        None => Arc::new(MemoryStore::new()),
    };
    let agent = Agent {
        name: "echo".to_owned(),
        card: AgentCard::named("Echo", "Says it again."),
        executor: Arc::new(Echo),
        settings: TurnSettings::default(),
    };
    let port = args.get(1).map_or("9201", String::as_str);
    let listener = TcpListener::bind(format!("127.0.0.1:{port}")).await?;
    let app = Host::new(store, [agent])
        .router(&format!("http://127.0.0.1:{port}"))
        .await?;
    bridge::serve(listener, app, std::future::pending()).await?;
    Ok(())
}
