//! Prints agents as a table: one line for each agent and each skill.

use std::fmt::Write as _;

use bridge_client::discovery::Skill;
use bridge_program::terminal::line;
use bridge_protocol::signing::SignatureState;
use serde_json::Value;

use super::Listed;
use crate::cli::address::shown;

/// The width of a description.
const WIDTH: usize = 60;

/// Returns the table of all agents with their skills.
pub(super) fn table(agents: &[Listed]) -> String {
    let mut text = String::new();
    if agents.is_empty() {
        return "no agents\n".to_owned();
    }
    for (index, listed) in agents.iter().enumerate() {
        if index > 0 {
            text.push('\n');
        }
        let agent = &listed.agent;
        let (name, version) = (&agent.card.name, &agent.card.version);
        let (speaks, url) = (agent.endpoint.name(), shown(agent.endpoint.url()));
        // Writing to a text cannot fail.
        let (name, version) = (line(name), line(version));
        let _ = writeln!(text, "{name} {version}  speaks {speaks} at {url}");
        let found_at = shown(&agent.found_at);
        let place = listed.card.as_deref().unwrap_or(&found_at);
        let standing = SignatureState::of(&agent.card.signatures);
        let _ = writeln!(text, "  card at {}, {}", line(place), line(&standing.to_string()));
        for other in &agent.others {
            let (speaks, url) = (other.name(), shown(other.url()));
            let _ = writeln!(text, "  speaks {speaks} at {url} too");
        }
        for uri in agent.required_extensions() {
            let _ = writeln!(text, "  requires the extension {}", line(uri));
        }
        text.push_str(&skills(&agent.skills));
    }
    text
}

fn skills(skills: &[Skill]) -> String {
    if skills.is_empty() {
        return "  no skills\n".to_owned();
    }
    let mut rows = vec![["SKILL", "TAKES", "GIVES", "WHAT IT DOES"].map(String::from)];
    rows.extend(skills.iter().map(|skill| {
        [
            line(&skill.id).into_owned(),
            fields(skill.parameters_schema.as_ref()),
            fields(skill.output_schema.as_ref()),
            cut(&skill.description),
        ]
    }));
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max();
    let widths = [0, 1, 2].map(|column| width(column).unwrap_or_default());
    let shown = |row: &[String; 4]| {
        let [id, takes, gives, does] = row;
        let [a, b, c] = widths;
        let shown = format!("  {id:a$}  {takes:b$}  {gives:c$}  {does}");
        format!("{}\n", shown.trim_end())
    };
    rows.iter().map(shown).collect()
}

/// Returns the fields of a schema with their types; optional ones have a question mark.
fn fields(schema: Option<&Value>) -> String {
    let Some(schema) = schema else {
        return "text".to_owned();
    };
    let properties = schema.get("properties").and_then(Value::as_object);
    let required = schema.get("required").and_then(Value::as_array);
    let is_required =
        |name: &str| required.is_some_and(|names| names.iter().any(|one| one == name));
    let fields = properties.into_iter().flatten().map(|(name, field)| {
        let mark = if is_required(name) { "" } else { "?" };
        match field.get("type").and_then(Value::as_str) {
            Some(kind) => format!("{name}{mark}: {kind}"),
            None => format!("{name}{mark}"),
        }
    });
    match fields.collect::<Vec<_>>().join(", ") {
        none if none.is_empty() => "any JSON".to_owned(),
        fields => line(&fields).into_owned(),
    }
}

/// Returns the first line, cut to the width.
fn cut(text: &str) -> String {
    let first = line(text.lines().next().unwrap_or_default());
    match first.chars().count() > WIDTH {
        true => first.chars().take(WIDTH - 1).chain(['…']).collect(),
        false => first.into_owned(),
    }
}

#[cfg(test)]
mod tests {
    use bridge_client::discovery::Discovered;
    use serde_json::json;

    use super::*;
    use crate::cli::discover::as_json;

    #[test]
    fn an_agent_is_a_table() {
        let card = json!({"name": "plan-agent", "version": "1.0.0", "url": "http://localhost:8001", "skills": [
            {
                "id": "create_plan",
                "description": "Creates structured implementation plans\nfrom requirements",
                "input_schema": {
                    "type": "object",
                    "properties": {"requirements": {"type": "string"}, "depth": {"enum": [1, 2]}},
                    "required": ["requirements"],
                },
                "output_schema": {"type": "object"},
            },
            {"id": "talk", "description": "x".repeat(61)},
        ]});
        let place = "http://localhost:8001/agent-card".parse().unwrap();
        let agent = Discovered::from_card(card, place).unwrap();
        let listed = Listed { agent, card: None };
        insta::assert_snapshot!(table(&[listed]));
        assert_eq!(table(&[]), "no agents\n");
    }

    #[test]
    fn other_interfaces_and_requirements_are_shown() {
        let interface = |binding: &str, url: &str| json!({"protocolBinding": binding, "protocolVersion": "1.0", "url": url});
        let card = json!({
            "name": "plan", "version": "1", "description": "plans", "skills": [],
            "defaultInputModes": ["text/plain"], "defaultOutputModes": ["text/plain"],
            "supportedInterfaces": [
                interface("JSONRPC", "http://localhost:8001/"),
                interface("HTTP+JSON", "http://user:secret@localhost:8001/rest"),
            ],
            "capabilities": {"extensions": [
                {"uri": "urn:needed\u{1b}[2J", "required": true},
                {"uri": "urn:offered"},
            ]},
        });
        let place = "http://localhost:8001/agent-card".parse().unwrap();
        let agent = Discovered::from_card(card, place).unwrap();
        let listed = [Listed { agent, card: None }];
        let json = as_json(&listed);
        let json = &json["agents"][0];
        assert_eq!(
            json["others"],
            json!([{"speaks": "HTTP+JSON 1.0", "url": "http://localhost:8001/rest"}])
        );
        assert_eq!(json["requires"], json!(["urn:needed\u{1b}[2J"]));
        let said = table(&listed);
        let lines: Vec<_> = said.lines().skip(2).collect();
        assert_eq!(lines[0], "  speaks HTTP+JSON 1.0 at http://localhost:8001/rest too");
        assert!(lines[1].starts_with("  requires the extension urn:needed"), "{said}");
        assert!(!said.contains('\u{1b}'), "{said:?}");
    }
}
