//! Tests what bots on the channel of Teams get beyond others.

use bridge::bot::remote::RemoteSettings;
use bridge_translate::full_activity::EXTENSION;
use serde_json::{Value, json};

use super::{StandIn, World, message, quick};

const NIL: &str = "00000000-0000-0000-0000-000000000000";
const OWN: &str = "72f988bf-86f1-41af-91ab-2d7cd011db47";

/// Starts a bot on this channel that is told this tenant.
async fn told(channel: &str, tenant: Option<&str>) -> (StandIn, World) {
    let bot = StandIn::echo().await;
    let settings = RemoteSettings {
        channel_id: channel.into(),
        tenant_id: tenant.map(str::to_owned),
        first_contact: true,
        ..quick()
    };
    let world = World::of(&bot, settings).await;
    (bot, world)
}

#[tokio::test]
async fn every_activity_has_a_tenant_and_the_object_id_of_the_user() {
    for (given, expected) in [(None, NIL), (Some(OWN), OWN)] {
        let (bot, world) = told("msteams", given).await;
        world.say("hi").await;
        let posts = bot.posts();
        assert_eq!(posts.len(), 2, "the first is the greeting");
        for post in &posts {
            let Value::Object(activity) = &post.activity else { panic!("{post:?}") };
            assert_eq!(activity["channelData"]["tenant"], json!({ "id": expected }));
            let conversation = &activity["conversation"];
            assert_eq!(conversation["tenantId"], expected);
            assert_eq!(conversation["conversationType"], "personal");
            let object_id = &posts[0].activity["from"]["aadObjectId"];
            assert_eq!(&activity["from"]["aadObjectId"], object_id);
            assert_eq!(object_id.as_str().map(str::len), Some(NIL.len()));
            assert_eq!(activity["recipient"].get("aadObjectId"), None);
        }
    }
}

#[tokio::test]
async fn other_channels_have_neither() {
    let (bot, world) = told("webchat", Some(OWN)).await;
    world.say("hi").await;
    for post in bot.posts() {
        let activity = post.activity.to_string();
        for name in ["tenant", "aadObjectId", "conversationType"] {
            assert!(!activity.contains(name), "{activity}");
        }
    }
}

#[tokio::test]
async fn a_member_is_found_by_its_object_id() {
    let (bot, world) = told("msteams", None).await;
    world.say("hi").await;
    let post = bot.posts().remove(1);
    let from = &post.activity["from"];
    let object_id = from["aadObjectId"].as_str().unwrap();
    let url = post.below(&format!("/members/{object_id}"));
    let (status, member) = post.call("GET", &url, &Value::Null).await;
    let mut expected = from.clone();
    expected["objectId"] = object_id.into();
    expected["tenantId"] = NIL.into();
    assert_eq!((status, member), (200, expected));
}

/// Bots decide by the tenant what a user may do.
#[tokio::test]
async fn a_client_cannot_choose_its_tenant() {
    let (bot, world) = told("msteams", None).await;
    let mut chosen = message("hi");
    chosen["extensions"] = json!([EXTENSION]);
    let channel_data = json!({"tenant": {"id": OWN}, "eventType": "x"});
    chosen["metadata"] =
        json!({EXTENSION: {"type": "message", "text": "hi", "channelData": channel_data}});
    world.send("bot", chosen).await;
    let told = &bot.posts()[1].activity["channelData"];
    assert_eq!((&told["tenant"]["id"], &told["eventType"]), (&json!(NIL), &json!("x")));
}
