//! Groups entries into exchanges, and drops those that depend on timing alone.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::{
    Body, Content, Entry,
    label::labels,
    wire::{self, Answer, RequestKind},
};

/// A request with all answers to it, in order.
pub(super) struct Exchange<'a> {
    /// The request; `None` if the recorder saw only answers.
    pub(super) request: Option<&'a Entry>,
    /// Replies, events, ends and failures.
    pub(super) answers: Vec<&'a Entry>,
}

/// Groups the entries of one hop into exchanges, in order of their first entries.
pub(super) fn group<'a>(entries: &[&'a Entry]) -> Vec<Exchange<'a>> {
    let mut exchanges: Vec<Exchange<'a>> = Vec::new();
    let mut places: BTreeMap<u64, usize> = BTreeMap::new();
    for entry in entries {
        let place = *places.entry(entry.exchange).or_insert_with(|| {
            exchanges.push(Exchange { request: None, answers: Vec::new() });
            exchanges.len() - 1
        });
        match entry.content {
            Content::Request { .. } => exchanges[place].request = Some(entry),
            Content::Reply { .. }
            | Content::Event { .. }
            | Content::End
            | Content::Failure { .. } => {
                exchanges[place].answers.push(entry);
            }
        }
    }
    exchanges
}

/// Returns the fetches of agent cards and the other exchanges, without repeated polls, keep-alives and MCP transport requests.
pub(super) fn collapse(exchanges: Vec<Exchange<'_>>) -> (Vec<Exchange<'_>>, Vec<Exchange<'_>>) {
    let endpoints = mcp_paths(&exchanges);
    let (cards, others): (Vec<_>, Vec<_>) = exchanges.into_iter().partition(Exchange::is_card);
    let mut polls = Polls::default();
    let exchanges = others
        .into_iter()
        .map(Exchange::without_keep_alives)
        .map(Exchange::without_end_of_refusal)
        .filter(|exchange| !exchange.is_mcp_transport(&endpoints))
        .filter(|exchange| polls.is_news(exchange))
        .collect();
    (cards, exchanges)
}

impl<'a> Exchange<'a> {
    /// Returns the purpose of the request, if there is a request.
    pub(super) fn ask(&self) -> Option<RequestKind<'a>> {
        wire::ask(&self.request?.content)
    }

    fn is_card(&self) -> bool {
        self.ask() == Some(RequestKind::Card)
    }

    fn without_keep_alives(mut self) -> Self {
        self.answers.retain(|entry| !is_keep_alive(&entry.content));
        self
    }

    /// Removes the end after an error: nothing follows an error on a stream, and the client may close it
    /// before its end is recorded.
    fn without_end_of_refusal(mut self) -> Self {
        if self.answers.iter().any(|entry| is_error_event(&entry.content)) {
            self.answers
                .retain(|entry| !matches!(entry.content, Content::End | Content::Failure { .. }));
        }
        self
    }

    /// Returns whether this is a ping, or a GET or DELETE by which MCP clients open and close streams. Their
    /// timing is not behaviour; only what a stream carries is.
    fn is_mcp_transport(&self, endpoints: &[&str]) -> bool {
        let carries = |entry: &&Entry| matches!(entry.content, Content::Event { .. });
        match (self.ask(), self.request.map(|entry| &entry.content)) {
            (Some(RequestKind::Mcp { method, .. }), _) => method == "ping",
            (Some(RequestKind::Other), Some(Content::Request { method, path, .. })) => {
                method != "POST"
                    && endpoints.contains(&path.as_str())
                    && !self.answers.iter().any(carries)
            }
            _ => false,
        }
    }
}

/// Returns whether an event is a JSON-RPC error.
fn is_error_event(content: &Content) -> bool {
    let Content::Event { body: Some(body), .. } = content else {
        return false;
    };
    let says = |body: &Value| body["jsonrpc"].is_string() && body["error"].is_object();
    body.json().is_some_and(says)
}

/// Returns the paths to which MCP requests were posted.
fn mcp_paths<'a>(exchanges: &[Exchange<'a>]) -> Vec<&'a str> {
    let path = |exchange: &Exchange<'a>| match (exchange.ask()?, &exchange.request?.content) {
        (RequestKind::Mcp { .. }, Content::Request { path, .. }) => Some(path.as_str()),
        _ => None,
    };
    exchanges.iter().filter_map(path).collect()
}

fn is_keep_alive(content: &Content) -> bool {
    const WORDS: [&str; 4] = ["ping", "heartbeat", "keep-alive", "keepalive"];
    let Content::Event { event, body, .. } = content else {
        return false;
    };
    let is_empty = match body {
        None => true,
        Some(Body::Text(text)) => text.trim().is_empty(),
        Some(Body::Json(_) | Body::Omitted { .. }) => false,
    };
    is_empty || event.as_deref().is_some_and(|event| WORDS.contains(&event))
}

/// The last known answer about each task of a hop.
#[derive(Default)]
struct Polls {
    answers: BTreeMap<String, String>,
}

impl Polls {
    /// Returns whether an exchange is not a poll, or a poll with a new answer.
    fn is_news(&mut self, exchange: &Exchange<'_>) -> bool {
        let Some(task) = polled_task(exchange) else {
            self.record_states(exchange);
            return true;
        };
        let answer = answer(exchange);
        self.answers.insert(task, answer.clone()) != Some(answer)
    }

    /// Records the states of tasks in answers other than polls.
    fn record_states(&mut self, exchange: &Exchange<'_>) {
        for said in said_in(exchange) {
            let (object, id) = match said {
                Answer::Task(task) => (task, task.get("id")),
                Answer::Status(update) => (update, update.get("taskId").or(update.get("id"))),
                Answer::Artifact(_) | Answer::Message(_) => continue,
            };
            if let (Some(id), Some(known)) = (id.and_then(Value::as_str), known(object)) {
                self.answers.insert(id.to_owned(), known);
            }
        }
    }
}

fn polled_task(exchange: &Exchange<'_>) -> Option<String> {
    exchange.ask().filter(RequestKind::is_poll)?;
    task_in_request(exchange)
}

/// Returns the id of the task that a request names in its path or parameters.
pub(super) fn task_in_request(exchange: &Exchange<'_>) -> Option<String> {
    wire::task_in_request(&exchange.request?.content).map(str::to_owned)
}

fn said_in<'a>(exchange: &Exchange<'a>) -> impl Iterator<Item = Answer<'a>> {
    let bodies = exchange.answers.iter();
    bodies.filter_map(|entry| wire::said(entry.content.body()?.json()?))
}

/// Returns a poll's answer in a form for comparison: the known state of the task, or any other answer.
fn answer(exchange: &Exchange<'_>) -> String {
    let task = said_in(exchange).find_map(|said| match said {
        Answer::Task(task) => known(task),
        Answer::Status(_) | Answer::Artifact(_) | Answer::Message(_) => None,
    });
    task.unwrap_or_else(|| {
        let all: Vec<String> = exchange.answers.iter().copied().flat_map(labels).collect();
        all.join(" ")
    })
}

/// Returns the known state of a task in a task or an update; once the state no longer changes by itself, returns all of
/// the object. The content of a working task depends on the time of the poll.
fn known(object: &Value) -> Option<String> {
    let state = wire::state(object)?;
    let moves = matches!(state.as_str(), "submitted" | "working" | "unknown");
    Some(if moves { format!("status:{state}") } else { format!("status:{state} {object}") })
}
