//! The routes for the operator, which list, show, cancel and delete the tasks of all callers. They must not be
//! reachable by clients; the program serves them on a local socket that only its own user can open.

use std::sync::Arc;

use axum::{
    Router,
    body::Body,
    extract::{Path, RawQuery, State},
    http::header::CONTENT_TYPE,
    response::{IntoResponse, Response},
    routing::{self, get, post},
};
use bridge_program::Json;
use bridge_protocol::wire::to_value;
use futures_util::stream;
use serde_json::{Value, json};

use super::{HostedAgents, admin_error::AdminError, admin_store};
use crate::{
    caller::Caller,
    clock,
    service::Service,
    store::{Deletion, Head, Idle, Seq, StoreError, StoredEvent},
    turns::{TurnError, Turns},
};

/// The default number of tasks in a list, and the number of events that are read at a time.
const LISTED: usize = 100;
const PAGE: usize = 256;

/// The result of a handler.
type Result<T = Json<Value>, E = AdminError> = std::result::Result<T, E>;

impl HostedAgents {
    /// Returns the routes for the operator.
    pub fn admin(&self) -> Router {
        let deleting = routing::delete(delete).with_state(self.service.clone());
        Router::new()
            .route("/tasks", get(list))
            .route("/tasks/{task}", get(show).merge(deleting))
            .route("/tasks/{task}/cancel", post(cancel))
            .route("/tasks/{task}/events", get(events))
            .route("/store/check", get(admin_store::check))
            .route("/store/compact", post(admin_store::compact))
            .with_state(self.service.turns().clone())
    }
}

#[derive(Debug, Default)]
struct Filters {
    agent: Option<String>,
    /// The state of the listed tasks; those that run or wait if absent.
    state: Option<Kind>,
    limit: Option<usize>,
}

impl Filters {
    fn read(query: &str) -> Result<Self> {
        let mut wanted = Self::default();
        for (name, value) in url::form_urlencoded::parse(query.as_bytes()) {
            let wrong = |expected| AdminError::Query {
                name: name.to_string(),
                expected,
                found: value.to_string(),
            };
            match &*name {
                "agent" => wanted.agent = Some(value.to_string()),
                "limit" => {
                    let limit = value.parse();
                    wanted.limit = Some(limit.map_err(|_| wrong("a number"))?);
                }
                "state" => {
                    wanted.state = Some(match &*value {
                        "running" => Kind::Running,
                        "waiting" => Kind::Idle(Idle::Waiting),
                        "ended" => Kind::Idle(Idle::Ended),
                        _ => return Err(wrong("running, waiting or ended")),
                    });
                }
                _ => return Err(wrong("one of the parameters agent, limit and state")),
            }
        }
        Ok(wanted)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// Tasks with a turn that runs or is queued.
    Running,
    Idle(Idle),
}

async fn list(State(turns): State<Turns>, RawQuery(query): RawQuery) -> Result {
    let wanted = Filters::read(query.as_deref().unwrap_or_default())?;
    let limit = wanted.limit.unwrap_or(LISTED);
    let kinds = match wanted.state {
        Some(kind) => vec![kind],
        None => vec![Kind::Running, Kind::Idle(Idle::Waiting)],
    };
    let mut heads = Vec::new();
    for kind in kinds {
        heads.extend(of_kind(&turns, kind, &wanted, limit).await?);
    }
    heads.truncate(limit);
    let tasks: Vec<Value> = heads.iter().map(described).collect();
    Ok(Json(json!({"tasks": tasks})))
}

async fn of_kind(turns: &Turns, kind: Kind, wanted: &Filters, limit: usize) -> Result<Vec<Head>> {
    let (store, now) = (turns.store(), clock::now());
    let is_wanted = |name: &str| wanted.agent.as_deref().is_none_or(|agent| agent == name);
    let mut found = Vec::new();
    match kind {
        Kind::Running => {
            let mut after = String::new();
            while found.len() < limit {
                let heads = store.open_turns(&after, PAGE).await?;
                let Some(last) = heads.last() else {
                    break;
                };
                after = last.task.to_string();
                found.extend(heads.into_iter().filter(|head| is_wanted(&head.agent)));
            }
        }
        Kind::Idle(kind) => {
            // Agents that are not hosted any more have tasks, too.
            let counts = store.counts().await?;
            for agent in counts.keys().filter(|name| is_wanted(name)) {
                found.extend(store.idle_tasks(kind, agent, None, now, limit).await?);
            }
        }
    }
    Ok(found)
}

async fn show(State(turns): State<Turns>, Path(task): Path<String>) -> Result {
    let head = head(&turns, &task).await?;
    let snapshot = turns.store().task(&head.owner, &task).await?;
    let mut described = described(&head);
    described["object"] = to_value(&*snapshot.task);
    Ok(Json(described))
}

async fn cancel(State(turns): State<Turns>, Path(task): Path<String>) -> Result {
    let open = head(&turns, &task).await?;
    turns.cancel(&open.agent, &open.owner, &task).await?;
    tracing::info!(task, "the operator canceled a task");
    Ok(Json(described(&*head(&turns, &task).await?)))
}

async fn head(turns: &Turns, task: &str) -> Result<Arc<Head>, StoreError> {
    let owner = turns.store().owner(task).await?;
    turns.store().head(&owner, task).await
}

/// Deletes a task of any caller. An open task is canceled before, so that no agent works for a deleted task.
async fn delete(State(service): State<Service>, Path(task): Path<String>) -> Result {
    let Some(retention) = service.retention() else {
        return Err(StoreError::not_found(&task).into());
    };
    let turns = service.turns();
    let owner = turns.store().owner(&task).await?;
    if let Ok(head) = turns.store().head(&owner, &task).await
        && head.is_open()
    {
        match turns.cancel(&head.agent, &owner, &task).await {
            Ok(()) | Err(TurnError::Ended { .. }) => {}
            Err(error) => return Err(error.into()),
        }
    }
    retention.delete(&owner, &task, Deletion::Forced).await?;
    tracing::info!(task, "the operator deleted a task");
    Ok(Json(json!({"task": task, "deleted": true})))
}

/// Returns each event as a line of JSON.
async fn events(State(turns): State<Turns>, Path(task): Path<String>) -> Result<Response> {
    let owner = turns.store().owner(&task).await?;
    let first = read(&turns, &owner, &task, 0).await?;
    let pages = stream::unfold(Some((first, turns, owner, task)), async |state| {
        let (page, turns, owner, task) = state?;
        let last = page.last()?.seq;
        let lines: String = page.iter().map(line).collect();
        // An event that cannot be read ends the answer early.
        Some(match read(&turns, &owner, &task, last).await {
            Ok(next) => (Ok(lines), Some((next, turns, owner, task))),
            Err(error) => (Err(error), None),
        })
    });
    let media_type = [(CONTENT_TYPE, "application/x-ndjson")];
    Ok((media_type, Body::from_stream(pages)).into_response())
}

async fn read(turns: &Turns, owner: &Caller, task: &str, after: Seq) -> Result<Vec<StoredEvent>> {
    Ok(turns.store().read(owner, task, after, PAGE).await?)
}

fn line(stored: &StoredEvent) -> String {
    let event = json!({"seq": stored.seq, "time": stored.time.to_string(), "event": stored.event});
    format!("{event}\n")
}

/// Returns a task in the form for lists.
fn described(head: &Head) -> Value {
    let caller = head.owner.name();
    let tenant = head.owner.id.strip_suffix(caller).unwrap_or_default();
    json!({
        "task": head.task,
        "agent": head.agent,
        "caller": caller,
        "tenant": tenant.trim_end_matches(char::is_control),
        "contextId": head.context_id,
        "state": head.state.as_str(),
        "since": head.status_time.to_string(),
        "events": head.seq,
        "turns": head.turns,
    })
}

#[cfg(test)]
mod tests {
    use std::{sync::Arc, time::Duration};

    use axum::{
        body::to_bytes,
        http::{Method, Request},
    };
    use bridge_protocol::a2a::{
        AgentCard, Message, Part, Role, SendMessageRequest, SendMessageResponse, TaskState,
    };
    use tower::ServiceExt as _;

    use super::*;
    use crate::{
        agent::Agent,
        executor::{Executor, Turn, Update, async_trait},
        host::Host,
        service::Context,
        store::MemoryStore,
    };

    /// An agent that asks for input.
    struct Asking;

    #[async_trait]
    impl Executor for Asking {
        async fn execute(&self, _: Turn) -> Vec<Update> {
            vec![Update::said(TaskState::InputRequired, "q", "Which one?")]
        }
    }

    async fn ask(app: &Router, method: Method, path: &str) -> (u16, String) {
        let request = Request::builder().method(method).uri(path);
        let answer = app.clone().oneshot(request.body(Body::empty()).unwrap());
        let answer = answer.await.unwrap();
        let status = answer.status().as_u16();
        let body = to_bytes(answer.into_body(), 1 << 20).await.unwrap();
        (status, String::from_utf8(body.to_vec()).unwrap())
    }

    fn json_of(text: &str) -> Value {
        serde_json::from_str(text).unwrap()
    }

    #[tokio::test]
    async fn a_query_that_means_nothing_is_refused() {
        let agent = Agent::new("a", AgentCard::named("A", "Asks"), Arc::new(Asking));
        let host = Host::new(Arc::new(MemoryStore::new()), [agent]);
        let app = host.start("http://localhost").await.unwrap().admin();
        for (query, error) in [
            ("limit=many", "limit: expected a number, found \"many\""),
            ("state=done", "state: expected running, waiting or ended, found \"done\""),
            (
                "caller=a",
                "caller: expected one of the parameters agent, limit and state, found \"a\"",
            ),
        ] {
            let (status, told) = ask(&app, Method::GET, &format!("/tasks?{query}")).await;
            assert_eq!((status, json_of(&told)), (400, json!({"error": error})));
        }
        let (status, _) = ask(&app, Method::GET, "/tasks?state=waiting&agent=a&limit=3").await;
        assert_eq!(status, 200);
    }

    #[tokio::test]
    async fn an_operator_sees_and_cancels_tasks_of_all_callers() {
        let agent = Agent::new("a", AgentCard::named("A", "Asks"), Arc::new(Asking));
        let host = Host::new(Arc::new(MemoryStore::new()), [agent]);
        let hosted = host.start("http://localhost").await.unwrap();
        let (app, mut tasks) = (hosted.admin(), Vec::new());
        for caller in [Caller::new("alice"), Caller::new("bob").within("shop")] {
            let context = Context::new("a", caller);
            let message = Message::new("m", Role::User, vec![Part::text("hi")]);
            let request = SendMessageRequest::new(message);
            let sent = hosted.service.send_message(&context, request).await;
            let Ok(SendMessageResponse::Task(task)) = sent else { panic!("no task") };
            tasks.push(task.id.clone());
        }
        let (status, listed) = ask(&app, Method::GET, "/tasks").await;
        let listed = json_of(&listed);
        let seen = listed["tasks"].as_array().unwrap().iter();
        let name = |one: &Value, name: &str| one[name].as_str().unwrap().to_owned();
        let mut seen: Vec<_> = seen.map(|one| [name(one, "caller"), name(one, "tenant")]).collect();
        seen.sort_unstable();
        assert_eq!(
            (status, seen),
            (
                200,
                vec![["alice", ""], ["bob", "shop"]]
                    .into_iter()
                    .map(|one| one.map(str::to_owned))
                    .collect()
            )
        );
        let none = ask(&app, Method::GET, "/tasks?agent=other").await.1;
        assert_eq!(none, r#"{"tasks":[]}"#);

        let path = format!("/tasks/{}", tasks[1]);
        let shown = json_of(&ask(&app, Method::GET, &path).await.1);
        assert_eq!(shown["object"]["history"][0]["messageId"], "m");
        let events = ask(&app, Method::GET, &format!("{path}/events")).await.1;
        assert_eq!(json_of(events.lines().last().unwrap())["seq"], shown["events"]);
        let cancel = format!("{path}/cancel");
        let canceled = ask(&app, Method::POST, &cancel).await;
        assert!(canceled.1.contains("TASK_STATE_CANCELED"), "{canceled:?}");
        assert_eq!(ask(&app, Method::POST, &cancel).await.0, 409);
        let ended = ask(&app, Method::GET, "/tasks?state=ended").await.1;
        assert!(ended.contains(&tasks[1]) && !ended.contains(&tasks[0]), "{ended}");
        for task in &tasks {
            let path = format!("/tasks/{task}");
            let deleted = ask(&app, Method::DELETE, &path).await;
            assert_eq!(deleted.0, 200, "open and ended ones: {deleted:?}");
            assert_eq!(ask(&app, Method::GET, &path).await.0, 404);
            assert_eq!(ask(&app, Method::DELETE, &path).await.0, 404);
        }
        let unknown = ask(&app, Method::GET, "/tasks/none").await;
        let expected = r#"{"error":"task none not found"}"#;
        assert_eq!(unknown, (404, expected.to_owned()));
    }

    /// Sends a message to agent `a`, and returns the task.
    async fn begin(hosted: &HostedAgents) -> String {
        let message = Message::new(clock::new_id(), Role::User, vec![Part::text("hi")]);
        let request = SendMessageRequest::new(message).returning_immediately();
        let context = Context::new("a", Caller::new("alice"));
        match hosted.service.send_message(&context, request).await {
            Ok(SendMessageResponse::Task(task)) => task.id.clone(),
            other => panic!("{other:?}"),
        }
    }

    #[tokio::test]
    async fn tasks_of_an_agent_that_was_removed_can_be_listed_canceled_and_deleted() {
        let host = |name: &str| {
            let agent = Agent::new(name, AgentCard::named("A", "Asks"), Arc::new(Asking));
            Host::new(Arc::new(MemoryStore::new()), [agent])
        };
        let hosted = host("a").start("http://localhost").await.unwrap();
        let (app, tasks) = (hosted.admin(), [begin(&hosted).await, begin(&hosted).await]);
        while hosted.running_turns() > 0 {
            tokio::task::yield_now().await;
        }
        hosted.replace(host("b")).unwrap();
        let listed = ask(&app, Method::GET, "/tasks?agent=a").await.1;
        assert!(tasks.iter().all(|task| listed.contains(task)), "{listed}");
        let canceled = ask(&app, Method::POST, &format!("/tasks/{}/cancel", tasks[0])).await;
        assert!(canceled.1.contains("TASK_STATE_CANCELED"), "{canceled:?}");
        let deleted = ask(&app, Method::DELETE, &format!("/tasks/{}", tasks[1])).await;
        assert_eq!(deleted.0, 200, "{deleted:?}");
        assert_eq!(ask(&app, Method::GET, "/tasks?agent=a").await.1, r#"{"tasks":[]}"#);
    }

    /// An agent that works for ever.
    struct Busy;

    #[async_trait]
    impl Executor for Busy {
        async fn execute(&self, _: Turn) -> Vec<Update> {
            std::future::pending().await
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_turn_of_a_deleted_task_is_not_lost() {
        let agent = Agent::new("a", AgentCard::named("A", "Works"), Arc::new(Busy));
        let host = Host::new(Arc::new(MemoryStore::new()), [agent]);
        let hosted = host.start("http://localhost").await.unwrap();
        let task = begin(&hosted).await;
        let deleted = ask(&hosted.admin(), Method::DELETE, &format!("/tasks/{task}")).await;
        assert_eq!(deleted.0, 200, "{deleted:?}");
        assert_eq!(hosted.drain_within(Duration::from_secs(60)).await, 0);
        assert_eq!(hosted.service.turns().unlogged_end_count(), 0);
    }
}
