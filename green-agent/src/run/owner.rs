//! Determines the party at fault when a program ends or nothing happens any more.

use std::collections::BTreeMap;

use super::{hops::ENVIRONMENT_ROLE, problem::Owner};
use crate::{
    recorder::NOT_REACHED,
    scenario::model::{Agent, Green, Scenario, ServerKind, Start},
    transcript::{Body, Content, Direction, Entry, Hop, label::labels},
};

/// Returns the owner of the fault when the party in this role breaks.
pub(super) fn owner_of(scenario: &Scenario, role: &str) -> Owner {
    if role == ENVIRONMENT_ROLE {
        return Owner::Environment;
    }
    let participant = scenario.participants.iter().find(|one| one.role == role);
    match participant {
        // The green agent, or the built-in evaluator.
        None => Owner::Evaluator,
        Some(server) if server.server_kind == ServerKind::Server && !is_bot(scenario, role) => {
            Owner::Environment
        }
        Some(_) => Owner::Agent,
    }
}

/// Returns the agent whose tool call a server was answering when it crashed, according to the transcript up to then: the call
/// has no answer, and the agent is not believed. Such an agent could otherwise end each trial that it would fail.
pub(super) fn crashed_by<'a>(
    scenario: &Scenario,
    server: &str,
    entries: &'a [Entry],
) -> Option<&'a str> {
    let mut calls = BTreeMap::new();
    for entry in entries {
        let is_served = entry.hop.to == server
            || (entry.hop.to == ENVIRONMENT_ROLE && owner_of(scenario, server) == Owner::Evaluator);
        match &entry.content {
            Content::Request { body, .. } if is_served && is_tool_call(body.as_ref()) => {
                calls.insert(entry.exchange, entry.hop.from.as_str());
            }
            Content::Failure { error } if !error.starts_with(NOT_REACHED) => {}
            // The head of a stream.
            Content::Request { .. } | Content::Reply { body: None, .. } => {}
            Content::Reply { .. }
            | Content::Event { .. }
            | Content::End
            | Content::Failure { .. } => {
                calls.remove(&entry.exchange);
            }
        }
    }
    let mut agents = scenario.participants.iter();
    let is_scored = |role: &&str| {
        owner_of(scenario, role) == Owner::Agent
            && agents.any(|agent| agent.role == **role && !is_believed(agent))
    };
    calls.into_values().find(is_scored)
}

/// Returns whether this is the body of a call of a tool.
pub(super) fn is_tool_call(body: Option<&Body>) -> bool {
    body.and_then(Body::json).is_some_and(|body| body["method"] == "tools/call")
}

/// Returns whether a participant is believed when it reports that its language model could not be used. The harness runs
/// policies itself; every other agent could claim this of each trial that it would fail.
pub(super) fn is_believed(agent: &Agent) -> bool {
    agent.is_trusted || matches!(agent.start, Start::Policy(_))
}

/// Returns whether the party in this role is the bot behind another participant, so that the bot is what is
/// evaluated.
fn is_bot(scenario: &Scenario, role: &str) -> bool {
    let named = |start: &Start| matches!(start, Start::Bot { role: bot } if bot == role);
    scenario.participants.iter().any(|one| named(&one.start))
}

/// Returns the party that the others wait for, according to the transcript: the last one that got a request, has not
/// answered it, and waits for no other party.
pub(super) fn awaited(scenario: &Scenario, entries: &[Entry]) -> Owner {
    match (awaited_role(entries), &scenario.green) {
        (Some(role), _) => owner_of(scenario, role),
        (None, Green::Agent(_)) => Owner::Evaluator,
        (None, Green::Builtin(_)) => Owner::Agent,
    }
}

/// Returns the role of that party; `None` if there was no request.
pub(super) fn awaited_role(entries: &[Entry]) -> Option<&str> {
    let open = open_exchanges(entries);
    let waits = |role: &str| open.iter().any(|one| one.waiting() == role);
    let last = open.iter().rev().find(|one| !waits(one.awaited()));
    if let Some(exchange) = last.or(open.last()) {
        return Some(exchange.awaited());
    }
    // No request is open: the party with the last request has not finished its work.
    let mut requests =
        entries.iter().rev().filter(|entry| matches!(entry.content, Content::Request { .. }));
    requests.next().map(|entry| entry.hop.to.as_str())
}

/// Returns whether the last thing that a party sent is the end of its task, in a stream that it has not closed since.
pub(super) fn has_not_closed(entries: &[Entry], role: &str) -> bool {
    const ENDS: [&str; 4] = ["completed", "failed", "canceled", "rejected"];
    let mut sent = entries.iter().rev();
    let last = sent.find(|entry| entry.hop.to == role && entry.direction == Direction::Back);
    let is_end = |label: &String| {
        let state = label.strip_prefix("status:");
        state.is_some_and(|state| ENDS.contains(&state))
    };
    last.is_some_and(|entry| {
        matches!(entry.content, Content::Event { .. }) && labels(entry).iter().any(is_end)
    })
}

/// Returns the role of a party whose answer to a request is not complete.
pub(super) fn still_answering(entries: &[Entry]) -> Option<&str> {
    let open = open_exchanges(entries);
    open.first().map(|one| one.hop.to.as_str())
}

/// A request whose answer is not complete.
struct OpenRequest<'a> {
    hop: &'a Hop,
    /// Whether the called party has sent something. A participant that called the green agent has its instructions
    /// then, and is the party that the others wait for.
    is_told: bool,
}

impl<'a> OpenRequest<'a> {
    fn awaited(&self) -> &'a str {
        match self.is_told && self.hop.to == "green" && self.hop.from != "runner" {
            true => &self.hop.from,
            false => &self.hop.to,
        }
    }

    fn waiting(&self) -> &'a str {
        if self.awaited() == self.hop.to { &self.hop.from } else { &self.hop.to }
    }
}

fn open_exchanges(entries: &[Entry]) -> Vec<OpenRequest<'_>> {
    let mut open = BTreeMap::new();
    for entry in entries {
        match &entry.content {
            // An MCP server's stream of its own messages stays open without anybody waiting for it.
            Content::Request { method, .. } if method == "GET" => {}
            Content::Request { .. } => {
                open.insert(entry.exchange, OpenRequest { hop: &entry.hop, is_told: false });
            }
            Content::Event { .. } => {
                if let Some(exchange) = open.get_mut(&entry.exchange) {
                    exchange.is_told = true;
                }
            }
            // The head of a stream, whose events follow.
            Content::Reply { status: 200, body: None, .. } => {}
            Content::Reply { .. } | Content::End | Content::Failure { .. } => {
                open.remove(&entry.exchange);
            }
        }
    }
    open.into_values().collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::{
        scenario::testing::scenario_of,
        transcript::fixture::{Script, end, event, failure, request, result, rpc, stream},
    };

    fn scenario() -> Scenario {
        scenario_of(
            "[green_agent]\nendpoint = 'http://h:1'\n\
             [[participants]]\nrole = 'purple'\nendpoint = 'http://h:2'\n\
             [[participants]]\nrole = 'model'\nserver = 'http://h:3'\ncmd = 'model'\n",
        )
    }

    #[test]
    fn each_role_has_an_owner() {
        for (role, owner) in [
            ("green", Owner::Evaluator),
            ("purple", Owner::Agent),
            ("model", Owner::Environment),
            ("environment", Owner::Environment),
        ] {
            assert_eq!(owner_of(&scenario(), role), owner, "{role}");
        }
    }

    #[test]
    fn the_asked_agent_without_own_requests_is_awaited() {
        let mut script = Script::default();
        script.exchange("runner -> green", [rpc("SendStreamingMessage", json!({})), stream()]);
        assert_eq!(awaited(&scenario(), &script.entries), Owner::Evaluator);
        script.exchange("green -> purple", [rpc("SendMessage", json!({}))]);
        assert_eq!(awaited(&scenario(), &script.entries), Owner::Agent);
        script.exchange("purple -> environment", [request("GET", "/mcp", None), stream()]);
        script.exchange("purple -> environment", [rpc("tools/call", json!({})), result(json!({}))]);
        assert_eq!(awaited(&scenario(), &script.entries), Owner::Agent);
        script.exchange("purple -> model", [rpc("complete", json!({}))]);
        assert_eq!(awaited(&scenario(), &script.entries), Owner::Environment);
    }

    #[test]
    fn a_participant_that_was_told_what_to_do_is_awaited() {
        let mut script = Script::default();
        script.exchange("purple -> green", [rpc("SendStreamingMessage", json!({})), stream()]);
        assert_eq!(awaited(&scenario(), &script.entries), Owner::Evaluator);
        script.push("purple -> green", 1, event(json!({})));
        assert_eq!(awaited(&scenario(), &script.entries), Owner::Agent);
    }

    #[test]
    fn a_server_that_dies_of_an_agents_call_is_told_from_one_that_dies_by_itself() {
        let scenario = scenario_of(
            "[green_agent]\n\
             [[participants]]\nrole = 'a'\nendpoint = 'http://h:1'\n\
             [[participants]]\nrole = 'b'\nendpoint = 'http://h:2'\ntrusted = true\n\
             [[participants]]\nrole = 'shop'\nserver = 'http://h:3'\ncmd = 'shop'\n\
             [config]\nevaluator = 'conversation'\n[[config.turn]]\nto = 'a'\ntext = 'x'\n\
             [harness]\nversion = 1\n",
        );
        let call = || rpc("tools/call", json!({}));
        let broken = || failure("the upstream did not answer: closed");
        let dead = || failure(&format!("{NOT_REACHED}: refused"));
        let by = |hop: &str, contents: Vec<Content>| {
            let mut script = Script::default();
            contents.into_iter().for_each(|content| script.push(hop, 1, content));
            crashed_by(&scenario, "shop", &script.entries).map(str::to_owned)
        };
        let a = Some("a".to_owned());
        assert_eq!(by("a -> shop", vec![call()]), a);
        assert_eq!(by("a -> shop", vec![call(), broken()]), a);
        assert_eq!(by("a -> shop", vec![call(), stream(), broken()]), a);
        assert_eq!(by("a -> shop", vec![call(), dead()]), None);
        assert_eq!(by("a -> shop", vec![call(), result(json!({}))]), None);
        assert_eq!(by("a -> shop", vec![rpc("tools/list", json!({})), broken()]), None);
        assert_eq!(by("b -> shop", vec![call(), broken()]), None);
        assert_eq!(by("green -> shop", vec![call(), broken()]), None);
    }

    #[test]
    fn without_open_requests_the_last_asked_agent_is_awaited() {
        let mut script = Script::default();
        script
            .exchange("green -> purple", [rpc("SendStreamingMessage", json!({})), stream(), end()]);
        script.exchange("green -> purple", [rpc("GetTask", json!({})), result(json!({}))]);
        assert_eq!(awaited(&scenario(), &script.entries), Owner::Agent);
        assert_eq!(awaited(&scenario(), &[]), Owner::Evaluator);
    }
}
