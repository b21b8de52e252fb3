//! Reads a participant with one of the purple agent's built-in policies: `policy`, `settings` and `allow`.

use std::time::Duration;

use mcp_tools::{allow_list::AllowList, client};
use purple_agent::{
    agent::Limits,
    policy::{BUILTINS, SettingsError, builtin, builtin_name},
};
use serde_json::{Map, Value};

use super::{agents::AgentKeys, values::Positive};
use crate::{
    duration::Limit,
    error::Problem,
    model::Policy,
    placeholder,
    reader::{Node, table},
};

table! {
    /// The limits of a conversation with a policy.
    pub(crate) struct PolicyLimits as "PolicyLimits", closed {
        /// The most steps; a step may call several tools.
        default steps: u32 as Positive = 100,
        /// The longest time of work; waiting for messages does not count.
        default time: Duration as Limit = "10m",
        /// The longest time of a call of an MCP server's tool.
        default call: Duration as Limit = "1m",
    }
}

/// Reads the policy that `chosen` names, with its settings from the participant's table.
pub(super) fn policy(keys: &AgentKeys<'_>, chosen: &Node<'_>) -> Option<Policy> {
    let names = BUILTINS.map(|(name, _)| name);
    let expected = format!("a built-in policy: {}", names.join(", "));
    let name = chosen.read(&expected, |name| builtin_name(name).map(str::to_owned));
    let tools = keys.tools.read::<String>();
    let name = name?;
    let limits = match keys.limits.node() {
        Some(_) => keys.limits.read::<PolicyLimits>()?,
        None => PolicyLimits {
            steps: Limits::default().steps,
            time: Limits::default().time,
            call: client::Limits::default().call,
        },
    };
    Some(Policy {
        settings: read_settings(&name, chosen, keys.settings.node())?,
        allow: (keys.allow.node()).map_or(Some(AllowList::default()), allowed)?,
        tools,
        name,
        limits: Limits { steps: limits.steps, time: limits.time, ..Limits::default() },
        call: limits.call,
    })
}

/// Reads the settings with the policy's own reader, whose error is reported to the file's author.
fn read_settings(
    name: &str,
    chosen: &Node<'_>,
    node: Option<&Node<'_>>,
) -> Option<Map<String, Value>> {
    let settings = match node {
        Some(node) => node.table()?.json(),
        None => Map::new(),
    };
    let looked_at = placeholder::with_any_address(&settings);
    match builtin(name, &Value::Object(looked_at)) {
        // A model's missing API key is a problem of this machine, not of the file.
        Ok(_) | Err(SettingsError::NoKey(_)) => Some(settings),
        Err(error) => {
            let reason = Problem::PolicySettings(error.to_string());
            node.unwrap_or(chosen).report(reason);
            None
        }
    }
}

fn allowed(node: &Node<'_>) -> Option<AllowList> {
    let settings = Value::Object(node.table()?.json());
    match serde_json::from_value(settings) {
        Ok(allowed) => Some(allowed),
        Err(error) => node.malformed("loopback, hosts and commands", &error.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use crate::{
        model::Start,
        tests::{errors_of, scenario_of},
    };

    const HEAD: &str = "[green_agent]\nendpoint = 'http://h'\n[[participants]]\nrole = 'a'\n";

    #[test]
    fn a_policy_is_read_with_its_settings() {
        let scenario = scenario_of(&format!(
            "{HEAD}policy = 'heuristic'\nallow = {{ commands = ['mcp-tools'] }}\n"
        ));
        let Start::Policy(policy) = &scenario.participants[0].start else {
            panic!("the participant is a policy");
        };
        assert_eq!(policy.name, "sum-and-shop", "which is what it is called now");
        assert!(policy.allow.loopback && policy.allow.commands.contains("mcp-tools"));
    }

    #[test]
    fn a_policy_has_limits() {
        for (text, steps, seconds, call) in [
            ("", 100, 600, 60),
            ("limits = { steps = 300 }\n", 300, 600, 60),
            ("limits = { time = '1h', call = '20m' }\n", 100, 3600, 1200),
        ] {
            let scenario = scenario_of(&format!("{HEAD}policy = 'lies'\n{text}"));
            let Start::Policy(policy) = &scenario.participants[0].start else {
                panic!("the participant is a policy");
            };
            let limits = policy.limits;
            assert_eq!((limits.steps, limits.time.as_secs()), (steps, seconds));
            assert_eq!(policy.call.as_secs(), call);
        }
    }

    #[test]
    fn mistakes_of_a_policy_are_reported_at_their_key() {
        for (keys, expected) in [
            (
                "policy = 'x'",
                "a.toml:5:10: participants[0].policy: expected a built-in policy: sum-and-shop, ",
            ),
            (
                "policy = 'heuristic'\nendpoint = 'http://h'",
                "a.toml:6:12: participants[0].endpoint: expected it without policy",
            ),
            (
                "policy = 'heuristic'\nsettings = { zz = 1 }",
                "a.toml:6:12: participants[0].settings: settings of policy \"sum-and-shop\": zz: ",
            ),
            (
                "policy = 'heuristic'\nallow = { commands = 'x' }",
                "a.toml:6:9: participants[0].allow: expected loopback, hosts and commands",
            ),
            (
                "endpoint = 'http://h'\nsettings = { zz = 1 }",
                "a.toml:6:12: participants[0].settings: expected it only beside policy",
            ),
        ] {
            let errors = errors_of(&format!("{HEAD}{keys}\n"));
            assert!(errors.starts_with(expected), "{errors}");
            assert_eq!(errors.lines().count(), 1, "{errors}");
        }
    }
}
