//! Tests of lists: order, filters, pages.

use std::{cmp::Reverse, collections::BTreeSet};

use bridge_protocol::a2a::{Part, TaskState};

use super::{
    Backend,
    sample::{AGENT, Sample, artifact, at, status},
};
use crate::{Deletion, ListQuery, Page, Store, StoreError, caller::Caller};

/// Checks that context, state and time filter a list and its total, alone and together.
pub async fn filters_narrow_the_list(backend: &impl Backend) {
    let store = backend.open();
    let create = async |task: &str, context: &str, millis: i64, state: TaskState| {
        let sample = Sample::new(task).within(context);
        sample.create(&*store, 1).await;
        sample.then(&*store, millis, status(state, "so it is")).await;
    };
    create("a", "x", 10, TaskState::Working).await;
    create("b", "x", 40, TaskState::Completed).await;
    create("c", "y", 30, TaskState::Working).await;
    create("d", "x", 20, TaskState::Working).await;
    create("e", "y", 40, TaskState::InputRequired).await;
    let all = ListQuery::of(AGENT);
    let context = |query: &ListQuery| ListQuery { context_id: Some("x".into()), ..query.clone() };
    let working =
        |query: &ListQuery| ListQuery { state: Some(TaskState::Working), ..query.clone() };
    let later = |query: &ListQuery| ListQuery { after: Some(at(20)), ..query.clone() };
    for (query, expected) in [
        (all.clone(), "b e c d a"),
        (context(&all), "b d a"),
        (working(&all), "c d a"),
        (later(&all), "b e c d"),
        (working(&context(&all)), "d a"),
        (later(&working(&context(&all))), "d"),
        (ListQuery { state: Some(TaskState::Failed), ..all.clone() }, ""),
    ] {
        let page = list(&*store, &query).await;
        assert_eq!(names(&page), expected, "{query:?}");
        assert_eq!(page.total, expected.split_whitespace().count(), "{query:?}");
        assert_eq!(page.next, "");
        // Each page has the total.
        let mut short = ListQuery { page_size: 1, ..query.clone() };
        short.page_token = list(&*store, &short).await.next;
        assert_eq!(list(&*store, &short).await.total, page.total, "{short:?}");
        let known = ListQuery { known_total: Some(7), ..query };
        let page = list(&*store, &known).await;
        assert_eq!((names(&page).as_str(), page.total), (expected, 7));
    }
}

/// Checks the list of a context and that of its tasks in a state while it gets many tasks, and until all are deleted.
pub async fn contexts_are_listed_while_they_grow_and_shrink(backend: &impl Backend) {
    const TASKS: usize = 20;
    const CREATED: i64 = 100;
    let store = backend.open();
    let all = ListQuery { page_size: TASKS, ..ListQuery::of(AGENT) };
    let of_context = ListQuery { context_id: Some("c".into()), ..all.clone() };
    let completed = ListQuery { state: Some(TaskState::Completed), ..of_context.clone() };
    let task = |number: usize| Sample::new(format!("t{number:02}"));
    let check = async |expected: &BTreeSet<(Reverse<i64>, usize)>| {
        let name = |(_, number): &(Reverse<i64>, usize)| task(*number).task;
        let ended = expected.iter().filter(|(Reverse(millis), _)| *millis > CREATED);
        let expected: [Vec<_>; 2] =
            [expected.iter().map(name).collect(), ended.map(name).collect()];
        for (query, expected) in [&of_context, &completed].into_iter().zip(expected) {
            let first = ListQuery { page_size: 1.max(expected.len() / 2), ..query.clone() };
            let begin = list(&*store, &first).await;
            let mut listed = vec![names(&begin)];
            if !begin.next.is_empty() {
                let rest = ListQuery { page_token: begin.next.clone(), ..query.clone() };
                listed.push(names(&list(&*store, &rest).await));
            }
            assert_eq!((listed.join(" "), begin.total), (expected.join(" "), expected.len()));
        }
    };
    Sample::new("elsewhere").within("another").create(&*store, CREATED).await;
    let mut expected = BTreeSet::new();
    for number in 0..TASKS {
        let sample = task(number);
        sample.create(&*store, CREATED).await;
        let mut millis = CREATED;
        check(&expected.iter().copied().chain([(Reverse(millis), number)]).collect()).await;
        if number % 3 == 0 {
            millis += 1 + (number / 6) as i64;
            sample.then(&*store, millis, status(TaskState::Completed, "done")).await;
        }
        expected.insert((Reverse(millis), number));
        check(&expected).await;
    }
    assert_eq!(list(&*store, &all).await.total, TASKS + 1);
    for number in 0..TASKS {
        let sample = task(number);
        store.delete(&sample.caller, &sample.task, Deletion::Forced).await.unwrap();
        expected.retain(|(_, one)| *one != number);
        check(&expected).await;
    }
    assert_eq!(list(&*store, &all).await.total, 1);
}

/// Checks that a page token is only valid for its own list, not for another caller or agent.
pub async fn page_tokens_are_valid_for_one_list(backend: &impl Backend) {
    let store = backend.open();
    Sample::new("a").create(&*store, 2).await;
    Sample::new("b").create(&*store, 1).await;
    let first = ListQuery { page_size: 1, ..ListQuery::of(AGENT) };
    let page = list(&*store, &first).await;
    let begun = |token: &str| ListQuery { page_token: token.into(), ..first.clone() };
    assert_eq!(names(&list(&*store, &begun(&page.next)).await), "b");
    let (own, other) = (Sample::new("a").caller, Caller::new("somebody else"));
    let elsewhere = ListQuery { agent: "another".into(), ..begun(&page.next) };
    for (caller, query) in [
        (&own, begun("nonsense")),
        (&own, begun("100.never")),
        (&own, elsewhere),
        (&other, begun(&page.next)),
    ] {
        let error = store.list(caller, &query).await;
        assert!(matches!(error, Err(StoreError::PageToken { .. })), "{query:?}");
    }
}

/// Checks that pages contain each unchanged task exactly once, while other tasks are updated or created.
pub async fn pages_are_stable_under_updates(backend: &impl Backend) {
    let store = backend.open();
    for index in 0..10 {
        // Pairs have equal times, so that pages also separate tasks with equal times.
        let sample = Sample::new(format!("t{index}"));
        sample.create(&*store, 100 - index / 2).await;
    }
    let mut query = ListQuery { page_size: 3, ..ListQuery::of(AGENT) };
    let mut seen = Vec::new();
    // A store that begins again with each page would have no last one.
    for round in 0..10 {
        let page = list(&*store, &query).await;
        assert_eq!(page.total, 10 + round);
        seen.push(names(&page));
        if page.next.is_empty() {
            break;
        }
        query.page_token = page.next;
        let event = status(TaskState::Working, "moved");
        let moved = ["t0", "t8", "t9"][round.min(2)];
        Sample::new(moved).then(&*store, 200, event).await;
        Sample::new(format!("new{round}")).create(&*store, 300).await;
    }
    assert_eq!(seen, ["t0 t1 t2", "t3 t4 t5", "t6 t7 t9"]);
}

/// Checks that a page ends at its limit in bytes, that a task above the limit is on a page of its own, and that content
/// that was not requested does not count.
pub async fn pages_are_limited_in_bytes(backend: &impl Backend) {
    let store = backend.open();
    for (millis, task, size) in
        [(1, "e", 10), (2, "d", 10), (3, "c", 5_000), (4, "b", 500), (5, "a", 500)]
    {
        let sample = Sample::new(task);
        sample.create(&*store, millis).await;
        let part = Part::text("x".repeat(size));
        sample.then(&*store, millis, artifact("made", part, false)).await;
    }
    let whole = ListQuery { page_bytes: 2_000, ..ListQuery::of(AGENT) };
    let small = ListQuery { artifacts: false, history: Some(0), ..whole.clone() };
    let short = ListQuery { page_size: 2, ..small.clone() };
    for (query, expected) in [
        (whole, vec!["a b", "c", "d e"]),
        (small, vec!["a b c d e"]),
        (short, vec!["a b", "c d", "e"]),
    ] {
        let (mut query, mut pages) = (query, Vec::new());
        loop {
            let page = list(&*store, &query).await;
            assert_eq!(page.total, 5);
            pages.push(names(&page));
            assert!(pages.len() <= page.total, "each page begins after the one before: {pages:?}");
            if page.next.is_empty() {
                break;
            }
            query.page_token = page.next;
        }
        assert_eq!(pages, expected);
    }
}

async fn list(store: &dyn Store, query: &ListQuery) -> Page {
    store.list(&Sample::new("").caller, query).await.unwrap()
}

fn names(page: &Page) -> String {
    let names: Vec<&str> = page.tasks.iter().map(|one| one.task.id.as_str()).collect();
    names.join(" ")
}
