//! A custom evaluator, which asks every participant to repeat a word.
//!
//! `cargo run --example own_evaluator -- 127.0.0.1:9009` serves it as a green agent, which a scenario's
//! `[green_agent]` or AgentBeats' own runner can call.

use std::{env, error::Error, sync::Arc, time::Duration};

use bridge::{host::Host, store::MemoryStore};
use bridge_client::{Client, Options, invocation::Outcome, new_message_id};
use bridge_protocol::a2a::{Message, Part, Role, SendMessageRequest};
use green_agent::evaluator::{
    AssessError, AssessmentRequest, EvaluationResult, Evaluator, Reporter, agent, async_trait,
};
use serde_json::json;
use tokio::net::TcpListener;
use url::Url;

struct Parrot;

#[async_trait]
impl Evaluator for Parrot {
    async fn assess(
        &self,
        request: &AssessmentRequest,
        reporter: &Reporter,
    ) -> Result<EvaluationResult, AssessError> {
        let word = request.config.get("word").and_then(|word| word.as_str());
        let word =
            word.ok_or_else(|| AssessError::Rejected("config.word: expected text".into()))?;
        let mut right = 0;
        for (role, url) in &request.participants {
            let answer = ask(url, word)
                .await
                .map_err(|error| AssessError::Failed(format!("{role} gave no answer: {error}")))?;
            reporter.say(format!("{role} said: {answer}")).await?;
            right += usize::from(answer.contains(word));
        }
        let score = right as f64 / request.participants.len().max(1) as f64;
        Ok(EvaluationResult::new(json!({"score": score, "right": right})))
    }
}

async fn ask(url: &Url, word: &str) -> Result<String, bridge_client::ClientError> {
    let client = Client::connect(url, &Options::default()).await?;
    let message = Message::new(new_message_id(), Role::User, vec![Part::text(word)]);
    let answer = client.send_message(SendMessageRequest::new(message)).await?;
    // Agents answer with a message, a status or artifacts.
    Ok(Outcome::from(answer).text)
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let address = env::args().nth(1).ok_or("expected HOST:PORT")?;
    let listener = TcpListener::bind(&address).await?;
    let url = format!("http://{}", listener.local_addr()?);
    let green = agent("parrot", Arc::new(Parrot), Duration::from_secs(60));
    let app = Host::new(Arc::new(MemoryStore::new()), [green]).router(&url).await?;
    eprintln!("listening on {url}");
    Ok(axum::serve(listener, app).await?)
}
