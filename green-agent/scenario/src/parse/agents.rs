//! `[[participants]]`, in both of AgentBeats' dialects.

use std::collections::BTreeMap;

use serde_json::Value;

use super::{
    bot,
    roles::DeclaredRoles,
    start::{listens, start},
    values,
};
use crate::{
    error::Problem,
    model::{Agent, Inherits, Listens},
    reader::{Node, Table},
};

/// Roles that name the harness's own parties in transcripts.
const RESERVED: [&str; 3] = ["green", "runner", "environment"];

/// Reads `[[participants]]`.
pub(super) fn participants(root: &mut Table<'_>) -> DeclaredRoles {
    let mut roles = DeclaredRoles::default();
    let mut declared = 0;
    let mut tools = Vec::new();
    let read = root.tables("participants", |table| {
        declared += 1;
        tools.extend(table.get("tools"));
        let role = role(table, &mut roles.roles);
        // An agent without a role is dropped, but its other keys are still checked.
        let agent = agent(table, role.clone().unwrap_or_default());
        let bot = table.get("bot").is_some();
        role.and(agent).map(|agent| (agent, bot))
    });
    roles.declared = declared;
    bot::hosted(&mut roles, read);
    for node in tools {
        check_tools(&node, &roles);
    }
    roles
}

/// Checks that `tools` names a server, which may be defined further down in the file.
fn check_tools(node: &Node<'_>, roles: &DeclaredRoles) {
    let role = node.text().and_then(|role| roles.check(role, &[], node));
    let agent = role.and_then(|role| roles.agents.iter().find(|agent| agent.role == role));
    if agent.is_some_and(|agent| agent.listens == Listens::Agent) {
        node.expected::<()>("the role of a participant with server, the URL of an MCP server");
    }
}

/// Reads the role, called `role` here and `name` on AgentBeats' leaderboards, and registers it.
fn role(table: &mut Table<'_>, roles: &mut BTreeMap<String, usize>) -> Option<String> {
    let (role, name) = (table.get("role"), table.get("name"));
    let node = match (role, name) {
        (Some(role), Some(name)) if role.text()? != name.text()? => {
            return name.expected(format!("the same as role, {:?}", role.text()?));
        }
        (Some(node), _) | (None, Some(node)) => node,
        (None, None) => return table.missing("role", "what this participant is called"),
    };
    let role = node.read(
        "a role: a text without \"->\", slashes or blanks around it",
        |text| is_role(text).then(|| text.to_owned()),
    )?;
    if RESERVED.contains(&role.as_str()) || role.ends_with(bot::SUFFIX) {
        node.report(Problem::ReservedRole { role });
        return None;
    }
    if let Some(&line) = roles.get(&role) {
        node.report(Problem::DuplicateRole { role, line });
        return None;
    }
    roles.insert(role.clone(), table.line());
    Some(role)
}

/// Returns whether a text can be a role. Roles are parts of hops (`green -> purple`) and of file names.
fn is_role(text: &str) -> bool {
    let is_plain = |c: char| !c.is_control() && c != '/' && c != '\\';
    !text.is_empty()
        && text.trim() == text
        && !text.starts_with('.')
        && !text.contains("->")
        && text.chars().all(is_plain)
}

/// Reads all keys of an agent except its role.
pub(super) fn agent(table: &mut Table<'_>, role: String) -> Option<Agent> {
    let cmd = table.get("cmd").and_then(|node| values::words(&node));
    let passed = table.get("pass_env");
    let passed =
        passed.and_then(|list| list.list_of(|node| node.read("a variable's name", variable)));
    let (env, inherits) = match table.get("env") {
        Some(node) if node.as_text().is_some() => {
            node.read("a table, or \"inherit\"", |text| {
                (text == "inherit").then_some(())
            });
            (BTreeMap::new(), Inherits::Everything)
        }
        Some(node) => (env(&node), Inherits::Named(passed.unwrap_or_default())),
        None => (BTreeMap::new(), Inherits::Named(passed.unwrap_or_default())),
    };
    let requires = values::requires(table);
    let agentbeats_id = table
        .text("agentbeats_id")
        .filter(|id| !id.trim().is_empty());
    Some(Agent {
        role,
        agentbeats_id: agentbeats_id.map(str::to_owned),
        listens: listens(table),
        start: start(table, cmd)?,
        env,
        inherits,
        requires,
    })
}

/// Reads the name of a variable, or a prefix of names and `*`.
fn variable(text: &str) -> Option<String> {
    let name = text.strip_suffix('*').unwrap_or(text);
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '_';
    (!name.is_empty() && name.chars().all(plain)).then(|| text.to_owned())
}

fn env(node: &Node<'_>) -> BTreeMap<String, String> {
    let entries = node.table().into_iter().flat_map(|table| {
        let texts = table.entries().map(|(name, value)| (name, text_of(&value)));
        texts.collect::<Vec<_>>()
    });
    entries
        .filter_map(|(name, text)| Some((name.to_owned(), text?)))
        .collect()
}

/// Reads a variable's value; public files contain numbers and booleans too.
fn text_of(node: &Node<'_>) -> Option<String> {
    match node.json()? {
        Value::String(text) => Some(text),
        Value::Number(number) => Some(number.to_string()),
        Value::Bool(flag) => Some(flag.to_string()),
        Value::Null | Value::Array(_) | Value::Object(_) => {
            node.expected("text, a number, true or false")
        }
    }
}

#[cfg(test)]
mod tests;
