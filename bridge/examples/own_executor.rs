//! An [`Executor`] that asks for words if it gets none, streams them in reverse order, and returns them as a file, too. It
//! ends early when its task is canceled.
//!
//! `cargo run --example own_executor -- 127.0.0.1:3978`, then any A2A client can talk to `http://127.0.0.1:3978/a2a`.

use std::{env, error::Error, future::pending, sync::Arc};

use bridge::{
    agent::Agent,
    executor::{Executor, Turn, Update, async_trait},
    host::Host,
    store::MemoryStore,
};
use bridge_protocol::a2a::{AgentCard, AgentSkill, Content, Part, TaskState};
use tokio::net::TcpListener;

struct Reversing;

#[async_trait]
impl Executor for Reversing {
    async fn execute(&self, turn: Turn) -> Vec<Update> {
        let text = turn.message.text();
        if text.trim().is_empty() {
            // The task waits: the caller's next message in it starts the next turn, in which `turn.awaited` is
            // `InputRequired`. A message without an id gets one.
            let question = match turn.awaited {
                None => "Which words?",
                Some(_) => "I need at least one word.",
            };
            return vec![Update::said(TaskState::InputRequired, "", question)];
        }
        let words: Vec<&str> = text.split_whitespace().rev().collect();
        for word in &words {
            let piece = Update::piece("reversed", vec![Part::text(format!("{word} "))], false);
            if turn.cancel_signal.is_canceled() || turn.handle.emit(vec![piece]).await.is_err() {
                return Vec::new();
            }
        }
        vec![
            Update::artifact("file", "File", vec![file(words.join("\n"))]),
            Update::state(TaskState::Completed),
        ]
    }
}

fn file(text: String) -> Part {
    Part {
        filename: Some("reversed.txt".to_owned()),
        media_type: Some("text/plain".to_owned()),
        ..Part::new(Content::Raw(text.into_bytes()))
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let address = env::args().nth(1).ok_or("expected HOST:PORT")?;
    let listener = TcpListener::bind(&address).await?;
    let url = format!("http://{}", listener.local_addr()?);
    let mut card = AgentCard::named("reversing", "Says the words of a message in reverse order");
    // Other agents find this one by the id of its skill.
    card.skills = vec![AgentSkill::new("reverse", "Reverse", "Reverses the order of words")];
    let agent = Agent::new("reversing", card, Arc::new(Reversing));
    let app = Host::new(Arc::new(MemoryStore::new()), [agent]).router(&url).await?;
    eprintln!("listening on {url}");
    Ok(bridge::serve(listener, app, pending()).await?)
}
