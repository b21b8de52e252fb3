//! The result object in a task or message.

use alloc::string::ToString as _;

use serde_json::{Value, json};

use super::ExecuteError;
use crate::{
    a2a::{SendMessageResponse, Task, TaskState},
    dialect::skill::result::{data_of_message, data_of_task, text_of_task},
};

/// Returns the result of a call with this answer: its data, or `{"text"}` if there is only text. A task that waits for
/// input has a result if it has data, because a caller of methods cannot answer.
///
/// # Errors
/// [`ExecuteError::ExecutionFailed`] if the task did not succeed; such calls cannot be continued.
pub fn from_answer(answer: &SendMessageResponse) -> Result<Value, ExecuteError> {
    match answer {
        SendMessageResponse::Message(message) => {
            Ok(object(data_of_message(message), &message.text()))
        }
        SendMessageResponse::Task(task) => from_task(task),
    }
}

fn from_task(task: &Task) -> Result<Value, ExecuteError> {
    let (text, data) = (text_of_task(task), data_of_task(task));
    let or = |otherwise: &str| match text.as_str() {
        "" => otherwise.to_string(),
        said => said.to_string(),
    };
    let why = match &task.status.state {
        TaskState::Completed => return Ok(object(data, &text)),
        TaskState::InputRequired if data.is_some() => return Ok(object(data, &text)),
        TaskState::Failed => or("the agent did not say why"),
        TaskState::Rejected => or("the agent rejected it"),
        TaskState::Canceled => or("it was canceled"),
        TaskState::InputRequired => or("the agent asks for more than the parameters"),
        TaskState::AuthRequired => or("the agent asks for credentials"),
        TaskState::Unspecified
        | TaskState::Submitted
        | TaskState::Working
        | TaskState::Unknown(_) => "it took longer than a turn may".to_string(),
    };
    Err(ExecuteError::ExecutionFailed(why))
}

/// Results are objects, so other data is put into one.
fn object(data: Option<&Value>, text: &str) -> Value {
    match data {
        Some(data @ Value::Object(_)) => data.clone(),
        Some(other) => json!({"data": other}),
        None => json!({"text": text}),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::Wire as _;

    fn answer(task: Value) -> Result<Value, ExecuteError> {
        from_answer(&SendMessageResponse::Task(Task::read(task).unwrap()))
    }

    #[test]
    fn a_result_is_the_first_data() {
        let said = |parts: Value| json!({"messageId": "m", "role": "ROLE_AGENT", "parts": parts});
        for (task, result) in [
            (
                json!({"id": "t", "status": {"state": "TASK_STATE_COMPLETED"}, "artifacts": [
                    {"artifactId": "a", "parts": [{"text": "x"}, {"data": {"plan": "p"}}]},
                ]}),
                json!({"plan": "p"}),
            ),
            (
                json!({"id": "t", "status": {"state": "TASK_STATE_COMPLETED",
                    "message": said(json!([{"data": [1]}]))}}),
                json!({"data": [1]}),
            ),
            (
                json!({"id": "t", "status": {"state": "TASK_STATE_COMPLETED",
                    "message": said(json!([{"data": {"function_response": {"name": "s", "response": {"a": 1}}}}]))}}),
                json!({"a": 1}),
            ),
            (
                json!({"id": "t", "status": {"state": "TASK_STATE_COMPLETED",
                    "message": said(json!([{"text": "done"}]))}}),
                json!({"text": "done"}),
            ),
            (
                json!({"id": "t", "status": {"state": "TASK_STATE_INPUT_REQUIRED",
                    "message": said(json!([{"text": "More?"}, {"data": {"plan": "p"}}]))}}),
                json!({"plan": "p"}),
            ),
        ] {
            assert_eq!(answer(task), Ok(result));
        }
    }

    #[test]
    fn an_unsuccessful_task_is_a_failed_execution() {
        for (state, why) in [
            ("FAILED", "the agent did not say why"),
            ("INPUT_REQUIRED", "the agent asks for more than the parameters"),
            ("WORKING", "it took longer than a turn may"),
        ] {
            let state = alloc::format!("TASK_STATE_{state}");
            let error = answer(json!({"id": "t", "status": {"state": state}})).unwrap_err();
            assert_eq!(error, ExecuteError::ExecutionFailed(why.into()));
        }
    }
}
