//! A custom policy that adds the numbers of the environment `sum`.
//!
//! `cargo run --example own_policy -- http://127.0.0.1:9009` requests an evaluation from the Green agent at that
//! address.

use std::{env, error::Error, sync::Arc};

use purple_agent::{
    PurpleAgent,
    agent::AgentSettings,
    async_trait,
    policy::{Action, Observation, Policy, PolicyError, ToolCall},
    run::{RunSettings, Verdict, run},
};
use serde_json::{Map, Value};
use url::Url;

struct Adding;

#[async_trait]
impl Policy for Adding {
    fn name(&self) -> &str {
        "adding"
    }

    async fn next(&mut self, observation: &Observation<'_>) -> Result<Action, PolicyError> {
        let Some(last) = observation.last() else {
            return Ok(call("connect_to_mcp_server", Map::new()));
        };
        if last.failed() {
            let missing = last.text();
            return Ok(Action::Wait { missing });
        }
        Ok(match last.call.name.as_str() {
            "connect_to_mcp_server" => call("list_numbers", Map::new()),
            "list_numbers" => call("submit", answer(&last.data())),
            _ => Action::Finish { text: "I have added them up.".to_owned(), data: None },
        })
    }
}

fn call(tool: &str, arguments: Map<String, Value>) -> Action {
    Action::Call(vec![ToolCall::new(tool, arguments)])
}

fn answer(data: &Value) -> Map<String, Value> {
    let numbers = data["numbers"].as_array().into_iter().flatten();
    let sum: i64 = numbers.filter_map(Value::as_i64).sum();
    Map::from_iter([("answer".to_owned(), sum.into())])
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let green = Url::parse(&env::args().nth(1).ok_or("expected the Green agent's URL")?)?;
    let agent = PurpleAgent::new(Arc::new(|| Box::new(Adding)), AgentSettings::default());
    let listener = Arc::new(|notice: &_| eprintln!("{notice}"));
    let report = run(&green, &agent, &RunSettings::default(), listener).await?;
    println!("{}", report.verdict.word());
    match report.verdict {
        Verdict::Passed => Ok(()),
        Verdict::Failed | Verdict::Unknown => Err("the evaluation was not passed".into()),
    }
}
