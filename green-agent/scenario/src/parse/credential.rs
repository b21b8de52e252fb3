//! Reads `[[config.credential]]`: the credentials for the agents that a built-in evaluator calls.

use bridge_client::is_loopback;
use serde_json::json;

use super::roles::{AgentAddressText, DeclaredRoles, agent_address};
use crate::{
    error::Problem,
    pipeline::{AgentAddress, Credential, CredentialForm, SecretSource},
    reader::{Key, Node, Table, table},
};

table! {
    /// A credential for one agent, or for the registry: sent either by a scheme of the agent's card or in a
    /// header.
    pub(super) struct CredentialKeys<'a> as "Credential", closed,
    with(|_| json!({"oneOf": [{"required": ["scheme"]}, {"required": ["header"]}]})) {
        /// The receiver: a role, or a URL, which must be https unless it is on this machine. The secret is sent
        /// to that address only.
        later_required agent: Key<'a> as AgentAddressText,
        /// The security scheme of this name in the agent's card, which says how the secret is sent; for a
        /// registry basic, with user:password, or bearer.
        later scheme: Key<'a> as String {"pattern": r"\S"},
        /// The header that carries the secret unchanged, for agents whose cards name no schemes.
        later header: Key<'a> as String {"pattern": r"\S"},
        /// The source of the secret, which is never written in the file itself.
        later_required secret: Key<'a> as SecretKeys,
    }
}

table! {
    /// An environment variable or one of .env, or a file whose path is relative to the folder in which agents
    /// run.
    struct SecretKeys as "SecretSource", closed,
    with(|_| json!({"oneOf": [{"required": ["env"]}, {"required": ["file"]}]})) {
        /// The variable's name.
        optional env: String {"minLength": 1},
        /// The file's path.
        optional file: String {"minLength": 1},
    }
}

const SECRET: &str = "{ env = \"NAME\" } or { file = \"PATH\" }";

/// Reads one credential.
pub(super) fn credential(table: &mut Table<'_>, roles: &DeclaredRoles) -> Option<Credential> {
    let keys = CredentialKeys::of(table)?;
    let agent = keys.agent.need("the role or the URL of the agent that is shown it");
    let agent = agent.and_then(|node| agent_of(node, roles));
    let shown = credential_form(&keys);
    let secret = keys.secret.need(SECRET).and_then(secret);
    Some(Credential { agent: agent?, shown: shown?, secret: secret? })
}

/// Reads the agent. A remote URL must be https, because anyone on the way could read the secret.
fn agent_of(node: &Node<'_>, roles: &DeclaredRoles) -> Option<AgentAddress> {
    let place = agent_address(node, roles)?;
    match &place {
        AgentAddress::Url(url) if url.scheme() != "https" && !is_loopback(url) => {
            node.expected("https, because a secret would be sent in clear text")
        }
        AgentAddress::Url(_) | AgentAddress::Role(_) => Some(place),
    }
}

fn credential_form(keys: &CredentialKeys<'_>) -> Option<CredentialForm> {
    const SCHEME: &str = "a security scheme of the agent's card by its name";
    const HEADER: &str = "the name of an HTTP header";
    match (keys.scheme.node(), keys.header.node()) {
        (Some(scheme), None) => scheme.filled(SCHEME).map(CredentialForm::Scheme),
        (None, Some(header)) => header.filled(HEADER).map(CredentialForm::Header),
        (Some(_), Some(header)) => header.expected("it only without scheme"),
        (None, None) => keys.scheme.missing(&format!("{SCHEME}, or header, {HEADER}")),
    }
}

fn secret(node: &Node<'_>) -> Option<SecretSource> {
    if !node.is_table() {
        node.report(Problem::SecretInFile);
        return None;
    }
    let keys = SecretKeys::of(&mut node.table()?)?;
    match (keys.env.filter(|name| !name.is_empty()), keys.file.filter(|path| !path.is_empty())) {
        (Some(name), None) => Some(SecretSource::Env(name)),
        (None, Some(path)) => Some(SecretSource::File(path.into())),
        (Some(_), Some(_)) | (None, None) => node.expected(SECRET),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        model::{Evaluator, Green},
        tests::{errors_of, scenario_of},
    };

    const HEAD: &str = "[green_agent]\n[[participants]]\nrole = 'a'\nendpoint = 'http://h'\n\
                        [config]\nevaluator = 'pipeline'\n[[config.step]]\nid = 's'\nskill = 'x'\n";

    #[test]
    fn each_names_an_agent_a_way_and_a_place() {
        let scenario = scenario_of(&format!(
            "{HEAD}[[config.credential]]\nagent = 'a'\nscheme = 'bearer'\nsecret = {{ env = 'TOKEN' }}\n\
             [[config.credential]]\nagent = 'https://h:1/a2a'\nheader = 'X-Key'\nsecret = {{ file = 'a.key' }}\n"
        ));
        let Green::Builtin(Evaluator::Pipeline(pipeline)) = scenario.green else {
            panic!("the evaluator is a pipeline");
        };
        let expected = [
            Credential {
                agent: AgentAddress::Role("a".to_owned()),
                shown: CredentialForm::Scheme("bearer".to_owned()),
                secret: SecretSource::Env("TOKEN".to_owned()),
            },
            Credential {
                agent: AgentAddress::Url("https://h:1/a2a".parse().unwrap()),
                shown: CredentialForm::Header("X-Key".to_owned()),
                secret: SecretSource::File("a.key".into()),
            },
        ];
        assert_eq!(pipeline.credentials, expected);
    }

    #[test]
    fn mistakes_are_reported_at_their_key() {
        for (credential, expected) in [
            ("", "10:1: config.credential[0].agent: missing; expected the role or the URL"),
            ("agent = 'b'", "11:9: config.credential[0].agent: no agent has the role \"b\""),
            ("agent = 'http://h'", "11:9: config.credential[0].agent: expected https"),
            (
                "agent = 'a'\nscheme = ' '",
                "12:10: config.credential[0].scheme: expected a security",
            ),
            (
                "agent = 'a'\nscheme = 's'\nheader = 'h'",
                "13:10: config.credential[0].header: expected it only",
            ),
            (
                "agent = 'a'\nscheme = 's'\nsecret = 'hunter2'",
                "13:10: config.credential[0].secret: a secret found in the file; expected { env",
            ),
            (
                "agent = 'a'\nscheme = 's'\nsecret = {}",
                "13:10: config.credential[0].secret: expected { env",
            ),
            (
                "agent = 'a'\nscheme = 's'\nsecret = { env = 'A', file = 'b' }",
                "13:10: config.credential[0].secret: expected { env",
            ),
        ] {
            let errors = errors_of(&format!("{HEAD}[[config.credential]]\n{credential}\n"));
            let first = errors.lines().find(|line| line.contains(expected));
            assert!(first.is_some(), "{expected}: {errors}");
            assert!(!errors.contains("hunter2"), "{errors}");
        }
    }
}
