//! The bridge's server, with an agent that completes each task with the message's text as an artifact.

use std::{path::Path, sync::Arc};

use async_trait::async_trait;
use bridge::{
    agent::{Agent, ConversationScope, TurnSettings},
    executor::{Executor, Turn, Update},
    host::Host,
    store::{MemoryStore, SledSettings, SledStore, Store},
};
use bridge_protocol::a2a::{AgentCard, Part, TaskState};
use tokio::net::TcpListener;

use crate::{
    Outcome,
    bare::{Commits, Log},
};

/// The approximate size in bytes of each of the two records that the log has of a send.
const LINE: usize = 700;

/// An agent that can also commit lines to a file, to measure the cost of commits alone.
struct Echo(Option<Log>);

#[async_trait]
impl Executor for Echo {
    async fn execute(&self, turn: Turn) -> Vec<Update> {
        let text = turn.message.text();
        if text.starts_with("hold") {
            turn.cancel_signal.canceled().await;
        }
        if let Some(log) = &self.0 {
            let line = text.repeat(LINE / text.len().max(1)).into_bytes();
            log.commit(line.clone(), line).await;
        }
        let id = &turn.message.message_id;
        let parts = vec![Part::text(text.as_str())];
        vec![
            Update::artifact(format!("{id}-artifact"), "echo", parts),
            Update::state(TaskState::Completed),
        ]
    }
}

/// Serves on a port, with a store in memory or in a folder, and an agent that may commit lines to a file.
pub(crate) async fn serve(
    port: u16,
    folder: Option<&Path>,
    commits: Option<(&Path, Commits)>,
) -> Outcome<()> {
    let log = commits.map(|(folder, commits)| Log::create(folder, commits));
    let store: Arc<dyn Store> = match folder {
        Some(folder) => Arc::new(SledStore::open(&SledSettings::in_folder(folder))?),
        None => Arc::new(MemoryStore::new()),
    };
    host(port, store, log.transpose()?, ConversationScope::Task).await
}

/// Serves on a port, with the database at this URL and a lease of two seconds. Each context is a conversation, whose
/// next message waits for the lease of the previous one. Returns an error when the other bridges take over, which may
/// happen to a debug build on a busy machine.
#[cfg(feature = "postgres")]
pub(crate) async fn serve_on_postgres(port: u16, url: &str) -> Outcome<()> {
    let mut settings: bridge::store::PostgresSettings = url.parse()?;
    settings.lease = std::time::Duration::from_secs(2);
    let store: Arc<dyn Store> = Arc::new(bridge::store::PostgresStore::open(&settings).await?);
    let leases = store.leases().ok_or("bridges on PostgreSQL share leases")?;
    tokio::select! {
        served = host(port, store, None, ConversationScope::Context) => served,
        () = leases.lost() => Err("the lease was lost: the other bridges have taken over".into()),
    }
}

async fn host(
    port: u16,
    store: Arc<dyn Store>,
    log: Option<Log>,
    conversation: ConversationScope,
) -> Outcome<()> {
    let agent = Agent {
        name: "echo".into(),
        card: AgentCard::named("Echo", "Repeats the message."),
        executor: Arc::new(Echo(log)),
        settings: TurnSettings { conversation, ..TurnSettings::default() },
    };
    let listener = TcpListener::bind(("127.0.0.1", port)).await?;
    let app = Host::new(store, [agent]).router(&format!("http://127.0.0.1:{port}")).await?;
    bridge::serve(listener, app, std::future::pending()).await?;
    Ok(())
}
