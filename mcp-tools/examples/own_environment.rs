//! An [`Environment`] implemented outside this crate, served as an episode and used over MCP.
//!
//! cargo run --example own_environment

use std::error::Error;

use mcp_tools::{
    allow_list::AllowList,
    async_trait,
    client::{Connection, Options},
    environments::{Arguments, Environment, EnvironmentError, Score, TaskInfo, refused, tool},
    episodes::{Episodes, Limits},
    jiff::Timestamp,
    rmcp::model::{CallToolResult, JsonObject, Tool},
    server::{self, ServerSettings},
};
use serde_json::{Map, json};
use tokio::net::TcpListener;
use url::Url;

/// A lamp that the agent has to switch on.
struct Lamp {
    is_on: bool,
}

#[async_trait]
impl Environment for Lamp {
    fn task(&self) -> TaskInfo {
        TaskInfo {
            task_id: "lamp.on".into(),
            benchmark: "lamp".into(),
            goal: "Switch the lamp on.".into(),
        }
    }

    fn tools(&self) -> Vec<Tool> {
        let on = json!({"on": {"type": "boolean"}});
        vec![tool("switch", "Switches the lamp.", on, &["on"])]
    }

    async fn call(&mut self, _tool: &str, arguments: JsonObject) -> CallToolResult {
        match Arguments::new(arguments).required("on") {
            Ok(on) => {
                self.is_on = on;
                CallToolResult::structured(json!({"on": on}))
            }
            Err(error) => refused(error),
        }
    }

    async fn score(&mut self) -> Result<Score, EnvironmentError> {
        Ok(Score {
            reward: f64::from(u8::from(self.is_on)),
            success: self.is_on,
            details: Map::new(),
        })
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    // The evaluator's side opens an episode and serves it.
    let episodes = Episodes::new(1);
    let lamp = Box::new(Lamp { is_on: false });
    let opened = episodes.open(lamp, Limits::default(), Timestamp::now())?;
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let url = Url::parse(&format!("http://{}/mcp", listener.local_addr()?))?;
    let app = server::router(episodes.clone(), ServerSettings::default());
    tokio::spawn(async move { axum::serve(listener, app).await });

    // The agent's side connects with the details that it received.
    let details = opened.details(url);
    let agent = Connection::open(&details, &AllowList::default(), &Options::default()).await?;
    agent.call("switch", JsonObject::from_iter([("on".into(), json!(true))])).await?;
    agent.call("submit", JsonObject::new()).await?;
    agent.close().await;

    let outcome = episodes.finished(&opened.id).await.ok_or("the episode is gone")?;
    println!("{}: reward {}", opened.task.goal, outcome.score.reward);
    if outcome.score.success { Ok(()) } else { Err("the lamp is not on".into()) }
}
