//! What users say in their own words, and what is to come of it: asked back, or a skill called with parameters, or
//! that nobody was found. Each line of the files is a conversation of its own, with tools that look in the index of
//! sites of the scenarios and find the document's club, or one of more skills.

use std::path::Path;

use mcp_tools::sites::Sites;
use serde_json::{Value, json};

use super::{
    tests::{SITE, Talk},
    *,
};

/// Written before the policy could read any of them but the document's.
const BEFORE: &str = include_str!("sentences/sentences.tsv");

/// Written afterwards, to see how it fares with what it was not made for.
const LATER: &str = include_str!("sentences/later.tsv");

/// What stands between the messages of a user.
const NEXT: &str = " // ";

#[tokio::test]
async fn what_users_say_leads_to_what_they_want() {
    hold(BEFORE, 199).await;
}

#[tokio::test]
async fn what_users_say_otherwise_mostly_leads_to_what_they_want() {
    hold(LATER, 43).await;
}

/// Runs each line with both clubs. So many lines are to hold with both.
async fn hold(lines: &str, least: usize) {
    let index = concat!(env!("CARGO_MANIFEST_DIR"), "/../scenarios/club/sites.toml");
    let sites = Sites::read(Path::new(index)).unwrap();
    let (mut held, mut all) = (0, 0);
    for line in lines.lines().filter(|line| !line.starts_with('#')) {
        let columns: Vec<&str> = line.split('\t').collect();
        let [kind, documents, of_more, said] = columns[..] else {
            panic!("expected four columns: {line}");
        };
        let mut holds = true;
        for (expected, skills) in [(documents, documents_club()), (of_more, club_of_more())] {
            let came = led_to(said, &sites, &skills).await;
            if came != expected {
                println!("{kind}: {said}\n    expected {expected}, came {came}");
                holds = false;
            }
        }
        all += 1;
        held += usize::from(holds);
    }
    println!("{held} of {all} hold");
    assert!(held >= least, "{held} of {all} hold, expected {least}");
}

/// What came of it, as the files write it.
async fn led_to(said: &str, sites: &Sites, skills: &Value) -> String {
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

/// Which skill is called; of the document's one also with which age.
fn called(task: &Value) -> String {
    match task["skill_id"].as_str().unwrap() {
        "check_team_availability_v1" => format!("vacancy {}", task["parameters"]["age"]),
        other => other.to_owned(),
    }
}

/// Whether any age is asked for, or which of several.
fn asked(missing: &str) -> String {
    assert!(missing.contains("age"), "{missing}");
    let numbers = missing.split(|c: char| !c.is_ascii_digit());
    let numbers: Vec<&str> = numbers.filter(|number| !number.is_empty()).collect();
    match numbers.is_empty() {
        true => "ask".to_owned(),
        false => format!("which {}", numbers.join(" ")),
    }
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
        (
            "fees",
            "MembershipFees",
            "Tells what a season with Urmston Town costs.",
            "fees",
        ),
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
