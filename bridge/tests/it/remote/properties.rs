//! Tests that no input from a bot breaks anything or changes another conversation.

use proptest::{
    collection::{btree_map, vec},
    option,
    prelude::*,
    sample::select,
    test_runner::{Config, TestRunner},
};
use serde_json::{Value, json};

use super::{StandIn, World, quick, remote, standin::Post};

/// Names that mean something somewhere, so that bodies come near to activities.
const NAMES: [&str; 24] = [
    "type",
    "id",
    "text",
    "entities",
    "attachments",
    "contentUrl",
    "content",
    "contentType",
    "value",
    "code",
    "replyToId",
    "conversation",
    "from",
    "streamType",
    "streamId",
    "streamSequence",
    "members",
    "activity",
    "activities",
    "originalBase64",
    "serviceUrl",
    "relatesTo",
    "_channelId",
    "inputHint",
];

const WORDS: [&str; 14] = [
    "message",
    "typing",
    "event",
    "endOfConversation",
    "trace",
    "messageUpdate",
    "streaminfo",
    "streaming",
    "final",
    "informative",
    "unknown",
    "AAEC",
    "",
    "\u{0}\u{fffd}",
];

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        select(&WORDS[..]).prop_map(Value::from),
        ".{0,12}".prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 40, 6, |inner| {
        let fields = btree_map(select(&NAMES[..]), inner.clone(), 0..6);
        prop_oneof![
            vec(inner, 0..4).prop_map(Value::from),
            fields.prop_map(|fields| json!(fields)),
        ]
    })
}

/// Generates a body that often is an activity.
fn body() -> impl Strategy<Value = Value> {
    (any_json(), option::of(select(&WORDS[..]))).prop_map(|(mut body, kind)| {
        if let (Some(fields), Some(kind)) = (body.as_object_mut(), kind) {
            fields.insert("type".into(), kind.into());
        }
        body
    })
}

/// Whether a call names the bot's own conversation, or another's.
#[derive(Clone, Copy, Debug)]
enum Owner {
    Own,
    Other,
}

fn path() -> impl Strategy<Value = (&'static str, &'static str)> {
    select(vec![
        ("POST", "/activities"),
        ("POST", "/activities/ID"),
        ("PUT", "/activities/ID"),
        ("DELETE", "/activities/ID"),
        ("POST", "/activities/history"),
        ("POST", "/attachments"),
        ("DELETE", "/members/ID"),
        ("GET", "/members/ID"),
        ("POST", "/attachments/ID"),
    ])
}

/// The outcome of a call.
#[derive(Debug)]
struct Outcome {
    /// The HTTP status; none if the connection broke.
    status: Option<u16>,
    /// Whether the other bot's task is as it was.
    is_untouched: bool,
}

struct Setting {
    world: World,
    /// Calls at random.
    caller: StandIn,
    /// A conversation that must not change.
    other: Post,
    /// Its task.
    task: Value,
}

impl Setting {
    async fn new() -> Self {
        let (caller, other) = (StandIn::echo().await, StandIn::echo().await);
        let bots = vec![remote("caller", &caller, quick()), remote("bot", &other, quick())];
        let world = World::with(bots).await;
        let task = world.say("hi").await;
        let other = other.posts().remove(0);
        Self { world, caller, other, task }
    }

    /// Makes one call, in its own conversation or with the name of the other one.
    async fn call(&self, call: &Call) -> Outcome {
        let id = format!("m-{}", self.caller.posts().len());
        let hello = json!({"messageId": id, "role": "ROLE_USER", "parts": [{"text": "hello"}]});
        self.world.send("caller", hello).await;
        let post = self.caller.posts().pop().unwrap();
        let conversation = match call.whose {
            Owner::Own => post.conversation(),
            Owner::Other => self.other.conversation(),
        };
        let path = call.path.replace("ID", if call.names { post.id() } else { "x" });
        let url = post.route(&format!("/conversations/{conversation}{path}"));
        let request = reqwest::Client::new().request(call.method.parse().unwrap(), url);
        let answer = request.json(&call.body).send().await;
        Outcome {
            status: answer.ok().map(|answer| answer.status().as_u16()),
            is_untouched: self.world.task(&self.task["id"]).await == self.task,
        }
    }
}

/// A call as it is drawn.
#[derive(Clone, Debug)]
struct Call {
    method: &'static str,
    path: &'static str,
    whose: Owner,
    names: bool,
    body: Value,
}

fn any_call() -> impl Strategy<Value = Call> {
    let whose = select(vec![Owner::Own, Owner::Other]);
    (path(), whose, any::<bool>(), body()).prop_map(|((method, path), whose, names, body)| Call {
        method,
        path,
        whose,
        names,
        body,
    })
}

#[test]
fn no_body_breaks_the_connector_or_changes_what_is_anothers() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let scene = runtime.block_on(Setting::new());
    let config = Config { cases: 256, failure_persistence: None, ..Config::default() };
    let checked = TestRunner::new(config).run(&any_call(), |call| {
        let Outcome { status, is_untouched } = runtime.block_on(scene.call(&call));
        prop_assert!(status.is_some_and(|status| status < 500), "{status:?}");
        prop_assert!(is_untouched);
        if let Owner::Other = call.whose {
            prop_assert!(status.is_some_and(|status| status >= 400));
        }
        Ok(())
    });
    checked.unwrap();
    runtime.block_on(async move { drop(scene) });
}
