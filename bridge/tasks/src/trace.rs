//! Makes the spans of turns and of push notifications.
//!
//! Their names are those of OpenTelemetry's conventions for generative AI. There are none unless traces are exported; see
//! [`bridge_telemetry`].
//!
//! Like the exporter, the contexts of recent tasks are of the whole process: what follows from a turn later, a bot's
//! call or a push notification, finds the turn's trace there. In another process, it begins a trace of its own. A turn does
//! not: the log has the span of its message.

use std::{
    collections::{BTreeMap, VecDeque},
    sync::Mutex,
};

use bridge_program::lock;
use bridge_telemetry::{Kind, Span, TraceContext, set, span};

/// The number of tasks whose traces are known.
const TASKS: usize = 4_096;

/// The longest id of a task that is remembered. Those of the bridge are shorter.
const LONGEST_ID: usize = 128;

static RECENT: Mutex<RecentTasks> = Mutex::new(RecentTasks::new());

#[derive(Debug)]
struct RecentTasks {
    contexts: BTreeMap<String, TraceContext>,
    order: VecDeque<String>,
}

impl RecentTasks {
    const fn new() -> Self {
        Self {
            contexts: BTreeMap::new(),
            order: VecDeque::new(),
        }
    }

    fn add(&mut self, task: &str, context: TraceContext) {
        let known = self.contexts.insert(task.to_owned(), context);
        if known.is_some() {
            return;
        }
        self.order.push_back(task.to_owned());
        if self.order.len() > TASKS
            && let Some(oldest) = self.order.pop_front()
        {
            self.contexts.remove(&oldest);
        }
    }
}

/// Begins the span of a turn, below the request with its message.
pub(crate) fn turn(agent: &str, task: &str, turn: u64, cause: &TraceContext) -> Span {
    if !bridge_telemetry::is_on() {
        return Span::none();
    }
    let span = cause.adopt(span(Kind::Internal, || format!("invoke_agent {agent}")));
    set(&span, "gen_ai.operation.name", "invoke_agent");
    set(&span, "gen_ai.agent.name", agent);
    set(&span, "a2a.task.id", task);
    set(&span, "a2a.turn", turn);
    if task.len() <= LONGEST_ID {
        let mut recent = lock(&RECENT);
        recent.add(task, TraceContext::of(&span));
    }
    span
}

/// The last turn of a task, if it is known here.
pub fn of_task(task: &str) -> TraceContext {
    if !bridge_telemetry::is_on() {
        return TraceContext::default();
    }
    let recent = lock(&RECENT);
    recent.contexts.get(task).cloned().unwrap_or_default()
}

/// Begins the span of a push notification, below the task's last turn.
pub fn delivery(agent: &str, task: &str, host: &str) -> Span {
    if !bridge_telemetry::is_on() {
        return Span::none();
    }
    let span = of_task(task).adopt(span(Kind::Client, || "push notification".into()));
    set(&span, "gen_ai.agent.name", agent);
    set(&span, "a2a.task.id", task);
    set(&span, "server.address", host);
    span
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_traces_of_so_many_tasks_are_known_and_no_more() {
        let mut recent = RecentTasks::new();
        for number in 0..TASKS + 10 {
            for _ in 0..2 {
                recent.add(&number.to_string(), TraceContext::default());
            }
        }
        assert_eq!((recent.contexts.len(), recent.order.len()), (TASKS, TASKS));
        assert!(!recent.contexts.contains_key("9") && recent.contexts.contains_key("10"));
    }
}
