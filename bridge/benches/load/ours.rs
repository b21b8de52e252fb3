//! Our server, with an agent that completes each task with what was said, as an artifact.

use std::{path::Path, sync::Arc};

use async_trait::async_trait;
use bridge::{
    agent::{Agent, TurnSettings},
    executor::{Executor, Turn, Update},
    host::Host,
    store::{MemoryStore, SledSettings, SledStore, Store},
};
use bridge_protocol::a2a::{AgentCard, Part, TaskState};
use tokio::net::TcpListener;

use crate::Outcome;

struct Echo;

#[async_trait]
impl Executor for Echo {
    async fn execute(&self, turn: Turn) -> Vec<Update> {
        let text = turn.message.text();
        if text.starts_with("hold") {
            let mut cancel_signal = turn.cancel_signal;
            cancel_signal.canceled().await;
        }
        let id = &turn.message.message_id;
        let parts = vec![Part::text(text.as_str())];
        vec![
            Update::artifact(format!("{id}-artifact"), "echo", parts),
            Update::state(TaskState::Completed),
        ]
    }
}

/// Serves on a port, from a store in memory or in a folder.
pub(crate) async fn serve(port: u16, folder: Option<&Path>) -> Outcome<()> {
    let store: Arc<dyn Store> = match folder {
        Some(folder) => Arc::new(SledStore::open(&SledSettings::in_folder(folder))?),
        None => Arc::new(MemoryStore::new()),
    };
    let agent = Agent {
        name: "echo".to_owned(),
        card: AgentCard::named("Echo", "Says it again."),
        executor: Arc::new(Echo),
        settings: TurnSettings::default(),
    };
    let listener = TcpListener::bind(("127.0.0.1", port)).await?;
    let app = Host::new(store, [agent])
        .router(&format!("http://127.0.0.1:{port}"))
        .await?;
    bridge::serve(listener, app, std::future::pending()).await?;
    Ok(())
}
