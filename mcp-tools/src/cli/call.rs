//! `mcp-tools call`: calls one tool once.

use std::error::Error;

use bridge_program::{Exit, Failure, failure, outln};
use clap::Args;
use rmcp::model::JsonObject;
use serde_json::{Value, json};

use super::target::Target;

/// Call a tool and print its result as JSON
#[derive(Debug, Args)]
pub(super) struct Call {
    #[command(flatten)]
    target: Target,
    /// The name of the tool
    tool: String,
    /// The arguments of the tool; a value that is valid JSON is passed as JSON, any other value as a string
    #[arg(value_name = "NAME=VALUE", value_parser = argument)]
    arguments: Vec<(String, Value)>,
}

impl Call {
    pub(super) async fn execute(&self) -> Result<Exit, Box<dyn Error>> {
        let arguments = self.arguments()?;
        let connection = self.target.connect().await?;
        let result = connection.call(&self.tool, arguments).await;
        connection.close().await;
        let result = result?;
        outln!("{:#}", json!(result));
        Ok(match result.is_error {
            Some(true) => Exit::Failed,
            Some(false) | None => Exit::Passed,
        })
    }

    fn arguments(&self) -> Result<JsonObject, Failure> {
        let mut arguments = JsonObject::new();
        for (name, value) in &self.arguments {
            if arguments.insert(name.clone(), value.clone()).is_some() {
                return Err(failure(Exit::Usage)(format!("the argument {name} is given twice")));
            }
        }
        Ok(arguments)
    }
}

fn argument(text: &str) -> Result<(String, Value), String> {
    let (name, value) = text.split_once('=').ok_or("expected NAME=VALUE")?;
    if name.is_empty() {
        return Err("expected a name before the =".to_owned());
    }
    let value = serde_json::from_str(value).unwrap_or_else(|_| json!(value));
    Ok((name.to_owned(), value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_json_or_text() {
        let cases = [
            ("page=2", "page", json!(2)),
            ("query=red mug", "query", json!("red mug")),
            ("query=\"2\"", "query", json!("2")),
            ("list=[1]", "list", json!([1])),
            ("sum=a=b", "sum", json!("a=b")),
            ("none=", "none", json!("")),
        ];
        for (text, name, value) in cases {
            assert_eq!(argument(text), Ok((name.to_owned(), value)));
        }
        for text in ["page", "=2", ""] {
            assert!(argument(text).is_err(), "{text}");
        }
    }
}
