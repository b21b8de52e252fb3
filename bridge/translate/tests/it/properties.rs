//! Property tests for all activities, messages and orders of events.

use std::collections::BTreeSet;

use bridge_protocol::{
    a2a::{Message, Metadata, Task, TaskState, TaskStatus},
    activity::Activity,
    wire::{Wire, to_value},
};
use bridge_translate::{
    Input, Output, SilentEnd, Translation, TranslationContext, from_activity, full_activity, keys,
    to_activity,
};
use proptest::{collection::vec, prelude::*, test_runner::RngSeed};
use serde_json::{Value, json};

use super::{arbitrary, context, request};

/// Returns a configuration with the same cases in every run, without files for failed cases.
fn config() -> ProptestConfig {
    ProptestConfig {
        cases: 256,
        rng_seed: RngSeed::Fixed(7),
        failure_persistence: None,
        ..ProptestConfig::default()
    }
}

const ADDRESS: [&str; 6] =
    ["serviceUrl", "channelId", "conversation", "from", "recipient", "replyToId"];

proptest! {
    #![proptest_config(config())]

    #[test]
    fn an_activity_comes_back(document in arbitrary::activity()) {
        let turn = context(&Value::Null);
        let activity = Activity::read(document).unwrap();
        let message = from_activity::message(&activity, &turn, "m-1".into());
        let message = Message::read(to_value(&message)).unwrap();
        let back = to_value(&to_activity::reply(&message, &turn));
        prop_assert_eq!(back, addressed(&activity));
    }

    #[test]
    fn an_activity_that_is_carried_whole_comes_back_from_bridge_to_bridge(
        document in arbitrary::activity(),
    ) {
        let turn = TranslationContext { in_full: true, ..context(&Value::Null) };
        let activity = Activity::read(document).unwrap();
        let said = from_activity::message(&activity, &turn, "m-1".into());
        // The other bridge receives it as a message of its user.
        let heard = Message::read(to_value(&said)).unwrap();
        let Ok(Some(carried)) = full_activity::carried(&heard) else {
            let kinds = ["endOfConversation", "messageUpdate"];
            prop_assert!(kinds.contains(&activity.kind.as_str()));
            return Ok(());
        };
        let mut expected = to_value(&activity);
        expected.as_object_mut().unwrap().remove("serviceUrl");
        prop_assert_eq!(to_value(&carried), expected.clone());
        let made = to_activity::message(&heard, &task(), &turn);
        prop_assert_eq!(made.from.as_ref(), Some(&turn.user));
        let mut made = to_value(&made);
        let own = ["channelData", "callerId", "id", "timestamp", "deliveryMode"];
        for name in own.iter().chain(&ADDRESS) {
            for document in [&mut made, &mut expected] {
                document.as_object_mut().unwrap().remove(*name);
            }
        }
        prop_assert_eq!(made, expected);
    }

    #[test]
    fn another_address_is_shown_and_the_service_url_is_not(document in arbitrary::activity()) {
        let turn = context(&Value::Null);
        let activity = Activity::read(document).unwrap();
        let said = to_value(&activity);
        let message = from_activity::message(&activity, &turn, "m-1".into());
        let told = message.metadata.unwrap_or_default().remove(keys::ADDRESS).unwrap_or_default();
        for name in &ADDRESS[1..] {
            let usual = addressed(&activity)[name] == said[name];
            prop_assert_eq!(&told[name], if usual { &Value::Null } else { &said[name] });
        }
        prop_assert_eq!(&told["serviceUrl"], &Value::Null);
    }

    #[test]
    fn content_of_parts_is_not_repeated(document in arbitrary::activity()) {
        let turn = context(&Value::Null);
        let activity = Activity::read(document).unwrap();
        let message = from_activity::message(&activity, &turn, "m-1".into());
        let fields = message.metadata.unwrap_or_default().remove(keys::FIELDS).unwrap_or_default();
        prop_assert!(fields.get("attachments").is_none());
        prop_assert!(fields.get("value").is_none());
    }

    #[test]
    fn a_message_comes_back(document in arbitrary::message()) {
        let turn = context(&Value::Null);
        let message = Message::read(document).unwrap();
        let activity = to_activity::message(&message, &task(), &turn);
        let activity = Activity::read(to_value(&activity)).unwrap();
        prop_assert_eq!(request::of(&activity), Some(message));
    }

    #[test]
    fn foreign_markers_neither_break_nor_move_a_reply(document in arbitrary::message()) {
        let turn = context(&Value::Null);
        let message = Message::read(document).unwrap();
        let reply = to_value(&to_activity::reply(&message, &turn));
        let usual = addressed(&Activity::message(""));
        for name in ADDRESS {
            prop_assert_eq!(&reply[name], &usual[name]);
        }
    }

    #[test]
    fn invalid_activities_break_nothing(
        document in arbitrary::anything(),
        message in arbitrary::message(),
    ) {
        if let Ok(mut activity) = Activity::read(document) {
            activity.channel_data = Some(json!({ "message": message }));
            run(vec![Input::Activity(activity)], SilentEnd::Completed)?;
        }
    }

    #[test]
    fn a_turn_ends_once(
        inputs in vec(input(), 0..12),
        silent_end in prop_oneof![
            Just(SilentEnd::InputRequired), Just(SilentEnd::Completed), Just(SilentEnd::Working),
        ],
    ) {
        run(inputs, silent_end)?;
    }
}

/// Returns the expected activity: with the turn's address and an id.
fn addressed(activity: &Activity) -> Value {
    let mut expected = to_value(activity);
    let turn = context(&Value::Null);
    let fields = expected.as_object_mut().unwrap();
    fields.insert("serviceUrl".into(), turn.service_url.into());
    fields.insert("channelId".into(), turn.channel_id.into());
    fields.insert("conversation".into(), to_value(&turn.conversation));
    fields.insert("from".into(), to_value(&turn.bot));
    fields.insert("recipient".into(), to_value(&turn.user));
    fields.insert("replyToId".into(), turn.activity_id.into());
    fields.entry("id").or_insert("m-1".into());
    expected
}

fn task() -> Task {
    Task {
        id: "task-1".into(),
        context_id: None,
        status: TaskStatus::new(TaskState::Working),
        artifacts: vec![],
        history: vec![],
        metadata: None,
        extra: Metadata::new(),
    }
}

fn input() -> impl Strategy<Value = Input> {
    prop_oneof![
        16 => arbitrary::activity().prop_map(|activity| {
            Input::Activity(Activity::read(activity).unwrap())
        }),
        1 => Just(Input::TurnEnded),
        1 => Just(Input::Failed("broken".into())),
        1 => Just(Input::Canceled),
        1 => Just(Input::TimedOut),
        2 => Just(Input::Lull),
    ]
}

/// Runs a turn to its end and checks the invariants of its outputs.
fn run(mut inputs: Vec<Input>, silent_end: SilentEnd) -> Result<(), TestCaseError> {
    inputs.push(Input::TurnEnded);
    let mut turn = Translation::new(context(&Value::Null), silent_end);
    let (mut open, mut ids) = (BTreeSet::new(), BTreeSet::new());
    let mut has_ended = false;
    for input in inputs {
        let is_activity = matches!(input, Input::Activity(_));
        prop_assert_eq!(turn.handle(input).is_err(), has_ended && is_activity);
        while let Some(output) = turn.poll() {
            prop_assert!(!has_ended, "{output:?} after the end");
            match output {
                Output::Said(message) => {
                    ids.insert(message.message_id);
                }
                Output::Status { message, .. } => {
                    ids.extend(message.map(|message| message.message_id));
                }
                Output::Artifact { artifact, append, last_chunk, .. } => {
                    prop_assert!(!artifact.parts.is_empty());
                    let id = artifact.artifact_id;
                    prop_assert!(!append || open.contains(&id), "{id} is not open");
                    match last_chunk {
                        true => drop(open.remove(&id)),
                        false => drop(open.insert(id)),
                    }
                }
                Output::Metadata(metadata) => prop_assert!(!metadata.is_empty()),
                Output::Revised { message_id, message, metadata, is_quiet } => {
                    // Text that was also streamed is removed without an event.
                    prop_assert!(is_quiet || !metadata.is_empty());
                    // A stream that was taken back is closed.
                    if message.is_none() {
                        open.remove(&message_id);
                    }
                }
                Output::Ended => has_ended = true,
            }
        }
    }
    prop_assert!(has_ended && turn.has_ended());
    prop_assert!(open.is_empty(), "{open:?} were never closed");
    prop_assert!(!ids.contains("act-1"), "the user's id was taken");
    Ok(())
}
