//! Derives settings, or the cause of a problem, from a bot's answers.

use bridge_protocol::activity::DeliveryMode;
use url::Url;

use super::{
    BotUnreachable,
    probe::{Outcome, Probe, ProbeAnswer},
};
use crate::config::TurnPreset;

/// Returns the recommended settings, as TOML.
pub(super) fn advice(url: &Url, probes: &[Probe]) -> Result<String, String> {
    if let Some(status) = probes.iter().find_map(|probe| denied(&probe.outcome)) {
        return Ok(wants_token(url, status));
    }
    let Some(first) = recommended(probes) else {
        return Err(trouble(probes));
    };
    let delivery = match first.mode {
        DeliveryMode::Normal => String::new(),
        _ => format!("delivery = \"{}\"\n", delivery(first)),
    };
    let streams = probes.iter().any(|probe| is_stream(&probe.outcome));
    let hint = match streams {
        true => "# delivery = \"stream\" works too, and streams the answer\n",
        false => "",
    };
    let hint = if replies(probes) { format!("# {REPLIES}\n{hint}") } else { hint.to_owned() };
    let channel = channel(first, probes).map(|line| format!("{line}\n"));
    let channel = channel.unwrap_or_default();
    Ok(format!(
        "the bot requires no token; add this to bridge.toml:\n\n{}{delivery}{channel}{hint}",
        agent(url)
    ))
}

/// Returns the advice for a bot that requires a token and gets none.
pub(super) fn wants_token(url: &Url, status: u16) -> String {
    format!("the bot requires a token ({status}):\n\n{}{ACCESS}", agent(url))
}

/// Returns the recommended delivery mode: the first in which the bot answers.
pub(super) fn recommended(probes: &[Probe]) -> Option<&Probe> {
    probes.iter().find(|probe| speaks(&probe.outcome))
}

/// Returns the setting for a delivery mode. A bot that only speaks in its HTTP answers is always asked for replies
/// there.
pub(super) fn delivery(way: &Probe) -> &str {
    match &way.mode {
        DeliveryMode::ExpectReplies => "expectRepliesAlways",
        other => other.as_str(),
    }
}

/// Returns whether callers that do not stream can be answered in one request: the bot speaks in both modes, and its
/// HTTP answer is complete.
pub(super) fn replies(probes: &[Probe]) -> bool {
    let speaks_so = |mode: DeliveryMode, is_all: fn(&ProbeAnswer) -> bool| {
        let mut probes = probes.iter().filter(|probe| probe.mode == mode);
        probes.any(|probe| probe.outcome.accepted().is_some_and(is_all))
    };
    speaks_so(DeliveryMode::Normal, |taken| !taken.called.is_empty())
        && speaks_so(DeliveryMode::ExpectReplies, |taken| {
            !taken.answered.is_empty() && taken.called.is_empty()
        })
}

/// The advice for such a bot.
pub(super) const REPLIES: &str = "delivery = \"expectReplies\" works too, and is faster for callers that do not \
    stream; do not use it for bots that change earlier messages";

/// Returns the channel that the bot needs to answer at all, or to stream.
pub(super) fn channel(first: &Probe, probes: &[Probe]) -> Option<String> {
    let other = probes.iter().find(|one| one.is_other)?;
    let streams = |probe: &Probe| probe.outcome.accepted().is_some_and(|taken| taken.pieces > 0);
    let usual = probes.iter().find(|one| !one.is_other && streams(one));
    let why = match (first.is_other, usual) {
        (true, _) => "the bot answers on this channel only",
        (false, None) if streams(other) => "the bot streams on this channel only",
        (false, _) => return None,
    };
    Some(format!("channel_id = \"{}\"  # {why}", other.channel))
}

/// Returns the advice for clients of a bot that asks its users to sign in, if this one does.
pub(super) fn sign_in(probes: &[Probe]) -> Option<&'static str> {
    let asks = |probe: &Probe| probe.outcome.accepted().is_some_and(|taken| taken.signs_in);
    probes.iter().any(asks).then_some(SIGN_IN)
}

const SIGN_IN: &str = "\
the bot asks its users to sign in, so that the task is TASK_STATE_AUTH_REQUIRED. In the same task a client sends back the
code that the user was shown, as text, or a token, as a data part {\"id\", \"connectionName\", \"token\"} with the metadata
{\"urn:activity:invoke\": {\"name\": \"signin/tokenExchange\"}}; see \"Signing in\" in docs/bridge/clients.md";

const ACCESS: &str = "\
# no credential, if only the bridge can reach the bot: \"Bots without credentials\" in docs/bridge/agents.md has the setting of
# each SDK, such as DANGEROUSLY_ALLOW_UNAUTHENTICATED_REQUESTS=true in the environment of a bot on the Teams SDK
# otherwise the credential that the bridge sends to the bot, one of:
[agents.auth.issuer]                 # for bots that are told to trust the bridge's own issuer
app_id = \"APP_ID\"
# [agents.auth.client_secret]        # for bots that require a token of Entra
# app_id = \"APP_ID\"
# client_id = \"CLIENT_ID\"
# tenant = \"TENANT\"
# secret = { env = \"BOT_SECRET\" }
";

fn agent(url: &Url) -> String {
    let turns = TurnPreset::explained();
    format!("[[agents]]\nname = \"bot\"\nbot = \"{url}\"\n{turns}")
}

/// Returns the HTTP status by which a bot denied access.
pub(super) fn denied(outcome: &Outcome) -> Option<u16> {
    match outcome {
        Outcome::Refused(status @ (401 | 403), _) => Some(*status),
        Outcome::Refused(..) | Outcome::Unreachable(_) | Outcome::Accepted(_) => None,
    }
}

/// Returns whether a bot sent any text.
pub(super) fn speaks(outcome: &Outcome) -> bool {
    let has_text = |taken: &ProbeAnswer| !taken.answered.is_empty() || !taken.called.is_empty();
    outcome.accepted().is_some_and(has_text)
}

fn is_stream(outcome: &Outcome) -> bool {
    outcome.accepted().is_some_and(|taken| taken.streamed && !taken.answered.is_empty())
}

/// Returns the reason why a bot does not answer.
pub(super) fn trouble(probes: &[Probe]) -> String {
    let is_taken = |probe: &Probe| probe.outcome.accepted().is_some();
    let refused = probes.iter().find_map(|probe| match &probe.outcome {
        Outcome::Refused(status, _) => Some(*status),
        Outcome::Unreachable(_) | Outcome::Accepted(_) => None,
    });
    match refused {
        _ if probes.iter().any(is_taken) => {
            "the bot accepts messages but sends no answer: it cannot reach the address to call back \
             (--listen, --callback-url), or does not answer this text (--say)"
                .to_owned()
        }
        Some(404 | 405) => {
            "there is no bot at this address: expected the path where it accepts activities, often \
             /api/messages"
                .to_owned()
        }
        Some(status @ 300..=399) => {
            format!(
                "the address redirects with {status}, which is not followed: use the address that answers; a page for signing \
                 in shows that a proxy in front of the bot requires a credential"
            )
        }
        Some(status) => format!("the bot fails with {status}: its own log says why"),
        None => BotUnreachable.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn taken(answered: &[&str], streamed: bool, called: &[&str]) -> Outcome {
        let texts = |all: &[&str]| all.iter().copied().map(String::from).collect();
        Outcome::Accepted(ProbeAnswer {
            status: 200,
            took: Duration::ZERO,
            answered: texts(answered),
            streamed,
            called: texts(called),
            pieces: 0,
            refused: None,
            signs_in: false,
        })
    }

    #[test]
    fn a_bot_that_streams_on_one_channel_only_is_put_on_it() {
        let url = Url::parse("http://h/api/messages").unwrap();
        let probe = |channel: &str, pieces| Probe {
            mode: DeliveryMode::Normal,
            channel: channel.to_owned(),
            is_other: channel != "webchat",
            outcome: match taken(&[], false, &["a"]) {
                Outcome::Accepted(taken) => Outcome::Accepted(ProbeAnswer { pieces, ..taken }),
                other => other,
            },
        };
        for (usual, other, is_put) in [(0, 3, true), (0, 0, false), (3, 3, false)] {
            let probes = [probe("webchat", usual), probe("a2a", other)];
            let told = advice(&url, &probes).unwrap();
            assert_eq!(told.contains("\nchannel_id = \"a2a\"  #"), is_put, "{told}");
        }
    }

    fn advise(outcomes: [Outcome; 3]) -> Result<String, String> {
        let modes = [DeliveryMode::Normal, DeliveryMode::ExpectReplies, DeliveryMode::Stream];
        let probes = modes.into_iter().zip(outcomes);
        let probes: Vec<_> = probes
            .map(|(mode, outcome)| Probe {
                mode,
                channel: "webchat".to_owned(),
                is_other: false,
                outcome,
            })
            .collect();
        advice(&Url::parse("http://h/api/messages").unwrap(), &probes)
    }

    #[test]
    fn settings_follow_from_answers() {
        let refused = |status: u16| Outcome::Refused(status, String::new());
        let plain =
            advise([taken(&[], false, &["a"]), taken(&["a"], false, &[]), refused(500)]).unwrap();
        let agent = "[[agents]]\nname = \"bot\"\nbot = \"http://h/api/messages\"\n";
        assert!(plain.contains(agent), "{plain}");
        assert!(plain.contains("# turns = \"late\" "), "{plain}");
        let deaf =
            advise([taken(&[], false, &[]), taken(&["a"], false, &[]), refused(500)]).unwrap();
        assert!(deaf.ends_with("\ndelivery = \"expectRepliesAlways\"\n"), "{deaf}");
        let suggests = |told: &str| told.contains("\n# delivery = \"expectReplies\" works too");
        assert!(suggests(&plain) && !suggests(&deaf));
        let streams =
            advise([taken(&[], false, &["a"]), refused(500), taken(&["a"], true, &[])]).unwrap();
        assert!(streams.contains("# delivery = \"stream\""), "{streams}");
        assert!(!suggests(&streams), "{streams}");
        let shut = advise([refused(401), refused(401), refused(401)]).unwrap();
        assert!(shut.contains("agents.auth.issuer"), "{shut}");
        assert!(shut.contains("DANGEROUSLY_ALLOW_UNAUTHENTICATED_REQUESTS=true"), "{shut}");
        for (outcome, expected) in [
            (refused as fn(u16) -> Outcome, "often /api/messages"),
            (|_| Outcome::Refused(308, String::new()), "redirects with 308"),
            (|_| taken(&[], false, &[]), "sends no answer"),
            (|_| Outcome::Unreachable("refused".into()), "cannot be reached"),
        ] {
            let error = advise([outcome(404), outcome(404), outcome(404)]).unwrap_err();
            assert!(error.contains(expected), "{error}");
        }
    }
}
