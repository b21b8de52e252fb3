//! The bot `echo`, which repeats messages in a conversation without end.

use async_trait::async_trait;
use bridge_protocol::{a2a::AgentCard, activity::ActivityType};

use super::{Bot, BotError, TurnContext, card::skill};

/// Repeats each message and never ends a conversation. The agent's setting for silent ends determines the state of
/// the tasks.
#[derive(Clone, Copy, Debug, Default)]
pub struct Echo;

#[async_trait]
impl Bot for Echo {
    async fn on_activity(&self, turn: &mut TurnContext) -> Result<(), BotError> {
        if turn.activity().kind == ActivityType::Message {
            let answer = format!("Echo: {}", turn.text());
            turn.send_text(answer).await?;
        }
        Ok(())
    }

    fn card(&self, card: AgentCard) -> AgentCard {
        AgentCard {
            description: "Repeats each message, in a conversation that does not end.".into(),
            skills: vec![skill("echo", "Echo", "Repeats each message", &["Hello"])],
            ..card
        }
    }
}
