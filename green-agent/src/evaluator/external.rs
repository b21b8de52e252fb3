//! A Green agent somewhere: it is sent AgentBeats' assessment request and listened to.

use bridge_client::{Client, ClientError, Options};
use bridge_protocol::a2a::{Message, Part, Role, SendMessageRequest};
use futures_util::StreamExt as _;
use serde::{Serialize, Serializer, ser::SerializeMap as _};
use serde_json::{Map, Value};
use url::Url;
use uuid::Uuid;

use super::{Evaluation, EvaluationError, Listener, collect::Collected, metrics};
use crate::{assessment::Assessment, expect::results};

/// Asks the green agent at `url` to assess the participants.
pub(super) async fn assess(
    evaluation: &Evaluation<'_>,
    url: &Url,
    listener: Listener<'_>,
) -> Result<Assessment, EvaluationError> {
    let collected = ask(evaluation, url, listener)
        .await
        .map_err(EvaluationError::Green)?;
    let mut assessment = collected.into_assessment();
    assessment.results = results(&assessment.artifacts);
    assessment.metrics = metrics(&assessment.results);
    Ok(assessment)
}

async fn ask(
    evaluation: &Evaluation<'_>,
    url: &Url,
    listener: Listener<'_>,
) -> Result<Collected, ClientError> {
    let options = Options {
        limits: evaluation.limits(),
        ..Options::default()
    };
    let client = Client::connect(url, &options).await?;
    let request = request(evaluation);
    let mut collected = Collected::default();
    let hear = |text: Option<String>| text.iter().for_each(|text| listener(text));
    if client.card().capabilities.streams() {
        let mut events = client.send_streaming_message(request).await?;
        while let Some(item) = events.next().await {
            hear(collected.take(item?));
        }
    } else {
        hear(collected.take(client.send_message(request).await?.into()));
    }
    collected.settle(&client, listener).await?;
    Ok(collected)
}

/// The request as every AgentBeats green agent knows it: one text part that holds JSON.
fn request(evaluation: &Evaluation<'_>) -> SendMessageRequest {
    let body = AssessmentRequest {
        participants: Participants(&evaluation.participants),
        config: evaluation.config,
    };
    let text = serde_json::to_string(&body).unwrap_or_default();
    #[expect(
        clippy::disallowed_methods,
        reason = "the evaluator drives the conversation"
    )]
    let id = Uuid::new_v4().to_string();
    SendMessageRequest::new(Message::new(id, Role::User, vec![Part::text(text)]))
}

#[derive(Serialize)]
struct AssessmentRequest<'a> {
    participants: Participants<'a>,
    config: &'a Map<String, Value>,
}

/// Written as an object in the scenario's order, which green agents may show to people.
struct Participants<'a>(&'a [(String, Url)]);

impl Serialize for Participants<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for (role, url) in self.0 {
            map.serialize_entry(role, url.as_str())?;
        }
        map.end()
    }
}
