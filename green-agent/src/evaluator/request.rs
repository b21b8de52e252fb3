//! AgentBeats' assessment request: `{"participants": {ROLE: URL}, "config": {..}}`.

use bridge_client::web_url;
use bridge_protocol::a2a::{Content, Message, Part};
use serde::{Deserialize, Serialize, Serializer};
use serde_json::{Map, Value};
use url::Url;

use crate::scenario::model::AGENT_UNDER_TEST;

/// A request to assess participants.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct AssessmentRequest {
    /// The addresses of the participants, by role, in the order in which they were named.
    #[serde(serialize_with = "in_order")]
    pub participants: Vec<(String, Url)>,
    /// The settings of the evaluation; each evaluator defines which it knows.
    pub config: Map<String, Value>,
}

/// The request with the member of CAR-bench's contest.
#[derive(Serialize)]
struct ContestRequest<'a> {
    #[serde(flatten)]
    request: &'a AssessmentRequest,
    #[serde(skip_serializing_if = "Option::is_none")]
    agent_under_test: Option<&'a str>,
}

/// The request's JSON form.
#[derive(Deserialize)]
struct RequestJson {
    participants: Map<String, Value>,
    #[serde(default)]
    config: Map<String, Value>,
}

impl AssessmentRequest {
    /// Reads the request from a message: from a text part that is JSON, or from a data part. Returns `None`
    /// if the message is no such request, which means that it has no `participants`.
    ///
    /// # Errors
    /// If a member is not what was expected; the text says which.
    pub fn read(message: &Message) -> Option<Result<Self, String>> {
        let value = message.parts.iter().find_map(|part| {
            let value = json_of(part)?;
            value.get("participants").is_some().then_some(value)
        })?;
        Some(Self::of(value))
    }

    fn of(value: Value) -> Result<Self, String> {
        let written: RequestJson = serde_json::from_value(value)
            .map_err(|error| format!("expected participants and config as objects: {error}"))?;
        let participant = |(role, url): (String, Value)| match url.as_str().and_then(web_url) {
            Some(url) => Ok((role, url)),
            None => Err(format!("participants.{role}: expected an http or https URL, found {url}")),
        };
        Ok(Self {
            participants: written
                .participants
                .into_iter()
                .map(participant)
                .collect::<Result<_, _>>()?,
            config: written.config,
        })
    }

    /// Returns the request as one text part, the form that every AgentBeats green agent understands. A participant in the role
    /// `agent_under_test` is also named beside `participants`, where evaluators of CAR-bench's contest look for it.
    pub fn part(&self) -> Part {
        let mut addresses = self.participants.iter();
        let only =
            addresses.find(|(role, _)| role == AGENT_UNDER_TEST).map(|(_, url)| url.as_str());
        let request = ContestRequest { request: self, agent_under_test: only };
        Part::text(serde_json::to_string(&request).unwrap_or_default())
    }
}

fn json_of(part: &Part) -> Option<Value> {
    match &part.content {
        Content::Text(text) => serde_json::from_str(text).ok(),
        Content::Data(data) => Some(data.clone()),
        Content::Raw(_) | Content::Url(_) | Content::Unknown => None,
    }
}

/// Writes the participants as an object in their order, because green agents may show it to people.
fn in_order<S: Serializer>(
    participants: &[(String, Url)],
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.collect_map(participants.iter().map(|(role, url)| (role, url.as_str())))
}

#[cfg(test)]
mod tests {
    use bridge_protocol::a2a::Role;
    use serde_json::json;

    use super::*;

    fn message(part: Part) -> Message {
        Message::new("m", Role::User, vec![part])
    }

    #[test]
    fn a_request_is_read_from_text_and_data() {
        let json = json!({"participants": {"purple": "http://127.0.0.1:9019"}, "config": {"n": 1}});
        for part in [Part::text(json.to_string()), Part::data(json)] {
            let request = AssessmentRequest::read(&message(part)).unwrap().unwrap();
            assert_eq!(request.participants[0].1.as_str(), "http://127.0.0.1:9019/");
            assert_eq!(request.config["n"], 1);
            let again = AssessmentRequest::read(&message(request.part()));
            assert_eq!(again.unwrap().unwrap(), request);
        }
    }

    #[test]
    fn the_agent_under_test_is_named_beside_the_participants() {
        let url: Url = "http://127.0.0.1:9019/".parse().unwrap();
        let participants =
            ["b", "agent_under_test", "a"].map(|role| (role.to_owned(), url.clone()));
        let request = AssessmentRequest { participants: participants.into(), config: Map::new() };
        let expected = r#"{"participants":{"b":"http://127.0.0.1:9019/","agent_under_test":"http://127.0.0.1:9019/",
            "a":"http://127.0.0.1:9019/"},"config":{},"agent_under_test":"http://127.0.0.1:9019/"}"#;
        let expected: String = expected.split_whitespace().collect();
        assert_eq!(request.part(), Part::text(expected));
    }

    #[test]
    fn other_messages_are_ignored_and_bad_requests_are_reported() {
        for part in [Part::text("ready for evaluation"), Part::data(json!({"a": 1}))] {
            assert_eq!(AssessmentRequest::read(&message(part)), None);
        }
        for (wrong, expected) in [
            (json!({"participants": []}), "expected participants and config as objects"),
            (json!({"participants": {"a": "x"}}), "participants.a: expected an http or https URL"),
        ] {
            let error = AssessmentRequest::read(&message(Part::data(wrong))).unwrap();
            assert!(error.unwrap_err().starts_with(expected));
        }
    }
}
