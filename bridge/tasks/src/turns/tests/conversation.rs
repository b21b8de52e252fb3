use std::sync::Mutex;

use super::*;

/// An agent that answers with an artifact and a status, asks for more when it is asked to, and keeps the conversation of its
/// last turn.
#[derive(Default)]
struct Keeping(Mutex<Vec<String>>);

#[async_trait]
impl Executor for Keeping {
    async fn execute(&self, turn: Turn) -> Vec<Update> {
        let conversation = turn.conversation(2).await.unwrap();
        let who = |role: &Role| if *role == Role::Agent { "agent" } else { "user" };
        let line = |one: &Message| format!("{}: {}", who(&one.role), one.text());
        *self.0.lock().unwrap() = conversation.iter().map(line).collect();
        let text = turn.message.text();
        let (state, said) = match text.as_str() {
            "ask" => (TaskState::InputRequired, "What?"),
            "repeat" => (TaskState::Completed, "of repeat"),
            _ => (TaskState::Completed, "done"),
        };
        let answer = Update::artifact(&text, "Answer", vec![Part::text(format!("of {text}"))]);
        vec![answer, Update::said(state, "", said)]
    }
}

/// Sends a message, waits for the end of its turn and returns its task. Tasks have different times.
async fn send(turns: &Turns, text: &str, task: Option<&str>) -> String {
    let sent = incoming(&format!("m-{text}"), text, task);
    let task = turns.submit(sent).await.unwrap().task;
    settled(turns, &task).await;
    let ended = Timestamp::now().as_millisecond();
    while Timestamp::now().as_millisecond() <= ended {
        tokio::task::yield_now().await;
    }
    task.to_string()
}

#[tokio::test]
async fn a_turn_has_the_messages_of_earlier_tasks_of_its_context() {
    let keeping = Arc::new(Keeping::default());
    let card = AgentCard::named("Keeping", "Keeps a conversation");
    let agent = Agent::new("acting", card, keeping.clone());
    let turns = Turns::new(Arc::new(MemoryStore::new()), [agent]);
    send(&turns, "one", None).await;
    assert_eq!(*keeping.0.lock().unwrap(), ["user: one"]);
    send(&turns, "repeat", None).await;
    let asked = send(&turns, "ask", None).await;
    send(&turns, "it", Some(&asked)).await;
    let expected = [
        "user: one",
        "agent: of one",
        "agent: done",
        "user: repeat",
        "agent: of repeat", // the status has the same text
        "user: ask",
        "agent: What?",
        "agent: of ask",
        "user: it",
    ];
    assert_eq!(*keeping.0.lock().unwrap(), expected);
    // Of the three earlier tasks, the oldest one is left out.
    send(&turns, "last", None).await;
    assert_eq!(keeping.0.lock().unwrap()[0], "user: repeat");
}
