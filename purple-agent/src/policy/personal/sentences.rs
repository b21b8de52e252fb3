//! Tests with users' own wordings and the expected result: a question, a skill called with parameters, or that no
//! agent was found. Each line of the file is one conversation. The tools search the scenarios' index of sites and
//! find the document's club, or a club with more skills.

use std::path::Path;

use mcp_tools::sites::Sites;
use serde_json::{Value, json};

use super::{
    tests::{SITE, Talk},
    *,
};

/// All conversations, in the order in which they were written.
const SENTENCES: &str = include_str!("sentences.tsv");

/// The beginnings of conversations that are not yet handled correctly.
const NOT_YET: [&str; 3] = [
    // The policy takes a train for a training.
    "Is there a train to Urmston at 10?",
    // The policy asks for 10.
    "Urmston Town Juniors: do you have room for a child who is 10 going on 11?",
    // The policy answers whether there is a place, and says nothing about trials.
    "Will there be trials at Urmston Town in May",
];

/// The separator between the messages of a user.
const NEXT: &str = " // ";

#[tokio::test]
async fn user_sentences_lead_to_their_intents() {
    let index = concat!(env!("CARGO_MANIFEST_DIR"), "/../scenarios/club/sites.toml");
    let sites = Sites::read(Path::new(index)).unwrap();
    let clubs = [documents_club(), club_of_more()];
    let mut wrong = Vec::new();
    for line in SENTENCES.lines().filter(|line| !line.starts_with('#')) {
        let columns: Vec<&str> = line.split('\t').collect();
        let [_, documents, of_more, said] = columns[..] else {
            panic!("expected four columns: {line}");
        };
        let mut came = Vec::new();
        for skills in &clubs {
            came.push(outcome_of(said, &sites, skills).await);
        }
        let is_not_yet = NOT_YET.iter().any(|begin| said.starts_with(begin));
        if (came == [documents, of_more]) == is_not_yet {
            wrong.push(format!(
                "{said}\n    expected {documents} and {of_more}, came {}",
                came.join(" and ")
            ));
        }
    }
    assert!(wrong.is_empty(), "{} do not lead there:\n{}", wrong.len(), wrong.join("\n"));
}

/// Returns the result of a conversation in the file's notation.
async fn outcome_of(said: &str, sites: &Sites, skills: &Value) -> String {
    let mut messages = said.split(NEXT);
    let mut talk = Talk::begin(messages.next().unwrap_or_default(), &Value::Null);
    loop {
        let action = talk.next().await;
        let call = match action {
            Action::Wait { missing } => match messages.next() {
                Some(message) => {
                    talk.say(message);
                    continue;
                }
                None => return asked(&missing),
            },
            Action::Finish { text, .. } => {
                assert!(text.starts_with("I could not find"), "{text}");
                return "none".to_owned();
            }
            Action::Call(calls) => calls[0].clone(),
        };
        if call.name == INVOKE {
            return called(&call.arguments["task_request_object"]);
        }
        let answer = match call.name.as_str() {
            SEARCH => {
                let query = call.arguments["query"].as_str().unwrap();
                let found = sites.search(query, 5).into_iter();
                json!({"results": found.map(|site| site.to_json()).collect::<Value>()})
            }
            _ if call.arguments["target_url"] == SITE => json!({
                "status": "success", "tasking_base_url": SITE, "available_skills": skills,
                "agent_name": "Urmston Town Juniors Orchestrator Agent",
                "agent_description": "A2A Agent for Urmston Town Juniors FC inquiries, including team availability.",
            }),
            _ => json!({"status": "not_found", "error": "no card"}),
        };
        talk.answered(call, answer);
    }
}

/// Returns the called skill; for the document's skill also the age.
fn called(task: &Value) -> String {
    match task["skill_id"].as_str().unwrap() {
        "check_team_availability_v1" => format!("vacancy {}", task["parameters"]["age"]),
        other => other.to_owned(),
    }
}

/// Returns whether the policy asks for an age, or for one of several.
fn asked(missing: &str) -> String {
    assert!(missing.contains("age"), "{missing}");
    let numbers = missing.split(|c: char| !c.is_ascii_digit());
    let numbers: Vec<&str> = numbers.filter(|number| !number.is_empty()).collect();
    if numbers.is_empty() { "ask".to_owned() } else { format!("which {}", numbers.join(" ")) }
}

fn documents_club() -> Value {
    let card = include_str!("../../../../snapshots/wire/club/agent-card.json");
    let card: Value = serde_json::from_str(card).unwrap();
    let mut skills = card["skills"].clone();
    for skill in skills.as_array_mut().unwrap() {
        skill["parameters_schema"] = skill["parameters"].take();
    }
    skills
}

fn club_of_more() -> Value {
    let mut skills = documents_club();
    let nothing = json!({"type": "object", "properties": {}});
    for (id, name, description, tags) in [
        (
            "times",
            "TrainingTimes",
            "Tells on which days and at what time the teams of Urmston Town train.",
            "training",
        ),
        (
            "fixtures",
            "MatchSchedule",
            "Tells when and against whom the teams of Urmston Town play, and the results of their last matches.",
            "fixtures",
        ),
        ("fees", "MembershipFees", "Tells what a season with Urmston Town costs.", "fees"),
        (
            "issue",
            "ReportIssue",
            "Takes complaints about the pitches, floodlights and changing rooms of Urmston Town.",
            "feedback",
        ),
    ] {
        let skill = json!({
            "id": id, "name": name, "description": description, "tags": [tags], "parameters_schema": nothing,
        });
        skills.as_array_mut().unwrap().push(skill);
    }
    skills
}
