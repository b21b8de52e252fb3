//! `purple-agent run`: requests an evaluation, works on it, and prints the result.

use std::{sync::Arc, time::Duration};

use bridge_client::web_url;
use bridge_program::{Exit, OrExit as _, errln, outln, stop_signal, terminal};
use clap::Args;
use serde_json::{Value, json};
use url::Url;

use super::agent::AgentFlags;
use crate::{
    agent::{Listener, Outcome, PurpleAgent, StopReason},
    run::{self, Report, RequestSettings, RunSettings, Verdict},
};

const EXAMPLES: &str = "\
Examples:
  purple-agent run --green http://127.0.0.1:9009 --policy sum-and-shop
  purple-agent run --green http://127.0.0.1:9009 \\
    --set provider=anthropic --set model=claude-sonnet-4-5
  purple-agent run --green http://127.0.0.1:9009 --json > report.json

The policy llm reads its key from OPENAI_API_KEY, ANTHROPIC_API_KEY, or GOOGLE_API_KEY or GEMINI_API_KEY, as the provider \
says, and its base URL from --set base_url=URL or the variable of the provider's own clients, such as OPENAI_BASE_URL.";

/// Request an evaluation from a Green agent, work on it, and print the result
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Run {
    /// The URL of the Green agent, below which its agent card is served
    #[arg(long, value_name = "URL", value_parser = web_address)]
    green: Url,
    /// The text of the request
    #[arg(long, value_name = "TEXT", default_value_t = RequestSettings::default().text)]
    request: String,
    /// The time limit for each expected message, in seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 60, value_parser = clap::value_parser!(u64).range(1..=86_400))]
    wait: u64,
    /// The time limit for the result after the work has ended, in seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 60, value_parser = clap::value_parser!(u64).range(1..=86_400))]
    wait_for_result: u64,
    /// Print the report as JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    agent: AgentFlags,
}

fn web_address(text: &str) -> Result<Url, &'static str> {
    web_url(text).ok_or("expected a URL such as http://127.0.0.1:9009")
}

impl Run {
    pub(super) async fn execute(&self) -> Result<Exit, Exit> {
        let agent = self.agent.agent()?;
        let mut stop = stop_signal().or_exit(Exit::Infrastructure)?;
        // A signal drops the run, which closes the connection and ends a started server.
        tokio::select! {
            exit = self.run(&agent) => exit,
            _ = stop.wait_for(|stopped| *stopped) => {
                Err("stopped before there was a result").or_exit(Exit::Infrastructure)
            }
        }
    }

    async fn run(&self, agent: &PurpleAgent) -> Result<Exit, Exit> {
        let listener: Listener =
            Arc::new(|notice| errln!("{}", terminal::line(&notice.to_string())));
        let report = run::run(&self.green, agent, &self.settings(), listener).await;
        let report = report.or_exit(Exit::Infrastructure)?;
        match self.json {
            true => outln!("{:#}", to_json(&report)),
            false => outln!("{}", summary(&report)),
        }
        Ok(exit(&report))
    }

    fn settings(&self) -> RunSettings {
        let wait = Duration::from_secs(self.wait);
        RunSettings {
            request: RequestSettings {
                text: self.request.clone(),
                wait,
                ..RequestSettings::default()
            },
            wait,
            result: Duration::from_secs(self.wait_for_result),
            ..RunSettings::default()
        }
    }
}

/// Returns the exit code. A failure of the model's service says nothing about the agent, and neither does an
/// evaluation without a verdict.
fn exit(report: &Report) -> Exit {
    let ended = report.outcome.as_ref().map(|outcome| &outcome.ended);
    if ended.is_some_and(StopReason::is_model_fault) {
        return Exit::Infrastructure;
    }
    match report.verdict {
        Verdict::Passed => Exit::Passed,
        Verdict::Failed => Exit::Failed,
        Verdict::Unknown => Exit::Infrastructure,
    }
}

fn to_json(report: &Report) -> Value {
    json!({
        "verdict": report.verdict.word(),
        "result": report.result,
        "said": report.said,
        "messages": report.messages,
        "work": report.outcome.as_ref().map(work),
    })
}

fn work(outcome: &Outcome) -> Value {
    json!({
        "ended": outcome.ended.to_string(),
        "text": outcome.text,
        "data": outcome.data,
        "steps": outcome.steps,
    })
}

fn summary(report: &Report) -> String {
    let mut lines = vec![match report.verdict {
        Verdict::Passed => "passed".to_owned(),
        Verdict::Failed => "failed".to_owned(),
        Verdict::Unknown => match &report.result {
            None => "the Green agent gave no result".to_owned(),
            Some(_) => {
                "the result does not say whether the agent passed: expected success, passed, \
                        or a score with max_score"
                    .to_owned()
            }
        },
    }];
    if let Some(outcome) = &report.outcome {
        let Outcome { ended, steps, .. } = outcome;
        lines.push(format!("  work: {ended}, {steps} steps"));
        lines.extend(line("agent", &outcome.text));
    }
    lines.extend(report.said.iter().flat_map(|said| line("green", said)));
    let result = report.result.as_ref().map(Value::to_string);
    lines.extend(result.iter().flat_map(|result| line("result", result)));
    lines.join("\n")
}

fn line(name: &str, text: &str) -> Option<String> {
    let first = text.lines().next().filter(|first| !first.is_empty())?;
    Some(format!("  {name}: {first}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_has_a_scheme_and_a_host() {
        for (text, is_valid) in [
            ("http://127.0.0.1:9009", true),
            ("https://green.example/a2a", true),
            ("127.0.0.1:9009", false),
            ("localhost:9009", false),
            ("http://", false),
        ] {
            assert_eq!(web_address(text).is_ok(), is_valid, "{text}");
        }
    }
}
