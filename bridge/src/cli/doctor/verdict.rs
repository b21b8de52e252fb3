//! Judges existing settings by a bot's answers.

use bridge_protocol::activity::DeliveryMode;
use url::Url;

use super::{
    advice::{self, denied, recommended, speaks, trouble},
    examined_bot::TriedSettings,
    probe::{Outcome, Probe},
};
use crate::{
    cli::serve::awaited,
    config::{AgentConfig, DeliveryMode as Configured},
};

/// Confirms the settings, or describes the necessary changes.
pub(super) fn verdict(
    url: &Url,
    tried: &TriedSettings,
    probes: &[Probe],
) -> Result<String, String> {
    let name = &tried.agent.name.text;
    if let Some(status) = probes.iter().find_map(|probe| denied(&probe.outcome)) {
        return Err(match &tried.proof {
            Some(proof) => format!("the bot refuses {} ({status}): {}", proof.what, proof.next),
            None => advice::wants_token(url, status),
        });
    }
    let Some(first) = recommended(probes) else {
        return Err(trouble(probes));
    };
    let mut accepted = probes.iter().filter_map(|probe| probe.outcome.accepted());
    if let Some(why) = accepted.find_map(|taken| taken.refused.as_ref()) {
        return Err(format!(
            "the bridge would refuse the bot's calls: {why}\ncompare agents.accept with the bot's tokens: \
             their issuer, audience and claims"
        ));
    }
    let mut changes = Vec::new();
    changes.extend(delivery(&tried.agent, first, probes));
    changes.extend(advice::channel(first, probes));
    let text = match changes.is_empty() {
        true => format!("the settings of {name} are right"),
        false => format!("change the settings of {name}:\n\n{}", changes.join("\n")),
    };
    let is_unsaid = matches!(tried.agent.delivery, None | Some(Configured::Auto));
    let text = match is_unsaid && changes.is_empty() && advice::replies(probes) {
        true => format!("{text}\n\n{}", advice::REPLIES),
        false => text,
    };
    Ok(match awaited(&tried.agent) {
        Some(awaited) => format!("{text}\n\n{}: {}", awaited.key, awaited.message),
        None => text,
    })
}

/// Returns the configured delivery mode, if the bot does not answer in it.
fn delivery(agent: &AgentConfig, first: &Probe, probes: &[Probe]) -> Option<String> {
    let asked = match agent.delivery {
        None | Some(Configured::Auto) if !fails(probes) => return None,
        None | Some(Configured::Auto | Configured::Normal) => DeliveryMode::Normal,
        // Callers that stream receive the bot's calls instead.
        Some(Configured::ExpectReplies) if !speaks_in(&DeliveryMode::Normal, probes) => {
            DeliveryMode::Normal
        }
        Some(Configured::ExpectReplies | Configured::ExpectRepliesAlways) => {
            DeliveryMode::ExpectReplies
        }
        Some(Configured::Stream) => DeliveryMode::Stream,
    };
    (!speaks_in(&asked, probes)).then(|| {
        format!(
            "delivery = \"{}\"  # it does not answer with {}",
            advice::delivery(first),
            asked.as_str()
        )
    })
}

/// Returns whether the bot answers in this delivery mode.
fn speaks_in(mode: &DeliveryMode, probes: &[Probe]) -> bool {
    let mut with_it = probes.iter().filter(|probe| probe.mode == *mode);
    with_it.any(|probe| speaks(&probe.outcome))
}

/// Returns whether the bot fails in the default delivery mode.
fn fails(probes: &[Probe]) -> bool {
    let mut normal = probes.iter().filter(|probe| probe.mode == DeliveryMode::Normal);
    normal.any(|probe| matches!(probe.outcome, Outcome::Refused(..)))
}

#[cfg(test)]
mod tests {
    use std::{path::Path, time::Duration};

    use super::*;
    use crate::{
        cli::doctor::{examined_bot::CredentialSource, probe::ProbeAnswer},
        config,
    };

    fn tried(settings: &str, proof: Option<&str>) -> TriedSettings {
        let text = format!("[[agents]]\nname = 'a'\nbot = 'http://h/api/messages'\n{settings}");
        let config = config::parse(Path::new("a.toml"), &text, &[]).unwrap();
        let proof = proof.map(|next| CredentialSource {
            what: "a token".to_owned(),
            source: String::new(),
            next: next.to_owned(),
        });
        TriedSettings { agent: config.agents[0].clone(), proof }
    }

    fn taken(called: &[&str], refused: Option<&str>) -> Outcome {
        Outcome::Accepted(ProbeAnswer {
            status: 200,
            took: Duration::ZERO,
            answered: Vec::new(),
            streamed: false,
            called: called.iter().copied().map(String::from).collect(),
            pieces: 0,
            refused: refused.map(str::to_owned),
            signs_in: false,
        })
    }

    fn verdict_text(tried: &TriedSettings, normal: Outcome, replies: Outcome) -> String {
        let probe =
            |mode, outcome| Probe { mode, channel: "webchat".to_owned(), is_other: false, outcome };
        let probes =
            [probe(DeliveryMode::Normal, normal), probe(DeliveryMode::ExpectReplies, replies)];
        let url = "http://h/api/messages".parse().unwrap();
        verdict(&url, tried, &probes).unwrap_or_else(|error| error)
    }

    #[test]
    fn settings_are_held_against_what_the_bot_does() {
        let hello = || taken(&["hello"], None);
        let answered = || match taken(&[], None) {
            Outcome::Accepted(taken) => {
                Outcome::Accepted(ProbeAnswer { answered: vec!["hello".to_owned()], ..taken })
            }
            other => other,
        };
        let denied = || Outcome::Refused(401, String::new());
        for (tried, normal, replies, expected) in [
            (tried("", None), hello(), hello(), "the settings of a are right"),
            (
                tried("silent_end = 'working'\n", None),
                hello(),
                hello(),
                "a client that waits for the answer gets it at the turn's time limit",
            ),
            (
                tried("turns = 'dotnet'\n", None),
                hello(),
                hello(),
                "turns: tasks stay in the state working when the bot has answered without ending the conversation",
            ),
            (
                tried("turns = 'late'\nending.quiet = '3s'\n", None),
                hello(),
                hello(),
                "turns: a client that waits for the answer gets it when the bot has ended the conversation, or was \
                 quiet for 3s",
            ),
            (
                tried("delivery = 'auto'\n", None),
                taken(&[], None),
                hello(),
                "the settings of a are right",
            ),
            (
                tried("delivery = 'normal'\n", None),
                taken(&[], None),
                hello(),
                "delivery = \"expectRepliesAlways\"  # it does not answer with normal",
            ),
            (
                tried("delivery = 'expectReplies'\n", None),
                hello(),
                answered(),
                "the settings of a are right",
            ),
            (
                tried("delivery = 'expectReplies'\n", None),
                taken(&[], None),
                answered(),
                "delivery = \"expectRepliesAlways\"  # it does not answer with normal",
            ),
            (
                tried("delivery = 'expectReplies'\n", None),
                hello(),
                Outcome::Refused(500, String::new()),
                "delivery = \"normal\"  # it does not answer with expectReplies",
            ),
            (
                tried("", None),
                hello(),
                answered(),
                "the settings of a are right\n\ndelivery = \"expectReplies\" works too",
            ),
            (
                tried("", Some("look at app_id")),
                denied(),
                denied(),
                "the bot refuses a token (401): look at app_id",
            ),
            (
                tried("", None),
                Outcome::Refused(500, String::new()),
                hello(),
                "delivery = \"expectRepliesAlways\"  # it does not answer with normal",
            ),
            (tried("", None), denied(), denied(), "[agents.auth.issuer]"),
            (
                tried("", None),
                taken(&["hello"], Some("no token")),
                hello(),
                "the bridge would refuse the bot's calls: no token",
            ),
            (tried("", None), taken(&[], None), taken(&[], None), "sends no answer"),
        ] {
            let told = verdict_text(&tried, normal, replies);
            assert!(told.contains(expected), "{told}");
        }
    }
}
