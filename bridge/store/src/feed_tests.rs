//! Tests of the notifications.

use bridge_protocol::a2a::TaskState;

use super::{
    feed::*,
    testing::{Sample, status},
    *,
};

fn head(task: &str, seq: Seq) -> Arc<Head> {
    let sample = Sample::new(task);
    let created = sample.append(0, 1, vec![sample.created()]);
    let mut head = Head::after(None, &sample.caller, &created).unwrap();
    head.seq = seq;
    Arc::new(head)
}

/// Publishes an append with these events of task `a`. The text of each event has `bytes` bytes.
fn publish(feed: &Feed, seqs: impl IntoIterator<Item = Seq>, bytes: usize) {
    let text = "x".repeat(bytes);
    let stored = |seq| {
        let event = vec![status(TaskState::Working, &text)];
        Sample::new("a").append(seq - 1, 1, event).into_stored()
    };
    let events: Vec<StoredEvent> = seqs.into_iter().flat_map(stored).collect();
    feed.publish_events(&head("a", last(&events)), &events.into());
}

/// Returns the numbers of the next queued events of a watcher.
fn queued(watch: &mut Watch, seen: Seq) -> Option<Vec<Seq>> {
    let events = watch.events(seen)?;
    Some(events.iter().map(|stored| stored.seq).collect())
}

#[test]
fn a_task_is_removed_with_its_last_watcher() {
    let feed = Feed::default();
    let (one, two, other) = (feed.watch("a"), feed.watch("a"), feed.watch("b"));
    assert_eq!(feed.watched(), 2);
    drop(one);
    feed.publish(&head("a", 3));
    assert_eq!((feed.watched(), two.seq()), (2, 3));
    drop((two, other));
    assert_eq!(feed.watched(), 0);
}

#[test]
fn events_are_wanted_only_if_a_watcher_requests_them() {
    let feed = Feed::default();
    let plain = feed.watch("a");
    assert!(!feed.wants_events("a"));
    let other = feed.watch("b").with_events().with_events();
    assert!(!feed.wants_events("a") && feed.wants_events("b"));
    let watch = feed.watch("a").with_events();
    assert!(feed.wants_events("a"));
    drop((other, watch));
    assert!(!feed.wants_events("a") && !feed.wants_events("b"));
    drop(plain);
}

#[test]
fn the_current_head_is_passed_to_one_watcher_only() {
    let feed = Feed::default();
    let one = feed.watch("a");
    let other = feed.watch("a").with_head(&head("a", 4));
    assert_eq!((one.seq(), other.seq()), (0, 4));
}

#[tokio::test]
async fn a_watcher_never_goes_back_to_an_earlier_head() {
    let feed = Feed::default();
    let mut watch = feed.watch("a");
    for seq in [2, 5, 4] {
        feed.publish(&head("a", seq));
    }
    assert_eq!(watch.after(2).await.unwrap().seq, 5);
}

#[tokio::test]
async fn a_waiting_watcher_is_woken_by_events_and_by_the_end_of_the_feed() {
    let feed = Feed::default();
    let (mut one, mut other) = (feed.watch("a"), feed.watch("a"));
    let all = async {
        tokio::join!(one.after(2), other.after(3), async {
            feed.publish(&head("a", 2));
            tokio::task::yield_now().await;
            feed.publish(&head("a", 3));
            tokio::task::yield_now().await;
            drop(feed);
        })
    };
    let (one, other, ()) = all.await;
    assert_eq!((one.unwrap().seq, other), (3, None));
}

#[test]
fn events_are_queued_for_watchers_that_request_them() {
    let feed = Feed::default();
    let (mut plain, mut one, mut two) =
        (feed.watch("a"), feed.watch("a").with_events(), feed.watch("a").with_events());
    publish(&feed, [2, 3], 10);
    publish(&feed, [4], 10);
    assert_eq!(queued(&mut plain, 1), None);
    // The events are shared, not copied.
    let (first, same) = (one.events(1).unwrap(), two.events(1).unwrap());
    assert!(Arc::ptr_eq(&first, &same));
    assert_eq!(queued(&mut one, 3), Some(vec![4]));
    assert_eq!(queued(&mut one, 4), None);
    // A watcher that has seen a part of an append gets all of it again. It does not get appends that it has seen completely.
    publish(&feed, [5, 6], 10);
    assert_eq!(queued(&mut two, 5), Some(vec![5, 6]));
}

#[test]
fn events_after_a_gap_are_read_from_the_log() {
    let feed = Feed::default();
    let mut watch = feed.watch("a").with_events();
    publish(&feed, [5], 10);
    assert_eq!(queued(&mut watch, 3), None);
    assert_eq!(queued(&mut watch, 4), Some(vec![5]));
}

#[test]
fn an_append_is_queued_once_if_it_is_published_twice() {
    let feed = Feed::default();
    let mut watch = feed.watch("a").with_events();
    let third = MAX_WATCHER_BYTES / 3;
    for seq in [2, 2, 3] {
        publish(&feed, [seq], third);
    }
    assert_eq!(queued(&mut watch, 1), Some(vec![2]));
    assert_eq!(queued(&mut watch, 2), Some(vec![3]));
}

#[test]
fn a_watcher_that_has_caught_up_gets_events_again() {
    let feed = Feed::default();
    let mut watch = feed.watch("a").with_events();
    for seq in 1..=9 {
        publish(&feed, [seq], MAX_WATCHER_BYTES / 2);
        assert_eq!(queued(&mut watch, seq - 1), Some(vec![seq]));
    }
}

#[test]
fn a_task_is_awaited_from_the_last_event_that_all_watchers_know() {
    let feed = Feed::default();
    let watches = [2, 4, 3].map(|seq| feed.watch("a").with_head(&head("a", seq)));
    assert_eq!(feed.awaited(), [("a".into(), 2)]);
    drop(watches);
}

#[test]
fn a_watcher_that_falls_behind_reads_the_log() {
    let feed = Feed::default();
    let mut watch = feed.watch("a").with_events();
    let half = MAX_WATCHER_BYTES / 2;
    for seq in 1..=3 {
        publish(&feed, [seq], half);
    }
    publish(&feed, [4], MAX_WATCHER_BYTES);
    publish(&feed, [5], 10);
    assert_eq!((watch.seq(), queued(&mut watch, 0)), (5, Some(vec![1])));
    assert_eq!(queued(&mut watch, 1), None);
    assert_eq!(queued(&mut watch, 4), Some(vec![5]));
    drop(watch);
    let permits = feed.watched.permits.available_permits();
    assert_eq!(permits, MAX_FEED_BYTES / UNIT_BYTES);
}

#[test]
fn queued_events_of_all_watchers_are_limited() {
    let feed = Feed::default();
    let each = MAX_WATCHER_BYTES / 2;
    let most = 2 * MAX_FEED_BYTES / MAX_WATCHER_BYTES;
    let mut slow = Vec::new();
    for seq in 1..=most as Seq {
        slow.push(feed.watch("a").with_events());
        publish(&feed, [seq], each);
    }
    let (mut late, seq) = (feed.watch("a").with_events(), most as Seq);
    publish(&feed, [seq + 1], each);
    assert_eq!((late.seq(), queued(&mut late, seq)), (seq + 1, None));
    drop(slow);
    publish(&feed, [seq + 2], each);
    assert_eq!(queued(&mut late, seq + 1), Some(vec![seq + 2]));
}
