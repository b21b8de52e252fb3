//! An agent that is no bot: an [`Executor`] that streams its answer word by word and ends early when its task is
//! canceled.
//!
//! `cargo run --example own_executor -- 127.0.0.1:3978`, then any A2A client can talk to `http://127.0.0.1:3978/a2a`.

use std::{env, error::Error, future::pending, sync::Arc};

use bridge::{
    agent::Agent,
    executor::{Executor, Turn, Update, async_trait},
    host::Host,
    store::MemoryStore,
};
use bridge_protocol::a2a::{AgentCard, Artifact, Part, TaskState};
use tokio::net::TcpListener;

struct Reversing;

#[async_trait]
impl Executor for Reversing {
    async fn execute(&self, turn: Turn) -> Vec<Update> {
        let text = turn.message.text();
        for word in text.split_whitespace().rev() {
            if turn.cancel_signal.is_canceled()
                || turn.handle.emit(vec![piece(word)]).await.is_err()
            {
                return Vec::new();
            }
        }
        vec![Update::state(TaskState::Completed)]
    }
}

fn piece(word: &str) -> Update {
    Update::Artifact {
        artifact: Artifact::new("reversed", vec![Part::text(format!("{word} "))]),
        append: true,
        last_chunk: false,
        metadata: None,
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let address = env::args().nth(1).ok_or("expected HOST:PORT")?;
    let listener = TcpListener::bind(&address).await?;
    let url = format!("http://{}", listener.local_addr()?);
    let card = AgentCard::named("reversing", "Says the words of a message in reverse order");
    let agent = Agent::new("reversing", card, Arc::new(Reversing));
    let app = Host::new(Arc::new(MemoryStore::new()), [agent])
        .router(&url)
        .await?;
    eprintln!("listening on {url}");
    Ok(bridge::serve(listener, app, pending()).await?)
}
