//! Reads the first generation of AgentBeats' files: `[[agents]]`, each with the address of its launcher and
//! its own.
//!
//! A launcher of that time started the agents, so these files do not specify their commands; the command line must.

use std::{collections::BTreeMap, path::Path};

use serde_json::Map;

use super::{FileKeys, check_reuse, harness, name, roles::DeclaredRoles};
use crate::{
    model::{Agent, Green, Scenario, Start},
    reader::{Node, Table},
};

/// An agent of such a file.
struct Listed {
    name: String,
    is_green: bool,
    /// The roles of its participants, by the names of their agents.
    roles: BTreeMap<String, String>,
}

/// The tables that a file of some generation must have.
pub(super) const EXPECTED: &str = "AgentBeats' [green_agent] and [[participants]], its first generation's [[agents]], or \
     [evaluator] and [agent_under_test]; `green-agent new FILE` writes a file to begin with";

/// Reads the file. The green agent is the one with `is_green`; otherwise the only one that names the
/// participants it needs; otherwise the only one whose card is in a folder or file with its name.
pub(super) fn scenario(path: &Path, root: &mut Table<'_>, keys: &FileKeys<'_>) -> Option<Scenario> {
    let agents = root.key("agents");
    if agents.node().is_some_and(Node::is_table) {
        return keys.green_agent.missing(EXPECTED);
    }
    let mut cards = Vec::new();
    let listed = agents.tables(|table| {
        cards.push(table.key("card").read::<String>().unwrap_or_default());
        listed(table)
    });
    let Some(green) = green(&listed, &cards) else {
        return agents.missing(
            "is_green = true at the one of [[agents]] that evaluates the others; a file that only launches agents \
             evaluates nothing",
        );
    };
    let others = listed.iter().enumerate().filter(|(at, _)| *at != green);
    let participants = others.map(|(_, agent)| {
        let role = listed[green].roles.get(&agent.name);
        absent(role.unwrap_or(&agent.name))
    });
    let participants: Vec<Agent> = participants.collect();
    let roles = participants.iter().map(|agent| (agent.role.clone(), 1)).collect();
    let roles = DeclaredRoles { roles, ..DeclaredRoles::default() };
    let scenario = Scenario {
        path: path.to_owned(),
        name: name(path),
        participants,
        green: Green::Agent(absent("green")),
        config: Map::new(),
        harness: harness::harness(&keys.harness, &roles)?,
    };
    check_reuse(keys, &scenario);
    Some(scenario)
}

fn listed(table: &mut Table<'_>) -> Option<Listed> {
    let is_green = table.key("is_green").read::<bool>();
    let needed = table.key("participant_requirements").tables(|table| {
        let role = table.key("role").read::<String>()?;
        let agent = table.key("participant_agent").read::<String>();
        Some((agent.or(table.key("name").read::<String>())?, role))
    });
    Some(Listed {
        name: table.key("name").need("the name of this agent")?.text()?.to_owned(),
        is_green: is_green.unwrap_or_default(),
        roles: needed.into_iter().collect(),
    })
}

fn green(listed: &[Listed], cards: &[String]) -> Option<usize> {
    let only = |is: &dyn Fn(usize) -> bool| {
        let mut found = (0..listed.len()).filter(|at| is(*at));
        found.next().filter(|_| found.next().is_none())
    };
    only(&|at| listed[at].is_green)
        .or_else(|| only(&|at| !listed[at].roles.is_empty()))
        .or_else(|| only(&|at| cards.get(at).is_some_and(|card| card.contains("green"))))
}

/// Returns an agent whose start the file does not specify. Slashes and arrows in its role are replaced, because they
/// have a meaning in file names and hops.
fn absent(role: &str) -> Agent {
    let role = role.trim().replace(['/', '\\'], "-").replace("->", "-");
    Agent::new(role, Start::Absent { image: None, entrypoint: Vec::new(), is_built: false })
}

#[cfg(test)]
mod tests {
    use crate::{
        model::{Green, Start},
        tests::{errors_of, scenario_of},
    };

    #[test]
    fn agents_are_read_with_the_roles_that_the_green_one_gives_them() {
        let scenario = scenario_of(
            "[scenario]\nname = 's'\n[[agents]]\nname = 'Judge'\nis_green = true\nagent_port = 1\n\
             [[agents.participant_requirements]]\nrole = 'red'\nparticipant_agent = 'R 1'\n\
             [[agents]]\nname = 'R 1'\n[[agents]]\nname = 'a/b'\n",
        );
        let roles: Vec<_> = scenario.participants.iter().map(|one| &one.role).collect();
        assert_eq!(roles, ["red", "a-b"]);
        let Green::Agent(green) = scenario.green else {
            panic!("an agent evaluates");
        };
        assert!(matches!(green.start, Start::Absent { image: None, .. }));
    }

    #[test]
    fn a_file_of_no_known_generation_is_refused_with_the_known_ones() {
        for text in ["[agents.green]\nport = 8000\n", "[simulation]\niterations = 10\n"] {
            let errors = errors_of(text);
            let expected =
                "green_agent: missing; expected AgentBeats' [green_agent] and [[participants]]";
            assert!(errors.contains(expected), "{errors}");
            assert_eq!(errors.lines().count(), 1, "{errors}");
        }
    }

    #[test]
    fn the_green_agent_is_found_by_its_card_or_missed() {
        let two = "[[agents]]\nname = 'a'\ncard = 'agents/green_agent/card.toml'\n[[agents]]\nname = 'b'\n";
        assert_eq!(scenario_of(two).participants[0].role, "b");
        let errors = errors_of("[[agents]]\nname = 'a'\n[[agents]]\nname = 'b'\n");
        assert!(errors.contains("expected is_green = true at the one of [[agents]]"), "{errors}");
    }

    #[test]
    fn expectations_name_the_roles_of_its_agents() {
        let scenario = scenario_of(
            "[[agents]]\nname = 'Judge'\nis_green = true\n[[agents]]\nname = 'red'\n\
             [harness]\nversion = 1\nexpect = [{ on = 'task:red', exists = true }]\n",
        );
        assert_eq!(scenario.harness.expect.len(), 1);
    }
}
