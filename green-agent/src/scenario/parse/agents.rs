//! `[green_agent]` and `[[participants]]`, in both of AgentBeats' dialects.

use std::collections::BTreeMap;

use super::{
    bot,
    cast::Cast,
    evaluator,
    start::{is_filled, listens, start},
    values,
};
use crate::scenario::{
    error::Problem,
    model::{Agent, ENVIRONMENT, Green, Listens, Start},
    reader::{Node, Table},
};

/// Roles that name the harness's own parties in transcripts.
const RESERVED: [&str; 3] = ["green", "runner", "environment"];

/// Reads `[[participants]]`.
pub(super) fn participants(root: &mut Table<'_>) -> Cast {
    let mut cast = Cast::default();
    let mut declared = 0;
    let mut tools = Vec::new();
    let read = root.tables("participants", |table| {
        declared += 1;
        tools.extend(table.get("tools"));
        let role = role(table, &mut cast.roles);
        // Without its role an agent goes no further than its report, yet its other keys shall be looked at.
        let agent = agent(table, role.clone().unwrap_or_default());
        let bot = table.get("bot").is_some();
        role.and(agent).map(|agent| (agent, bot))
    });
    cast.declared = declared;
    bot::hosted(&mut cast, read);
    for node in tools {
        check_tools(&node, &cast);
    }
    cast
}

/// Tools are had from a server, which may stand further down in the file.
fn check_tools(node: &Node<'_>, cast: &Cast) {
    let role = node.text().and_then(|role| cast.check(role, &[], node));
    let agent = role.and_then(|role| cast.agents.iter().find(|agent| agent.role == role));
    if agent.is_some_and(|agent| agent.listens == Listens::Agent) {
        node.expected::<()>("the role of a participant with server, the URL of an MCP server");
    }
}

/// Reads `[green_agent]`: a program, a server, or the built-in evaluator that `[config]` chooses.
pub(super) fn green(
    root: &mut Table<'_>,
    config: Option<&mut Table<'_>>,
    cast: &Cast,
) -> Option<Green> {
    let mut table = root
        .need("green_agent", "the table [green_agent]")?
        .table()?;
    let names_agent = ["endpoint", "cmd", "image", "agentbeats_id"]
        .into_iter()
        .any(|name| is_filled(&mut table, name));
    if names_agent {
        check_environment(&mut table, cast);
        let green = agent(&mut table, "green".to_owned())?;
        return match green.start {
            Start::Running { .. } | Start::Program { .. } if green.listens == Listens::Agent => {
                Some(Green::Agent(green))
            }
            // These are ways of being a participant.
            Start::Running { .. }
            | Start::Program { .. }
            | Start::Builtin { .. }
            | Start::Bot { .. }
            | Start::Policy(_)
            | Start::Client { .. } => {
                table.missing("endpoint", "the URL at which the green agent listens")
            }
        };
    }
    reject_process_keys(&mut table);
    let chosen = config.and_then(|config| Some((config.get("evaluator")?, config)));
    match chosen {
        Some((name, config)) => evaluator::evaluator(config, &name, cast).map(Green::Builtin),
        None => table.missing(
            "endpoint",
            "the evaluator's URL, or config.evaluator for a built-in one",
        ),
    }
}

/// Only where there is one participant is it known who works in the environment.
fn check_environment(table: &mut Table<'_>, cast: &Cast) {
    let Some(node) = table.get("cmd") else {
        return;
    };
    let names_it = node.text().is_some_and(|cmd| cmd.contains(ENVIRONMENT));
    if names_it && cast.declared != 1 {
        let found = cast.declared;
        node.expected::<()>(format!(
            "{ENVIRONMENT} only beside one participant, not {found}"
        ));
    }
}

/// The built-in evaluator runs in our own process: what is said about another one must not be lost.
fn reject_process_keys(table: &mut Table<'_>) {
    for (name, expected) in [
        ("env", "it only where cmd starts the evaluator"),
        ("requires", "it in [harness], for nothing is started here"),
    ] {
        if let Some(node) = table.get(name) {
            node.expected::<()>(expected);
        }
    }
}

/// Reads the role, `role` here and `name` on AgentBeats' leaderboards, and enters it in the cast.
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

/// Roles stand in hops (`green -> purple`) and name files of a run's folder.
fn is_role(text: &str) -> bool {
    let is_plain = |c: char| !c.is_control() && c != '/' && c != '\\';
    !text.is_empty()
        && text.trim() == text
        && !text.starts_with('.')
        && !text.contains("->")
        && text.chars().all(is_plain)
}

/// Reads everything of an agent but its role.
fn agent(table: &mut Table<'_>, role: String) -> Option<Agent> {
    let cmd = table.get("cmd").and_then(|node| values::words(&node));
    let env = table.get("env").map(|node| env(&node)).unwrap_or_default();
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
        requires,
    })
}

fn env(node: &Node<'_>) -> BTreeMap<String, String> {
    let entries = node.table().into_iter().flat_map(|table| {
        let texts = table.entries().map(|(name, value)| (name, value.text()));
        texts.collect::<Vec<_>>()
    });
    entries
        .filter_map(|(name, text)| Some((name.to_owned(), text?.to_owned())))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::tests::{errors_of, scenario_of};

    const GREEN: &str = "[green_agent]\nendpoint = 'http://127.0.0.1:9009'\n";

    #[test]
    fn the_tutorials_file_is_read_as_it_is() {
        let scenario = scenario_of(
            r#"
            [green_agent]
            endpoint = "http://127.0.0.1:9009"
            cmd = "python judge.py --host '127.0.0.1'"
            colour = "tolerated"

            [[participants]]
            role = "pro_debater"
            endpoint = "http://127.0.0.1:9019"
            cmd = ""
            agentbeats_id = "abc"
            "#,
        );
        let Green::Agent(green) = scenario.green else {
            panic!("the green agent is a program");
        };
        assert_eq!(green.role, "green");
        let started = Start::Program {
            endpoint: "http://127.0.0.1:9009/".parse().unwrap(),
            cmd: ["python", "judge.py", "--host", "127.0.0.1"]
                .map(str::to_owned)
                .into(),
        };
        assert_eq!(green.start, started);
        let [debater] = &scenario.participants[..] else {
            panic!("there is one participant");
        };
        assert_eq!(debater.role, "pro_debater");
        assert_eq!(debater.agentbeats_id.as_deref(), Some("abc"));
        assert!(matches!(debater.start, Start::Running { .. }));
    }

    #[test]
    fn the_leaderboards_dialect_is_read_too() {
        let scenario = scenario_of(
            r#"
            [green_agent]
            endpoint = "http://127.0.0.1:9009"
            env = { LOG = "debug" }
            [[participants]]
            name = "debater"
            image = "ghcr.io/x/y"
            endpoint = "http://127.0.0.1:9019/a2a"
            env = { KEY = "${SECRET}" }
            requires = ["command:uv"]
            "#,
        );
        let debater = &scenario.participants[0];
        assert_eq!(debater.role, "debater");
        assert_eq!(debater.env["KEY"], "${SECRET}");
        assert_eq!(debater.requires.len(), 1);
    }

    #[test]
    fn what_is_wrong_with_an_agent_is_said_at_its_key() {
        for (participant, expected) in [
            (
                "role = 'a'",
                "a.toml:3:1: participants[0].endpoint: missing",
            ),
            (
                "endpoint = 'http://h'",
                "a.toml:3:1: participants[0].role: missing",
            ),
            (
                "role = 'a'\ncmd = 'x'",
                "a.toml:5:7: participants[0].cmd: cmd found without",
            ),
            (
                "role = 'a'\nimage = 'x'",
                "a.toml:3:1: participants[0]: only an image",
            ),
            (
                "role = 'a'\nbuiltin = 'x'",
                "a.toml:5:11: participants[0].builtin: expected a built-in bot: sample, ",
            ),
            (
                "role = 'a'\nbuiltin = 'sample'\ncmd = 'x'",
                "a.toml:6:7: participants[0].cmd: expected it without builtin",
            ),
            (
                "role = 'a'\nendpoint = 'h:1'",
                "a.toml:5:12: participants[0].endpoint: expected an http",
            ),
            (
                "role = 'a'\nendpoint = 'http://h'\ncmd = '\"x'",
                "a.toml:6:7: participants[0].cmd: expected a command",
            ),
            (
                "role = 'a'\nname = 'b'\nendpoint = 'http://h'",
                "a.toml:5:8: participants[0].name: expected the same as role",
            ),
            (
                "role = 'runner'\nendpoint = 'http://h'",
                "a.toml:4:8: participants[0].role: the role \"runner\" is reserved",
            ),
            (
                "role = 'a->b'\nendpoint = 'http://h'",
                "a.toml:4:8: participants[0].role: expected a role",
            ),
            (
                "role = 'a'\nendpoint = 'http://h'\nenv = { A = 1 }",
                "a.toml:6:13: participants[0].env.A: expected text, found 1",
            ),
        ] {
            let errors = errors_of(&format!("{GREEN}[[participants]]\n{participant}\n"));
            assert!(errors.starts_with(expected), "{errors}");
            assert_eq!(errors.lines().count(), 1, "{errors}");
        }
    }

    #[test]
    fn a_server_is_used_by_others() {
        let scenario = scenario_of(
            "[green_agent]\nendpoint = 'http://h'\n\
             [[participants]]\nrole = 'a'\npolicy = 'heuristic'\ntools = 'b'\n\
             [[participants]]\nrole = 'b'\nserver = 'http://127.0.0.1:9/mcp'\ncmd = 'x --to {c} --port 9'\n\
             [[participants]]\nrole = 'c'\nendpoint = 'http://127.0.0.1:7'\nenv = { A = '{c} ${b}' }\n",
        );
        let [a, b, c] = &scenario.participants[..] else {
            panic!("there are three participants");
        };
        assert_eq!((b.listens, c.listens), (Listens::Server, Listens::Agent));
        assert!(a.knows("b") && b.knows("c") && !c.knows("b") && !a.knows("c"));
    }

    #[test]
    fn what_is_wrong_with_a_server_is_said_at_its_key() {
        for (participant, expected) in [
            (
                "role = 'a'\nserver = 'http://h'\nendpoint = 'http://h'",
                "a.toml:6:12: participants[0].endpoint: expected it without server",
            ),
            (
                "role = 'a'\nendpoint = 'http://h'\ntools = 'a'",
                "a.toml:6:9: participants[0].tools: expected it only beside policy",
            ),
            (
                "role = 'a'\npolicy = 'heuristic'\ntools = 'b'",
                "a.toml:6:9: participants[0].tools: nobody has the role \"b\"",
            ),
            (
                "role = 'a'\npolicy = 'heuristic'\ntools = 'a'",
                "a.toml:6:9: participants[0].tools: expected the role of a participant with server",
            ),
        ] {
            let errors = errors_of(&format!("{GREEN}[[participants]]\n{participant}\n"));
            assert!(errors.starts_with(expected), "{errors}");
        }
    }

    #[test]
    fn a_second_participant_of_the_same_role_is_told_of_the_first() {
        let participant = "[[participants]]\nrole = 'a'\nendpoint = 'http://h'\n";
        let errors = errors_of(&format!("{GREEN}{participant}{participant}"));
        assert!(errors.starts_with("a.toml:7:8: "), "{errors}");
        assert!(
            errors.contains("is taken by the participant of line 3"),
            "{errors}"
        );
    }

    #[test]
    fn the_built_in_evaluator_needs_nothing() {
        let errors = errors_of(
            "[green_agent]\nrequires = ['command:uv']\n[[participants]]\nrole = 'a'\nendpoint = 'http://h'\n\
             [config]\nevaluator = 'conversation'\nturn = [{ to = 'a', text = '' }]\n",
        );
        let expected = "a.toml:2:12: green_agent.requires: expected it in [harness]";
        assert!(errors.starts_with(expected), "{errors}");
    }

    #[test]
    fn a_green_agent_listens() {
        let errors = errors_of("[green_agent]\ncmd = 'x --green {green}'\n");
        let expected = "a.toml:1:1: green_agent.endpoint: missing; expected the URL";
        assert!(errors.starts_with(expected), "{errors}");
    }

    #[test]
    fn a_green_agent_that_is_only_an_image_is_not_the_built_in_one() {
        let errors = errors_of("[green_agent]\nimage = 'ghcr.io/x/y'\n");
        assert!(
            errors.starts_with("a.toml:1:1: green_agent: only an image"),
            "{errors}"
        );
    }
}
