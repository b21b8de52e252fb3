//! Answers in pieces, as the SDKs' streaming responses send them: every piece repeats the text so far, and the last
//! one is a message with the whole text.

use bridge_protocol::{
    a2a::Metadata,
    activity::{Activity, ActivityType, Entity, StreamInfo, StreamResult, StreamType},
};
use serde_json::{Value, json};

use super::{SendError, TurnContext};

/// An answer in pieces, see [`TurnContext::streaming_response`]. It becomes one artifact of the task.
///
/// A stream that is dropped without [`StreamingResponse::end_stream`] is closed at the end of the turn.
#[derive(Debug)]
pub struct StreamingResponse<'turn> {
    turn: &'turn mut TurnContext,
    /// The id of the stream, set with the first piece.
    id: Option<String>,
    sequence: i32,
    text: String,
    citations: Vec<Citation>,
    final_message: Box<Activity>,
}

/// A source of the answer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Citation {
    /// The title.
    pub title: String,
    /// A short extract.
    pub content: String,
    /// The address.
    pub url: Option<String>,
}

impl<'turn> StreamingResponse<'turn> {
    pub(super) fn new(turn: &'turn mut TurnContext) -> Self {
        Self {
            turn,
            id: None,
            sequence: 0,
            text: String::new(),
            citations: Vec::new(),
            final_message: Box::default(),
        }
    }

    /// Returns the turn, for sending other activities during the stream.
    pub fn turn(&mut self) -> &mut TurnContext {
        self.turn
    }

    /// Reports the bot's present activity. The text is not a part of the answer.
    ///
    /// # Errors
    /// The errors of [`TurnContext::send_activity`].
    pub async fn queue_informative_update(
        &mut self,
        text: impl Into<String>,
    ) -> Result<(), SendError> {
        self.send_piece(StreamType::Informative, text.into()).await
    }

    /// Appends text to the answer.
    ///
    /// # Errors
    /// The errors of [`TurnContext::send_activity`].
    pub async fn queue_text_chunk(&mut self, chunk: &str) -> Result<(), SendError> {
        self.text.push_str(chunk);
        self.send_piece(StreamType::Streaming, self.text.clone()).await
    }

    /// Sets the sources of the answer, in the order in which the text numbers them from 1.
    pub fn set_citations(&mut self, citations: Vec<Citation>) {
        self.citations = citations;
    }

    /// Sets the other content of the final message: attachments, an input hint, entities. If it has a text, that text
    /// replaces the one that was streamed.
    pub fn set_final_message(&mut self, message: Activity) {
        *self.final_message = message;
    }

    /// Ends the stream with the whole answer.
    ///
    /// # Errors
    /// The errors of [`TurnContext::send_activity`].
    pub async fn end_stream(mut self) -> Result<(), SendError> {
        let mut message = std::mem::take(&mut self.final_message);
        message.kind = ActivityType::Message;
        message.text.get_or_insert_with(|| self.text.clone());
        let mark = self.mark(StreamType::Final);
        message.entities.insert(0, mark);
        message.entities.extend(cited(&self.citations));
        self.send(message).await
    }

    async fn send_piece(&mut self, kind: StreamType, text: String) -> Result<(), SendError> {
        self.sequence += 1;
        let mark = self.mark(kind);
        let piece = Box::new(Activity {
            text: Some(text),
            entities: vec![mark],
            ..Activity::new(ActivityType::Typing)
        });
        self.send(piece).await
    }

    async fn send(&mut self, piece: Box<Activity>) -> Result<(), SendError> {
        self.turn.post(piece).await.map(drop)
    }

    /// Returns the entity that identifies a piece of the stream. The final piece has no number.
    fn mark(&mut self, kind: StreamType) -> Entity {
        let is_final = kind == StreamType::Final;
        let id = self.id.get_or_insert_with(|| self.turn.output.next_stream());
        Entity::from(&StreamInfo {
            stream_type: kind,
            stream_id: Some(id.clone()),
            stream_sequence: (!is_final).then_some(self.sequence),
            stream_result: is_final.then_some(StreamResult::Success),
            extra: Metadata::new(),
        })
    }
}

/// Returns the entity with the sources, if there are any.
fn cited(citations: &[Citation]) -> Option<Entity> {
    let claims: Vec<Value> = (1..).zip(citations).map(claim).collect();
    let members = Metadata::from_iter([
        ("@type".into(), "Message".into()),
        ("@context".into(), "https://schema.org".into()),
        ("citation".into(), claims.into()),
    ]);
    let entity = || Entity::new("https://schema.org/Message", members);
    (!citations.is_empty()).then(entity)
}

fn claim((position, citation): (usize, &Citation)) -> Value {
    let mut document = json!({
        "@type": "DigitalDocument",
        "name": citation.title,
        "abstract": citation.content,
    });
    if let (Some(url), Some(document)) = (&citation.url, document.as_object_mut()) {
        document.insert("url".into(), url.as_str().into());
    }
    json!({"@type": "Claim", "position": position, "appearance": document})
}
