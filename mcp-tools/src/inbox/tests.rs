use serde_json::json;

use super::*;

fn received(inbox: &Inbox, id: &str, text: &str) -> Receipt {
    let message = json!({"messageId": id, "parts": [{"text": text}]});
    inbox.receive("green", message, Timestamp::UNIX_EPOCH)
}

fn ids(inbox: &Inbox, filter: &Filter) -> Vec<String> {
    let messages = inbox.list(filter).into_iter();
    messages.filter_map(|m| m.message_id).collect()
}

#[test]
fn messages_are_numbered_and_a_repeated_one_is_no_new_one() {
    let inbox = Inbox::default();
    assert_eq!(received(&inbox, "a", "x"), Receipt::New(1));
    assert_eq!(received(&inbox, "b", "x"), Receipt::New(2));
    inbox.acknowledge(&["a".to_owned()]);
    assert_eq!(received(&inbox, "a", "x"), Receipt::Duplicate(1));
    let waiting = Filter { acknowledged: Some(false), ..Filter::default() };
    assert_eq!(ids(&inbox, &waiting), ["a", "b"], "its sender does not know yet");
    let other = inbox.receive("other", json!({"messageId": "a"}), Timestamp::UNIX_EPOCH);
    assert_eq!(other, Receipt::New(3), "another sender's ids are its own");
}

#[test]
fn a_message_without_an_id_is_always_new() {
    let inbox = Inbox::default();
    let text = || json!("hello");
    assert_eq!(inbox.receive("green", text(), Timestamp::UNIX_EPOCH), Receipt::New(1));
    assert_eq!(inbox.receive("green", text(), Timestamp::UNIX_EPOCH), Receipt::New(2));
}

#[test]
fn a_message_has_its_words_and_its_goal() {
    let inbox = Inbox::default();
    let message = json!({"parts": [
        {"text": "ready"}, {"data": {"episodeId": "e"}}, {"data": {"goal": "Open it.", "task_id": "vault"}},
        {"text": "go"},
    ]});
    inbox.receive("green", message, Timestamp::UNIX_EPOCH);
    received(&inbox, "b", "later");
    let [first, second] = &inbox.history()[..] else { panic!("two messages") };
    assert_eq!((first.text().as_str(), first.goal()), ("ready\ngo", Some("Open it.")));
    assert_eq!((second.text().as_str(), second.goal()), ("later", None));
}

#[test]
fn filters_say_what_is_wanted() {
    let inbox = Inbox::default();
    received(&inbox, "a", "words");
    received(&inbox, "b", "- **Transport**: http\n- **URL**: http://localhost/");
    inbox.acknowledge(&["a".to_owned(), "unknown".to_owned()]);
    let all = Filter::default();
    for (filter, expected) in [
        (all, &["a", "b"][..]),
        (Filter { kind: Some(Kind::McpDetails), ..all }, &["b"]),
        (Filter { kind: Some(Kind::Text), ..all }, &["a", "b"]),
        (Filter { kind: Some(Kind::Other), ..all }, &[]),
        (Filter { acknowledged: Some(true), ..all }, &["a"]),
        (Filter { after: 1, ..all }, &["b"]),
    ] {
        assert_eq!(ids(&inbox, &filter), expected, "{filter:?}");
    }
}

#[test]
fn a_newer_version_of_an_artifact_replaces_it() {
    let inbox = Inbox::default();
    received(&inbox, "a", "task");
    for n in 0..MAX_MESSAGES {
        let artifact = json!({"artifactId": "log", "parts": [{"text": "x".repeat(n)}]});
        inbox.receive("green", artifact, Timestamp::UNIX_EPOCH);
    }
    inbox.receive("green", json!({"artifactId": "other"}), Timestamp::UNIX_EPOCH);
    inbox.receive("other", json!({"artifactId": "log"}), Timestamp::UNIX_EPOCH);
    let numbers: Vec<u64> = inbox.history().iter().map(|one| one.number).collect();
    assert_eq!((numbers, inbox.dropped()), (vec![1, 1025, 1026, 1027], 0));
}

#[test]
fn the_oldest_go_when_there_are_too_many() {
    let inbox = Inbox::default();
    for n in 0..MAX_MESSAGES + 2 {
        received(&inbox, &n.to_string(), "x");
    }
    assert_eq!(inbox.dropped(), 2);
    assert_eq!(inbox.history().len(), MAX_MESSAGES);
    assert_eq!(inbox.history()[0].number, 3);
}

#[test]
fn the_oldest_go_when_they_are_too_large() {
    let inbox = Inbox::default();
    let large = "x".repeat(MAX_BYTES / 2);
    for id in ["a", "b", "c"] {
        received(&inbox, id, &large);
    }
    assert_eq!(ids(&inbox, &Filter::default()), ["c"]);
}

#[tokio::test]
async fn a_waiter_gets_the_next_details() {
    let inbox = Inbox::default();
    received(&inbox, "a", "x");
    inbox.wait_after(0).await;
    let (_, receipt) = tokio::join!(inbox.wait_after(1), async { received(&inbox, "b", "x") });
    assert_eq!(receipt, Receipt::New(2));
}
