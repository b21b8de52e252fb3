//! `bridge tasks`: shows the tasks of all callers of a running bridge, and cancels or deletes them.

use std::path::PathBuf;

use bridge_program::{Exit, errln, out, outln, terminal};
use clap::{Args, Subcommand, ValueEnum};
use serde_json::Value;

use super::{
    Result,
    admin::{AdminClient, LIMIT, SOCKET},
    exit_code::{Failure, failure},
    runtime,
    store::StoreChoice,
};
use crate::config::value_name;

/// List, show, cancel, delete and export the tasks of a running bridge
#[derive(Debug, Args)]
#[command(after_help = NOTE)]
pub(super) struct TasksCommand {
    #[command(subcommand)]
    action: Action,
    /// The store of the running bridge
    #[arg(long, global = true, value_name = "STORE", default_value = "sled:bridge-data")]
    store: StoreChoice,
    /// The socket of the running bridge [default: admin.sock in the store's folder]
    #[arg(long, global = true, value_name = "PATH")]
    admin: Option<PathBuf>,
    /// Print JSON
    #[arg(long, global = true)]
    json: bool,
}

const NOTE: &str = "\
The bridge must be running, as the same user on the same machine.

Examples:
  bridge tasks list --state waiting
  bridge tasks show TASK --json
  bridge tasks export TASK > task.jsonl";

#[derive(Debug, Subcommand)]
enum Action {
    /// List tasks, one per line: task, agent, caller, state, and the time of the state
    List {
        /// Only those of this agent
        #[arg(long, value_name = "NAME")]
        agent: Option<String>,
        /// Only those in this state; without it, those that run or wait
        #[arg(long, value_enum)]
        state: Option<StateFilter>,
        /// The largest number of tasks to list
        #[arg(long, value_name = "COUNT", default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..))]
        limit: u32,
    },
    /// Show a task with the texts of its messages and artifacts
    Show {
        /// The task
        task: String,
    },
    /// Cancel a task; its agent is notified
    Cancel {
        /// The task
        task: String,
    },
    /// Delete a task with its messages, artifacts and files, and cancel it before if it is open
    Delete {
        /// The task
        task: String,
    },
    /// Print every event of a task as a line of JSON
    Export {
        /// The task
        task: String,
    },
}

/// The states by which tasks are selected.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum StateFilter {
    /// a turn runs or is queued
    Running,
    /// they wait for their callers
    Waiting,
    /// completed, failed, canceled or rejected
    Ended,
}

impl TasksCommand {
    pub(super) fn execute(&self) -> Result<()> {
        runtime()?.block_on(self.carry_out())
    }

    async fn carry_out(&self) -> Result<()> {
        let bridge = AdminClient::at(&self.socket()?, LIMIT)?;
        match &self.action {
            Action::List { agent, state, limit } => {
                let mut query = url::form_urlencoded::Serializer::new(String::new());
                query.append_pair("limit", &limit.to_string());
                if let Some(agent) = agent {
                    query.append_pair("agent", agent);
                }
                if let Some(state) = state {
                    query.append_pair("state", &value_name(state));
                }
                let listed = bridge.get(&format!("/tasks?{}", query.finish())).await?;
                let tasks = listed["tasks"].as_array().map(Vec::as_slice).unwrap_or_default();
                match self.json {
                    true => outln!("{}", listed["tasks"]),
                    false => tasks.iter().for_each(|task| outln!("{}", line(task))),
                }
                if tasks.len() >= *limit as usize {
                    errln!(
                        "note: there may be more tasks; --limit lists more of them than {limit}"
                    );
                }
            }
            Action::Show { task } => self.print_task(&bridge.get(&path(task, "")).await?),
            Action::Cancel { task } => self.print_task(&bridge.post(&path(task, "/cancel")).await?),
            Action::Delete { task } => {
                let deleted = bridge.delete(&path(task, "")).await?;
                match self.json {
                    true => outln!("{deleted}"),
                    false => outln!("deleted {}", terminal::line(task)),
                }
            }
            Action::Export { task } => {
                let print = |lines: &str| out!("{lines}");
                bridge.pieces(&path(task, "/events"), print).await?;
            }
        }
        Ok(())
    }

    fn socket(&self) -> Result<PathBuf, Failure> {
        let path = self.admin.clone().or_else(|| self.store.beside(SOCKET));
        path.ok_or_else(|| {
            let store = &self.store;
            failure(Exit::Usage)(format!(
                "{store} has no folder for a socket: name it with --admin, as for bridge serve"
            ))
        })
    }

    fn print_task(&self, task: &Value) {
        if self.json { outln!("{task}") } else { outln!("{}", details(task)) }
    }
}

/// Returns the path of a task, whose id may have any characters.
fn path(task: &str, rest: &str) -> String {
    let encoded: String = url::form_urlencoded::byte_serialize(task.as_bytes()).collect();
    format!("/tasks/{}{rest}", encoded.replace('+', "%20"))
}

fn line(task: &Value) -> String {
    let text = |name: &str| task[name].as_str().unwrap_or_default();
    let caller = match (text("caller"), text("tenant")) {
        ("", _) => "-".to_owned(),
        (caller, "") => caller.to_owned(),
        (caller, tenant) => format!("{tenant}/{caller}"),
    };
    let columns = [text("task"), text("agent"), &caller, text("state"), text("since")];
    terminal::line(&columns.join("  ")).into_owned()
}

/// Returns the texts of a message or an artifact after its label.
fn said(label: &str, content: &Value) -> String {
    let parts = content["parts"].as_array().into_iter().flatten();
    let texts = parts.map(|part| part["text"].as_str().unwrap_or("(no text)"));
    format!("{label}: {}", texts.collect::<Vec<_>>().join(" "))
}

/// Returns a task with its messages and artifacts, for people.
fn details(task: &Value) -> String {
    let mut lines = vec![line(task)];
    for turn in task["turns"].as_array().into_iter().flatten() {
        lines.push(format!("turn {}: {}", turn["turn"], turn["state"]));
    }
    let object = &task["object"];
    let question = &object["status"]["message"];
    let history = object["history"].as_array().into_iter().flatten();
    for message in history.chain(question.is_object().then_some(question)) {
        lines.push(said(message["role"].as_str().unwrap_or_default(), message));
    }
    for artifact in object["artifacts"].as_array().into_iter().flatten() {
        let name = artifact["name"].as_str();
        let label = name.map_or("artifact".to_owned(), |name| format!("artifact {name}"));
        lines.push(said(&label, artifact));
    }
    let lines = lines.iter().map(|line| terminal::line(line));
    lines.collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_task_is_shown_with_its_question_and_its_artifacts() {
        let shown = details(&json!({"task": "t", "agent": "a", "object": {
            "history": [{"role": "ROLE_USER", "parts": [{"text": "tea"}]}],
            "status": {"message": {"role": "ROLE_AGENT", "parts": [{"text": "how many?"}]}},
            "artifacts": [
                {"parts": [{"text": "seven"}, {"data": 7}]},
                {"name": "bill", "parts": [{"text": "7 EUR"}]},
            ],
        }}));
        let lines: Vec<&str> = shown.lines().skip(1).collect();
        let expected = [
            "ROLE_USER: tea",
            "ROLE_AGENT: how many?",
            "artifact: seven (no text)",
            "artifact bill: 7 EUR",
        ];
        assert_eq!(lines, expected);
    }
}
