//! `{agent:ROLE}` in a command: the address of the participant in that role, as the one whose command it is
//! reaches it. An agent's own role stands for the address at which the evaluator reaches it, which an agent that
//! makes itself known tells others. All of them are the recorder's.

/// What stands before the role.
const OPEN: &str = "{agent:";

/// The roles whose addresses a text asks for, in the order in which they stand there.
pub fn roles_in(text: &str) -> impl Iterator<Item = &str> {
    let pieces = text.split(OPEN).skip(1);
    pieces.filter_map(|piece| Some(piece.split_once('}')?.0))
}

/// Puts what `address` knows in the place of roles; a role that it does not know stays as it is.
pub fn fill_in(text: &str, address: impl Fn(&str) -> Option<String>) -> String {
    roles_in(text).fold(text.to_owned(), |filled, role| match address(role) {
        Some(address) => filled.replace(&format!("{OPEN}{role}}}"), &address),
        None => filled,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn roles_are_found_and_replaced() {
        let text = "--a {agent:plan} --b={agent:code review}/v2/ {agent:} {agent:open";
        assert_eq!(
            roles_in(text).collect::<Vec<_>>(),
            ["plan", "code review", ""]
        );
        let filled = fill_in(text, |role| (!role.is_empty()).then(|| role.to_uppercase()));
        assert_eq!(filled, "--a PLAN --b=CODE REVIEW/v2/ {agent:} {agent:open");
    }
}
