//! One step: the numbers stand in the goal, their sum is submitted.

use async_trait::async_trait;
use rmcp::model::{CallToolResult, JsonObject, Tool};
use serde_json::{Map, Value, json};

use super::{Arguments, Environment, Score, TaskInfo, chance::Chance, refused, tool};

/// Numbers whose sum is to be submitted, as a number or as text.
#[derive(Debug)]
pub struct Sum {
    numbers: Vec<u32>,
    answer: Option<Value>,
}

impl Sum {
    /// Three to six numbers from 1 to 99.
    pub fn new(seed: u64) -> Self {
        let mut chance = Chance::new(seed);
        let count = chance.within(3, 6);
        Self {
            numbers: (0..count).map(|_| chance.within(1, 99)).collect(),
            answer: None,
        }
    }

    fn expected(&self) -> i64 {
        self.numbers.iter().map(|number| i64::from(*number)).sum()
    }

    /// The numbers as a sentence lists them.
    fn listed(&self) -> String {
        let numbers: Vec<String> = self.numbers.iter().map(u32::to_string).collect();
        numbers.join(", ")
    }
}

#[async_trait]
impl Environment for Sum {
    fn task(&self) -> TaskInfo {
        TaskInfo {
            task_id: "sum.numbers".into(),
            benchmark: "sum".into(),
            goal: format!(
                "Add up the numbers {} and submit their sum as the answer.",
                self.listed()
            ),
        }
    }

    fn tools(&self) -> Vec<Tool> {
        vec![tool(
            "list_numbers",
            "Shows the numbers that are to be added up.",
            json!({}),
            &[],
        )]
    }

    async fn call(&mut self, _tool: &str, arguments: JsonObject) -> CallToolResult {
        match Arguments::new(arguments).done() {
            Ok(()) => CallToolResult::structured(json!({"numbers": self.numbers})),
            Err(error) => refused(error),
        }
    }

    async fn submit(&mut self, answer: Option<&Value>) {
        self.answer = answer.cloned();
    }

    fn score(&self) -> Score {
        let success = self.answer.as_ref().and_then(whole_number) == Some(self.expected());
        let mut details = Map::new();
        details.insert("expected".into(), json!(self.expected()));
        details.insert("answer".into(), json!(self.answer));
        Score {
            reward: f64::from(u8::from(success)),
            success,
            details,
        }
    }
}

/// A number that was written as JSON's number or as text.
fn whole_number(answer: &Value) -> Option<i64> {
    match answer {
        Value::Number(number) => number.as_i64(),
        Value::String(text) => text.trim().parse().ok(),
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
    }
}
