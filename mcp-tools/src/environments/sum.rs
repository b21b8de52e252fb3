//! A one-step environment: the goal contains numbers, and the agent submits their sum.

use async_trait::async_trait;
use rmcp::model::{CallToolResult, JsonObject, Tool};
use serde_json::{Map, Value, json};

use super::{
    Arguments, Environment, EnvironmentError, Score, TaskInfo, refused, rng::SeededRng, tool,
};

/// Numbers whose sum the agent submits, as a number or as a string.
#[derive(Debug)]
pub struct Sum {
    numbers: Vec<u32>,
    answer: Option<Value>,
}

impl Sum {
    /// Creates three to six numbers from 1 to 99.
    pub fn new(seed: u64) -> Self {
        let mut rng = SeededRng::new(seed);
        let count = rng.within(3, 6);
        Self { numbers: (0..count).map(|_| rng.within(1, 99)).collect(), answer: None }
    }

    fn expected(&self) -> i64 {
        self.numbers.iter().map(|number| i64::from(*number)).sum()
    }

    /// Returns the numbers as an enumeration in a sentence.
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
        vec![tool("list_numbers", "Shows the numbers that are to be added up.", json!({}), &[])]
    }

    async fn call(&mut self, _tool: &str, arguments: JsonObject) -> CallToolResult {
        match Arguments::new(arguments).done() {
            Ok(()) => CallToolResult::structured(json!({"numbers": self.numbers})),
            Err(error) => refused(error),
        }
    }

    async fn submit(&mut self, answer: Option<&Value>) -> Result<(), EnvironmentError> {
        self.answer = answer.cloned();
        Ok(())
    }

    async fn score(&mut self) -> Result<Score, EnvironmentError> {
        let success = self.answer.as_ref().and_then(whole_number) == Some(self.expected());
        let mut details = Map::new();
        details.insert("expected".into(), json!(self.expected()));
        details.insert("answer".into(), json!(self.answer));
        Ok(Score { reward: f64::from(u8::from(success)), success, details })
    }
}

/// Parses an integer from a JSON number or a string.
fn whole_number(answer: &Value) -> Option<i64> {
    match answer {
        Value::Number(number) => number.as_i64(),
        Value::String(text) => text.trim().parse().ok(),
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn reward(answer: Option<Value>) -> f64 {
        let mut sum = Sum::new(1);
        sum.submit(answer.as_ref()).await.unwrap();
        let score = sum.score().await.unwrap();
        assert_eq!(score.success, score.reward >= 1.0);
        score.reward
    }

    #[tokio::test]
    async fn only_the_sum_is_worth_anything() {
        let right = Sum::new(1).expected();
        assert!(reward(Some(json!(right))).await >= 1.0);
        assert!(reward(Some(json!(format!(" {right} ")))).await >= 1.0);
        for wrong in [json!(right + 1), json!("many"), json!(null), json!([right])] {
            assert!(reward(Some(wrong)).await <= 0.0);
        }
        assert!(reward(None).await <= 0.0);
    }

    #[tokio::test]
    async fn the_tool_shows_the_goals_numbers() {
        let mut sum = Sum::new(2);
        let shown = sum.call("list_numbers", JsonObject::new()).await;
        assert_eq!(shown.structured_content, Some(json!({"numbers": sum.numbers})));
        assert!(sum.task().goal.contains(&sum.listed()));
    }
}
