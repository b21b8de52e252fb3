//! The addresses of other agents that commands ask for.

use super::cast::Cast;
use crate::scenario::{
    placeholder::roles_in,
    reader::{Node, Table},
};

/// Checks every participant's `cmd`, which may name those that stand below it in the file.
pub(super) fn check_all(root: &mut Table<'_>, cast: &Cast) {
    let list = root.get("participants");
    let nodes = list.filter(Node::is_list).and_then(|list| list.list());
    for node in nodes.iter().flatten().filter(|node| node.is_table()) {
        if let Some(mut table) = node.table() {
            check(&mut table, cast);
        }
    }
}

/// Checks the roles in a table's `cmd`: each is a participant's, and of one that listens.
pub(super) fn check(table: &mut Table<'_>, cast: &Cast) {
    let Some(node) = table.get("cmd") else {
        return;
    };
    for role in node.as_text().map(roles_in).into_iter().flatten() {
        cast.check(role, &[], &node);
        let agent = cast.agents.iter().find(|agent| agent.role == role);
        if agent.is_some_and(|agent| agent.start.is_client()) {
            node.expected::<()>(format!("somebody who listens in the place of {role:?}"));
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::scenario::tests::{errors_of, scenario_of};

    const GREEN: &str = "[green_agent]\nendpoint = 'http://h'\n";

    #[test]
    fn a_command_may_name_who_stands_below_it() {
        scenario_of(&format!(
            "{GREEN}[[participants]]\nrole = 'a'\nendpoint = 'http://h'\ncmd = 'x {{agent:b}} {{agent:a}}'\n\
             [[participants]]\nrole = 'b'\nendpoint = 'http://h'\n"
        ));
    }

    #[test]
    fn whose_address_is_asked_for_must_be_there() {
        for (cmd, expected) in [
            (
                "x {agent:b}",
                "a.toml:6:7: participants[0].cmd: nobody has the role \"b\"; expected one of: a",
            ),
            (
                "x {agent:a} {green}",
                "a.toml:5:12: participants[0].endpoint: expected it without {green}",
            ),
        ] {
            let participant = format!("role = 'a'\nendpoint = 'http://h'\ncmd = '{cmd}'\n");
            let errors = errors_of(&format!("{GREEN}[[participants]]\n{participant}"));
            assert!(errors.starts_with(expected), "{errors}");
            assert_eq!(errors.lines().count(), 1, "{errors}");
        }
    }
}
