//! What is asked of an agent.

use bridge_protocol::{
    a2a::{AgentCard, Content, Message, Metadata, Part, Role, SendMessageRequest},
    dialect::{execute::SkillCall, v0_1::card::is_pythons},
};

/// What the media type of data is called there.
const MIME_TYPE: &str = "mime_type";

/// A skill that is called.
#[derive(Clone, Debug, PartialEq)]
pub struct Invocation {
    /// The id of the message, one that was not used before: the same id from the same caller is the same
    /// message (specification 4.1.4).
    pub message_id: String,
    /// The skill's id in the card; empty where the agent is only told something in words.
    pub skill_id: String,
    /// Its parameters; if absent only the words are sent, for the agent to make of them what it can.
    pub parameters: Option<Metadata>,
    /// What the user said, for agents that read it and for their logs.
    pub text: Option<String>,
    /// The task that this goes on with: one that asked for input or credentials.
    pub task_id: Option<String>,
    /// The context that this belongs to.
    pub context_id: Option<String>,
}

impl Invocation {
    /// A call of a skill with these parameters, and nothing said beside them.
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

    /// No skill's call, but words that the agent makes of what it can.
    pub fn of_words(message_id: impl Into<String>, text: impl Into<String>) -> Self {
        Self {
            parameters: None,
            ..Self::new(message_id, "", Metadata::new()).saying(text)
        }
    }

    /// With words beside the parameters.
    #[must_use]
    pub fn saying(self, text: impl Into<String>) -> Self {
        let text = Some(text.into());
        Self { text, ..self }
    }

    /// The call by itself.
    pub(super) fn call(&self) -> SkillCall {
        SkillCall {
            skill_id: self.skill_id.clone(),
            parameters: self.parameters.clone().unwrap_or_default(),
        }
    }

    /// The request for SendMessage. `at_once` asks the agent not to wait for the end.
    pub(super) fn request(&self, at_once: bool) -> SendMessageRequest {
        let text = self.text.as_deref();
        let message = match self.parameters {
            Some(_) => self.call().to_message(&self.message_id, text),
            None => self.words(),
        };
        let request = self.belonging(message);
        match at_once {
            true => request.returning_immediately(),
            false => request,
        }
    }

    /// The request for `{base}/tasks/send`, where agents built with python-a2a have a form of their own.
    pub(super) fn request_by_path(&self, card: &AgentCard) -> SendMessageRequest {
        let mut request = match self.parameters.is_none() || !is_pythons(card) {
            true => self.request(false),
            false => {
                let text = self.text.as_deref();
                self.belonging(self.call().to_python_message(&self.message_id, text))
            }
        };
        request.message.parts.iter_mut().for_each(name_media_type);
        request
    }

    fn words(&self) -> Message {
        let said = Part::text(self.text.as_deref().unwrap_or_default());
        Message::new(&self.message_id, Role::User, vec![said])
    }

    /// A request that says this in the task and context that the call belongs to.
    fn belonging(&self, message: Message) -> SendMessageRequest {
        SendMessageRequest::new(Message {
            task_id: self.task_id.clone(),
            context_id: self.context_id.clone(),
            ..message
        })
    }
}

/// Data has no media type in 0.1 itself; agents with a path for each method read it as `mime_type`.
fn name_media_type(part: &mut Part) {
    if matches!(part.content, Content::Data(_))
        && let Some(media_type) = part.media_type.take()
    {
        part.extra.insert(MIME_TYPE.to_owned(), media_type.into());
    }
}
