//! Keeps the secrets of `--agent` out of the folders of runs, which people share.

use crate::{participant::env_vars::secrets_of_command, recorder::Masker};

/// Returns the values of `--agent` (`ROLE=CMD` or `ROLE=URL`) as a run's folder has them: with secrets masked.
pub fn masked_agents(agents: &[String]) -> Vec<String> {
    agents.iter().map(|agent| masked(agent).unwrap_or_else(|| agent.clone())).collect()
}

/// Returns nothing if the value is invalid.
fn masked(agent: &str) -> Option<String> {
    let (role, start) = agent.split_once('=')?;
    let words = shlex::split(start)?;
    let masker = Masker::new(secrets_of_command(&words).into_iter().collect());
    let words: Vec<String> = words.iter().map(|word| masker.mask_text(word)).collect();
    let text = masker.mask_text(start);
    // In the text, a secret may have quotation marks within it.
    let start = match shlex::split(&text) == Some(words.clone()) {
        true => text,
        false => shlex::try_join(words.iter().map(String::as_str)).ok()?,
    };
    Some(format!("{role}={start}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_secrets_are_masked() {
        for (agent, expected) in [
            ("a=python a.py --password 'hunter 2' -v", "a=python a.py --password '[masked]' -v"),
            ("a=python a.py --password hunt'er2'", "a=python a.py --password '[masked]'"),
            ("token=python a.py  --port {port}", "token=python a.py  --port {port}"),
            ("a=http://h/mcp?token=hunter2", "a=http://h/mcp?token=[masked]"),
            ("a='", "a='"),
        ] {
            assert_eq!(masked_agents(&[agent.to_owned()]), [expected]);
        }
    }
}
