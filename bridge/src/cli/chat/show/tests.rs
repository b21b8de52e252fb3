//! Tests of the output for answers of all kinds of agents.

use super::*;

use serde_json::{Value, json};

fn said(id: &str, text: &str) -> Value {
    json!({"messageId": id, "role": "ROLE_AGENT", "parts": [{"text": text}]})
}

fn piece(text: &str, append: bool) -> Value {
    json!({"artifactUpdate": {"taskId": "t", "contextId": "c", "append": append,
        "artifact": {"artifactId": "a", "parts": [{"text": text}]}}})
}

fn status(state: &str, message: &Value) -> Value {
    json!({"statusUpdate": {"taskId": "t", "contextId": "c",
        "status": {"state": state, "message": message}}})
}

/// Returns the output for these events in order, and at their end.
fn shown(events: &[Value]) -> Vec<String> {
    let mut show = Printer::new(false);
    show.begin("asked", &[]);
    let events = events.iter().map(|event| StreamResponse::read(event.clone()).unwrap());
    let mut all: Vec<String> = events.map(|event| show.text(&event)).collect();
    all.push(show.held() + &show.closed());
    all
}

#[test]
fn an_answer_is_shown_once_and_as_it_comes() {
    let changed = |activity: Value| {
        json!({"statusUpdate": {"taskId": "t", "contextId": "c",
            "status": {"state": "TASK_STATE_WORKING", "message": said("1", "one")},
            "metadata": {"urn:activity:event": activity}}})
    };
    let events = [
        (json!({"task": {"id": "t", "status": {"state": "TASK_STATE_SUBMITTED"}}}), ""),
        (status("TASK_STATE_WORKING", &said("1", "one")), "one"),
        (piece("Hel", false), "\nHel"),
        (piece("lo", true), "lo"),
        (status("TASK_STATE_WORKING", &said("2", "two")), "\ntwo"),
        (piece("new", false), "\nnew"),
        (status("TASK_STATE_COMPLETED", &said("2", "two")), ""),
        (
            status(
                "TASK_STATE_FAILED",
                &json!({"messageId": "3", "role": "ROLE_AGENT",
                "parts": [{"text": "no"}, {"text": "\nbecause"}]}),
            ),
            "\nno\nbecause\n[failed]\n",
        ),
        (
            changed(json!({"type": "messageUpdate", "id": "1", "text": "uno"})),
            "[an earlier message is now: uno]\n",
        ),
        (
            changed(json!({"type": "messageDelete", "id": "1"})),
            "[an earlier message was deleted]\n",
        ),
        (changed(json!({"type": "trace", "id": "1"})), ""),
        (
            changed(json!({"type": "event", "name": "opened", "value": {"page": 1}})),
            "[event opened {\"page\":1}]\n",
        ),
    ];
    let (events, mut expected): (Vec<Value>, Vec<&str>) = events.into_iter().unzip();
    expected.push("");
    assert_eq!(shown(&events), expected);
}

#[test]
fn an_answer_in_several_places_is_shown_once() {
    let task = |history: Value, artifacts: Value, message: Value| {
        json!({"task": {"id": "t", "history": history, "artifacts": artifacts,
            "status": {"state": "TASK_STATE_COMPLETED", "message": message}}})
    };
    let asked = json!({"messageId": "asked", "role": "ROLE_USER", "parts": [{"text": "hi"}]});
    let artifact = json!([{"artifactId": "a", "parts": [{"text": "Hel"}, {"text": "lo"}]}]);
    let hello = || said("1", "Hello");
    let working = |id: &str, text: &str| status("TASK_STATE_WORKING", &said(id, text));
    let whole = |text: &str| json!([{"artifactId": "a", "parts": [{"text": text}]}]);
    for (events, expected) in [
        (vec![task(json!([asked, hello()]), artifact.clone(), said("2", "Hello"))], "Hello\n"),
        (vec![task(json!([]), artifact, hello())], "Hello\n"),
        (vec![task(json!([hello(), asked]), json!([]), Value::Null)], ""),
        // The whole text after its pieces, and the other way round.
        (
            vec![piece("Hel", false), piece("lo", true), status("TASK_STATE_COMPLETED", &hello())],
            "Hello\n",
        ),
        (vec![working("1", "Hello"), piece("Hel", false), piece("lo", true)], "Hello\n"),
        (vec![working("1", "Hel"), working("2", "lo"), piece("Hello", false)], "Hel\nlo\n"),
        // Pieces that are separate messages.
        (
            vec![
                working("1", "So"),
                working("2", " it"),
                working("3", "self"),
                piece("So itself", false),
            ],
            "So itself\n",
        ),
        (
            vec![task(
                json!([asked, said("1", "So"), said("2", " it")]),
                whole("So it"),
                Value::Null,
            )],
            "So it\n",
        ),
        // A text with a known beginning is printed once it is certain that it differs.
        (vec![working("1", "Hello"), piece("Hel", false), piece("m", true)], "Hello\nHelm\n"),
        (vec![working("1", "Hello"), piece("Hel", false)], "Hello\nHel\n"),
        // The same words in two messages are printed twice.
        (vec![working("1", "Hello"), working("2", "Hello")], "Hello\nHello\n"),
    ] {
        assert_eq!(shown(&events).concat(), expected, "{events:?}");
    }
}

/// VoltAgent's server repeats the whole task with each piece of its answer.
#[test]
fn a_message_that_grows_in_the_task_is_shown_as_it_grows() {
    let task = |state: &str, text: &str| {
        let answer = said("1", text);
        let asked = json!({"messageId": "asked", "role": "ROLE_USER", "parts": [{"text": "hi"}]});
        json!({"task": {"id": "t", "contextId": "c", "history": [asked, answer],
            "status": {"state": state, "message": answer}}})
    };
    let (working, completed) = ("TASK_STATE_WORKING", "TASK_STATE_COMPLETED");
    let events = [
        task(working, ""),
        task(working, "You said: "),
        task(working, "You said: hi"),
        task(completed, "You said: hi"),
    ];
    assert_eq!(shown(&events), ["", "You said: ", "hi", "", "\n"]);
    let events = [task(working, "One moment."), task(completed, "You said: hi")];
    assert_eq!(shown(&events).concat(), "One moment.\nYou said: hi\n");
}

/// Agno's server streams a text as messages with one id, each with a piece, and its tasks have no message of a user.
#[test]
fn messages_in_the_stream_of_a_task_are_pieces_if_they_share_an_id() {
    let message = |id: &str, text: &str| {
        let mut message = said(id, text);
        message["taskId"] = json!("t");
        json!({"message": message})
    };
    let state = |state: &str| json!({"statusUpdate": {"taskId": "t", "contextId": "c", "status": {"state": state}}});
    let task = json!({"task": {"id": "t", "contextId": "c", "history": [said("1", "Echo: Hi!")],
        "status": {"state": "TASK_STATE_COMPLETED"}}});
    let events = [
        state("TASK_STATE_WORKING"),
        message("1", "Echo: "),
        message("1", "Hi"),
        message("1", "!"),
        state("TASK_STATE_COMPLETED"),
        task.clone(),
    ];
    assert_eq!(shown(&events), ["", "Echo: ", "Hi", "!", "", "", "\n"]);
    let events = [message("1", "one"), message("2", "two")];
    assert_eq!(shown(&events).concat(), "one\ntwo\n");
    assert_eq!(shown(&[task]).concat(), "Echo: Hi!\n");
}

#[test]
fn an_agent_that_only_deletes_a_message_has_told_something() {
    for (kind, is_told) in [("messageDelete", true), ("event", true), ("trace", false)] {
        let metadata = json!({EVENT: {"type": kind, "id": "1"}});
        let mut update = status("TASK_STATE_WORKING", &Value::Null);
        update["statusUpdate"]["metadata"] = metadata.clone();
        let task = json!({"task": {"id": "t", "metadata": metadata, "status": {"state": "TASK_STATE_COMPLETED"}}});
        for event in [update, task] {
            let mut show = Printer::new(false);
            show.begin("asked", &[]);
            show.text(&StreamResponse::read(event).unwrap());
            assert_eq!(show.has_told(), is_told, "{kind}");
        }
    }
}

/// Whoever does not stream gets the task only, with the reports of earlier turns.
#[test]
fn what_a_task_reports_is_shown_once() {
    let deleted = |id: &str| json!({"type": "messageDelete", "id": id});
    let opened = json!({"type": "event", "name": "opened"});
    let task = |metadata: Value| json!({"task": {"id": "t", "metadata": metadata, "status": {"state": "TASK_STATE_INPUT_REQUIRED"}}});
    let mut update = status("TASK_STATE_WORKING", &Value::Null);
    update["statusUpdate"]["metadata"] = json!({ EVENT: deleted("2") });
    let events = [
        task(json!({ EVENT: deleted("1") })),
        task(json!({EVENT: opened, EVENTS: [opened]})),
        update,
        task(json!({EVENT: deleted("2"), EVENTS: [opened]})),
        task(json!({EVENT: {"type": "messageUpdate", "id": "3"}, EVENTS: [opened]})),
    ];
    let expected = [
        "[an earlier message was deleted]\n",
        "[event opened]\n",
        "[an earlier message was deleted]\n",
        "",
        "[an earlier message was changed]\n",
        "",
    ];
    assert_eq!(shown(&events), expected);
}

#[test]
fn a_long_answer_in_pieces_is_kept_once() {
    let mut show = Printer::new(false);
    for index in 0..1_000 {
        show.text(&StreamResponse::read(piece("word ", index > 0)).unwrap());
    }
    let Turn { told, made, growing, .. } = &show.turn;
    let kept = told.iter().chain(made).map(String::len).sum::<usize>();
    assert_eq!(kept + growing["a"].key.len(), 1_000 * "word".len());
    // A beginning of it that was shown is not shown again, but another text is.
    for (text, expected) in [("word word", ""), ("wor", "\nwor\n")] {
        let event = status("TASK_STATE_COMPLETED", &said(text, text));
        assert_eq!(show.text(&StreamResponse::read(event).unwrap()), expected);
    }
}

#[test]
fn an_artifact_without_content_says_nothing() {
    let mut show = Printer::new(false);
    show.text(&StreamResponse::read(piece("", false)).unwrap());
    assert!(!show.has_told());
    show.text(&StreamResponse::read(piece("a", true)).unwrap());
    assert!(show.has_told());
}
