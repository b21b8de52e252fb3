//! Tests that an agent is told whether its task waited for a message, whatever the status of the task was meanwhile.

use super::*;

/// An agent that says for which message its task waited, and asks for input or credentials. It waits for ever at `wait`.
struct Telling;

#[async_trait]
impl Executor for Telling {
    async fn execute(&self, turn: Turn) -> Vec<Update> {
        assert_eq!(turn.task.status.state, TaskState::Working);
        let state = match turn.message.text().as_str() {
            "ask" => TaskState::InputRequired,
            "sign in" => TaskState::AuthRequired,
            "wait" => std::future::pending().await,
            _ => TaskState::Completed,
        };
        let awaited = turn.awaited.as_ref().map_or("nothing", TaskState::as_str);
        vec![Update::said(state, "", awaited)]
    }
}

fn telling(store: &Arc<dyn Store>) -> Turns {
    let telling = Agent { executor: Arc::new(Telling), ..agent(&Acting::new(0)) };
    Turns::new(store.clone(), [telling])
}

async fn told(turns: &Turns, id: &str, text: &str, task: Option<&str>) -> (String, String) {
    let submitted = turns.submit(incoming(id, text, task)).await.unwrap();
    settled(turns, &submitted.task).await;
    let told = said(turns, &submitted.task).await;
    (submitted.task.to_string(), told)
}

#[tokio::test]
async fn an_agent_knows_which_message_answers_its_question() {
    let turns = telling(&(Arc::new(MemoryStore::new()) as Arc<dyn Store>));
    let (task, first) = told(&turns, "m-1", "ask", None).await;
    assert_eq!(first, "nothing");
    for (id, text, expected) in [
        ("m-2", "sign in", "TASK_STATE_INPUT_REQUIRED"),
        ("m-3", "ask", "TASK_STATE_AUTH_REQUIRED"),
        ("m-4", "thanks", "TASK_STATE_INPUT_REQUIRED"),
    ] {
        assert_eq!(told(&turns, id, text, Some(&task)).await.1, expected);
    }
}

#[tokio::test]
async fn an_answer_that_was_queued_over_a_restart_is_one_still() {
    let store: Arc<dyn Store> = Arc::new(MemoryStore::new());
    let turns = telling(&store);
    let (task, _) = told(&turns, "m-1", "ask", None).await;
    // The turn of another task holds the conversation.
    turns.submit(incoming("m-2", "wait", None)).await.unwrap();
    let answer = incoming("m-3", "thanks", Some(&task));
    turns.submit(answer).await.unwrap();
    let head = store.head(&Caller::anonymous(), &task).await.unwrap();
    assert_eq!(head.state, TaskState::Submitted);

    let restarted = telling(&store);
    restarted.recover().await.unwrap();
    settled(&restarted, &task).await;
    assert_eq!(said(&restarted, &task).await, "TASK_STATE_INPUT_REQUIRED");
}
