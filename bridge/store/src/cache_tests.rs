//! Tests of the cache.

use bridge_protocol::a2a::{Artifact, Metadata, Part, TaskState};

use super::{
    cache::*,
    testing::{Sample, status},
    *,
};

fn cached(seq: Seq, bytes: usize) -> CachedTask {
    let mut cached = CachedTask::empty(&head_after(&created_append("t")));
    (cached.snapshot.seq, cached.bytes) = (seq, bytes);
    cached
}

#[test]
fn tasks_that_are_not_read_are_dropped() {
    let cache = Cache::new(100);
    for (task, bytes) in [("a", 20), ("b", 20), ("c", 20)] {
        cache.put(task, cached(1, bytes));
    }
    assert!(cache.get("a", 1).is_some());
    for (task, bytes) in [("d", 20), ("e", 20), ("large", 51), ("too large", 201)] {
        cache.put(task, cached(1, bytes));
    }
    let tasks = ["a", "b", "c", "d", "e", "large", "too large"];
    let there = tasks.map(|task| cache.get(task, 1).is_some());
    assert_eq!(there, [true, false, false, true, true, true, false]);
    cache.put("larger", cached(1, 200));
    assert!(cache.get("large", 1).is_none() && cache.get("larger", 1).is_some());
    assert!(cache.take("larger", 1).is_some() && cache.get("larger", 1).is_none());
}

#[test]
fn a_task_is_found_by_its_event_number_or_removed_for_an_update() {
    let cache = Cache::new(100);
    cache.put("a", cached(3, 1));
    cache.put("a", cached(2, 1));
    assert!(cache.get("a", 2).is_none() && cache.get("a", 4).is_none());
    assert!(cache.take("a", 2).is_none());
    assert_eq!(cache.take("a", 4).unwrap().snapshot.seq, 3);
    assert!(cache.get("a", 3).is_none());
}

fn created_append(task: &str) -> Append {
    let sample = Sample::new(task);
    sample.append(0, 1, vec![sample.created()])
}

fn head_after(created: &Append) -> Head {
    Head::after(None, &Sample::new(&*created.task).caller, created).unwrap()
}

/// Advances a cached task by this event, the one after `seq`.
fn advance(cache: &Cache, seq: Seq, event: Event) {
    let mut head = head_after(&created_append("t"));
    let append = Sample::new("t").append(seq, 2, vec![event]);
    head.seq = append.last();
    cache.advance(&head, append);
}

#[test]
fn the_size_of_a_task_is_the_size_of_its_events() {
    let cache = Cache::new(1 << 20);
    let mut read = CachedTask::empty(&head_after(&created_append("t")));
    let metadata = Metadata::from_iter([("note".to_owned(), "x".repeat(1000).into())]);
    let events = [
        Sample::new("t").created(),
        status(TaskState::Working, &"x".repeat(1000)),
        Event::Metadata { metadata, revised: None },
    ];
    for (seq, event) in (0..).zip(events) {
        advance(&cache, seq, event.clone());
        let append = Sample::new("t").append(seq, 2, vec![event]);
        append.into_stored().for_each(|stored| read.add(stored));
    }
    let generations = cache.lock();
    let held = generations.young["t"].bytes;
    assert_eq!((held, generations.bytes), (read.bytes, read.bytes));
    assert!(held > 2000, "{held}");
}

/// Returns a piece of a text.
fn piece(text: &str) -> Event {
    Event::Artifact {
        artifact: Artifact::new("answer", vec![Part::text(text)]),
        append: true,
        last_chunk: false,
        metadata: None,
    }
}

#[test]
fn a_task_of_many_pieces_takes_no_more_room_than_its_text() {
    const PIECES: Seq = 10_000;
    let cache = Cache::new(16 << 20);
    let mut read = CachedTask::empty(&head_after(&created_append("t")));
    for seq in 0..PIECES {
        let event = match seq {
            0 => Sample::new("t").created(),
            _ => piece("word "),
        };
        advance(&cache, seq, event.clone());
        let append = Sample::new("t").append(seq, 2, vec![event]);
        append.into_stored().for_each(|stored| read.add(stored));
    }
    let text = 5 * PIECES as usize;
    let generations = cache.lock();
    let held = generations.young["t"].bytes;
    assert_eq!(generations.bytes, held);
    for bytes in [held, read.bytes] {
        assert!((text..4 * text).contains(&bytes), "{bytes}");
    }
}

#[test]
fn a_cached_task_is_advanced_by_the_next_append_only() {
    let cache = Cache::new(1 << 20);
    advance(&cache, 0, Sample::new("t").created());
    for (seq, there) in [(1, true), (3, false)] {
        advance(&cache, seq, Event::TurnEnded { turn: 1 });
        assert_eq!(cache.get("t", seq + 1).is_some(), there);
    }
}

#[test]
fn an_append_to_a_shared_task_does_not_copy_it() {
    let cache = Cache::new(1 << 20);
    advance(&cache, 0, Sample::new("t").created());
    let had = cache.get("t", 1).unwrap();
    let place = Arc::as_ptr(&had.task);
    advance(&cache, 1, status(TaskState::Working, "soon"));
    advance(&cache, 2, status(TaskState::Completed, "done"));
    assert_eq!(had.task.status.state, TaskState::Submitted);
    drop(had);
    let now = cache.get("t", 3).unwrap();
    assert_eq!(now.task.status.state, TaskState::Completed);
    assert_eq!(Arc::as_ptr(&now.task), place);
}

#[test]
fn a_task_that_is_taken_has_all_of_its_appends() {
    let cache = Cache::new(1 << 20);
    advance(&cache, 0, Sample::new("t").created());
    let _had = cache.get("t", 1).unwrap();
    advance(&cache, 1, status(TaskState::Completed, "done"));
    let taken = cache.take("t", 2).unwrap();
    assert_eq!(taken.snapshot.seq, 2);
    assert_eq!(taken.snapshot.task.status.state, TaskState::Completed);
}

#[test]
fn pending_appends_are_limited() {
    let cache = Cache::new(1 << 20);
    advance(&cache, 0, Sample::new("t").created());
    let _had = cache.get("t", 1).unwrap();
    for seq in 1..3 * MAX_PENDING as Seq {
        advance(&cache, seq, status(TaskState::Working, "still"));
        let generations = cache.lock();
        assert!(generations.young["t"].pending.len() < MAX_PENDING);
    }
}
