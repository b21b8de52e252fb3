//! Policy `sum-and-shop` solves every built-in environment, over real sockets, from seeds 1 to 50.

use std::sync::Arc;

use futures_util::{StreamExt as _, stream};
use mcp_tools::environments::BUILTINS;
use purple_agent::{
    agent::{AgentSettings, PurpleAgent},
    policy,
    run::{Report, RunSettings, Verdict, run},
};
use serde_json::Value;

use crate::green::{Green, Plan};

pub(crate) fn agent(name: &str, settings: &Value) -> PurpleAgent {
    let policy = policy::builtin(name, settings).unwrap();
    PurpleAgent::new(policy, AgentSettings::default())
}

/// Runs an evaluation and returns its report.
pub(crate) async fn evaluated(green: &Green, agent: &PurpleAgent) -> Report {
    let settings = RunSettings::default();
    run(&green.url, agent, &settings, Arc::new(|_| ())).await.unwrap()
}

#[tokio::test]
async fn sum_and_shop_solves_every_builtin_environment() {
    for (environment, _) in BUILTINS {
        let solved = stream::iter(1..=50).map(|seed| async move {
            let green = Green::start(Plan::of(environment, seed)).await;
            let agent = agent("sum-and-shop", &Value::Null);
            let report = run(&green.url, &agent, &RunSettings::default(), Arc::new(|_| ())).await;
            let report = report.unwrap();
            assert_eq!(report.verdict, Verdict::Passed, "{environment} {seed}: {report:?}");
            assert_eq!(report.result.unwrap()["reward"], 1.0, "{environment} {seed}");
        });
        solved.buffer_unordered(8).collect::<()>().await;
    }
}
