//! The request to call a skill.

use bridge_protocol::{
    a2a::{Message, Metadata, Part, Role, SendMessageRequest},
    dialect::skill::SkillCall,
};

/// A request to call a skill.
#[derive(Clone, Debug, PartialEq)]
pub struct Invocation {
    /// The id of the message. It must be new: a repeated id from the same caller is the same message
    /// (specification 4.1.4).
    pub message_id: String,
    /// The skill's id in the card; empty if only text is sent.
    pub skill_id: String,
    /// The parameters; if absent, only the text is sent.
    pub parameters: Option<Metadata>,
    /// The user's own words, for agents that read text and for logs.
    pub text: Option<String>,
    /// The id of the task to continue, one that asked for input or credentials.
    pub task_id: Option<String>,
    /// The id of the context that the message belongs to.
    pub context_id: Option<String>,
}

impl Invocation {
    /// Creates a call of a skill with these parameters and no text.
    pub fn new(
        message_id: impl Into<String>,
        skill_id: impl Into<String>,
        parameters: Metadata,
    ) -> Self {
        Self {
            message_id: message_id.into(),
            skill_id: skill_id.into(),
            parameters: Some(parameters),
            text: None,
            task_id: None,
            context_id: None,
        }
    }

    /// Creates a message of text only, without a skill.
    pub fn of_words(message_id: impl Into<String>, text: impl Into<String>) -> Self {
        Self { parameters: None, ..Self::new(message_id, "", Metadata::new()).saying(text) }
    }

    /// Adds a text beside the parameters.
    #[must_use]
    pub fn saying(self, text: impl Into<String>) -> Self {
        let text = Some(text.into());
        Self { text, ..self }
    }

    /// Returns the skill call without the message.
    pub(super) fn call(&self) -> SkillCall {
        SkillCall {
            skill_id: self.skill_id.clone(),
            parameters: self.parameters.clone().unwrap_or_default(),
        }
    }

    /// Returns the request for SendMessage. `at_once` asks the agent to answer before the task has ended.
    pub(super) fn request(&self, at_once: bool) -> SendMessageRequest {
        let text = self.text.as_deref();
        let message = match self.parameters {
            Some(_) => self.call().to_message(&self.message_id, text),
            None => {
                let text = Part::text(text.unwrap_or_default());
                Message::new(&self.message_id, Role::User, vec![text])
            }
        };
        let request = self.belonging(message);
        if at_once { request.returning_immediately() } else { request }
    }

    /// Returns a request with this message, in the task and context of the invocation.
    pub(super) fn belonging(&self, message: Message) -> SendMessageRequest {
        SendMessageRequest::new(Message {
            task_id: self.task_id.clone(),
            context_id: self.context_id.clone(),
            ..message
        })
    }
}
