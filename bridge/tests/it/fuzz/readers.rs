//! Readers that convert a text to a value.

use std::{fmt::Debug, path::Path, sync::Arc};

use bridge::{
    config,
    metrics::Metrics,
    push::{Push, PushSettings},
    store::MemoryStore,
};
use bridge_protocol::{
    a2a::{AgentCard, Operation, Task, TaskPushNotificationConfig},
    activity::{Activity, ChannelAccount, ConversationAccount},
    dialect::{Losses, Version, card},
    jsonrpc::{BadRequest, RawRequest, Request},
    wire::{FieldError, Wire, to_value},
};
use bridge_translate::{Input, Output, SilentEnd, Translation, TranslationContext};
use serde_json::{Value, json};
use url::Host;

use super::{Verdict, bytes, corpus, fuzz, json as documents};

/// Checks that a value which is read, written and read again is the same, or at least written the same: an older
/// version may have one form for two values of 1.0.
fn comes_back<T: PartialEq + Debug>(
    what: &str,
    value: Value,
    read: impl Fn(Value) -> Result<T, FieldError>,
    write: impl Fn(&T) -> Value,
) -> Verdict {
    let Ok(first) = read(value) else {
        return Ok(());
    };
    let written = write(&first);
    match read(written.clone()) {
        Ok(second) if second == first || write(&second) == written => Ok(()),
        other => Err(format!("{what} does not come back: {first:?}\nas {written}\nis {other:?}")),
    }
}

#[test]
fn json_rpc() {
    fuzz("json_rpc", &corpus::requests(), documents::change, |input| {
        match Request::from_slice(input) {
            Ok(request) => comes_back("a request", to_value(&request), read_request, |request| {
                to_value(request)
            }),
            Err(_) => Ok(()),
        }
    });
}

fn read_request(value: Value) -> Result<Request, FieldError> {
    Request::from_value(value).map_err(|bad| FieldError::new("a request", bad.error.message))
}

/// Parameters that are read in one pass are the same as those that are read from a parsed value. A mistake in the
/// parameters of a text shows only when they are read.
#[test]
fn one_pass() {
    fuzz("one_pass", &corpus::requests(), documents::change, |input| {
        let whole = Request::from_slice(input);
        // The depth of parameters is counted from where they begin.
        let is_deep = |bad: &BadRequest| bad.error.message.contains("recursion limit");
        if whole.as_ref().is_err_and(is_deep) {
            return Ok(());
        }
        let asked = match (RawRequest::from_slice(input), &whole) {
            (Ok(asked), _) => asked,
            (Err(bad), Err(whole)) if bad == *whole => return Ok(()),
            (bad, whole) => return Err(format!("{bad:?}, in one pass, is not {whole:?}")),
        };
        Operation::ALL.into_iter().try_for_each(|operation| {
            let read = Version::V1_0.params_text_to_v1(operation, asked.params.as_bytes(), "m");
            let expected = whole.clone().map_err(|bad| bad.error).and_then(|whole| {
                let same = (&asked.id, &*asked.method) == (&whole.id, &*whole.method);
                assert!(same, "{asked:?} is not {whole:?}");
                Ok(Version::V1_0.params_to_v1(operation, whole.params, "m")?)
            });
            match (&read, &expected) {
                (Ok(read), Ok(expected)) if read == expected => Ok(()),
                (Err(_), Err(_)) => Ok(()),
                _ => Err(format!("{read:?}, in one pass, is not {expected:?}")),
            }
        })
    });
}

#[test]
fn params() {
    let known = corpus::params();
    fuzz("params", &corpus::requests(), documents::change, |input| {
        let Ok(value) = serde_json::from_slice::<Value>(input) else {
            return Ok(());
        };
        let value = value.get("params").unwrap_or(&value);
        known.iter().try_for_each(|(version, operation, _)| {
            let what = format!("{operation:?} of {version}");
            let read = |value| version.params_to_v1(*operation, value, "m");
            let write = |call: &_| version.params_from_v1(call, &mut Losses::new());
            comes_back(&what, value.clone(), read, write)
        })
    });
}

#[test]
fn results() {
    let seeds = corpus::recorded(|document| {
        let result = document.get("result").unwrap_or(document);
        ["status", "parts", "artifact", "task", "statusUpdate"]
            .iter()
            .any(|name| result.get(name).is_some())
    });
    fuzz("results", &seeds, documents::change, |input| {
        let Ok(value) = serde_json::from_slice::<Value>(input) else {
            return Ok(());
        };
        let value = value.get("result").unwrap_or(&value);
        Version::ALL.into_iter().try_for_each(|version| result(version, value))
    });
}

fn result(version: Version, value: &Value) -> Verdict {
    let what = |what: &str| format!("{what} of {version}");
    let lossy = |write: &dyn Fn(&mut Losses) -> Value| write(&mut Losses::new());
    let read = |value| version.task_to_v1(value);
    let write = |task: &Task| lossy(&|losses| version.task_from_v1(task, losses));
    comes_back(&what("a task"), value.clone(), read, write)?;
    let read = |value| version.push_config_to_v1(value);
    let write = |config: &_| lossy(&|losses| version.push_config_from_v1(config, losses));
    comes_back(&what("a setting"), value.clone(), read, write)?;
    let read = |value| version.stream_item_to_v1(value);
    let write = |item: &_| lossy(&|losses| version.stream_item_from_v1(item, losses));
    if version == Version::V0_1 {
        // It has no other items than updates, so every other item is read again as one.
        drop(read(value.clone()).map(|item| write(&item)));
        return Ok(());
    }
    comes_back(&what("an item"), value.clone(), read, write)?;
    let read = |value| version.send_result_to_v1(value);
    let write = |sent: &_| lossy(&|losses| version.send_result_from_v1(sent, losses));
    comes_back(&what("an answer"), value.clone(), read, write)
}

#[test]
fn cards() {
    let seeds = corpus::recorded(|document| document.get("skills").is_some());
    fuzz("cards", &seeds, documents::change, |input| {
        let Ok(value) = serde_json::from_slice::<Value>(input) else {
            return Ok(());
        };
        let Ok((read, _)) = card::read(value) else {
            return Ok(());
        };
        comes_back("a card", to_value(&read), AgentCard::read, to_value)?;
        for write in [card::to_v0_3, card::to_v0_1] {
            // Without a usable address no older card can be read; but it can be written.
            let _ = card::read(write(&read, &mut Losses::new()));
        }
        let _ = card::read(card::combined(&read));
        Ok(())
    });
}

#[test]
fn activities() {
    let seeds = corpus::recorded(|document| {
        document.get("type").is_some_and(Value::is_string) && document.get("parts").is_none()
    });
    let mut before = Vec::new();
    fuzz("activities", &seeds, documents::change, |input| {
        let Ok(activity) = serde_json::from_slice(input)
            .map_err(drop)
            .and_then(|value| Activity::read(value).map_err(drop))
        else {
            return Ok(());
        };
        comes_back("an activity", to_value(&activity), Activity::read, to_value)?;
        before.push(activity);
        let verdict = turn(&before);
        if before.len() == 4 {
            before.clear();
        }
        verdict
    });
}

/// Checks that a turn ends once and nothing follows.
fn turn(activities: &[Activity]) -> Verdict {
    let mut turn = Translation::new(context(), SilentEnd::Completed);
    for activity in activities {
        // Output after an end is read again.
        let _ = turn.handle(Input::Activity(activity.clone()));
    }
    let _ = turn.handle(Input::TurnEnded);
    let outputs: Vec<Output> = std::iter::from_fn(|| turn.poll()).collect();
    let ends = outputs.iter().filter(|output| **output == Output::Ended).count();
    match (ends, outputs.last()) {
        (1, Some(Output::Ended)) => Ok(()),
        _ => Err(format!("a turn without one end: {outputs:?}")),
    }
}

fn context() -> TranslationContext {
    let account = |id: &str| ChannelAccount::read(json!({"id": id})).unwrap();
    TranslationContext {
        task_id: "t".into(),
        context_id: "c".into(),
        channel_id: "a2a".into(),
        service_url: "http://bridge.test/".into(),
        conversation: ConversationAccount::read(json!({"id": "t"})).unwrap(),
        user: account("user"),
        bot: account("bot"),
        activity_id: "a".into(),
        now: "2026-11-22T00:00:00Z".into(),
        locale: None,
        delivery_mode: None,
        in_full: false,
    }
}

#[test]
fn configurations() {
    let whole = "listen = '127.0.0.1:0'\nstore = 'sled:d'\ntls = { certificate = 'c', key = 'k' }\n\
        [push]\nallow = ['loopback', '10.0.0.0/8']\nper_task = 3\nmax_age = '1h'\n[issuer]\nurl = 'http://h/'\n\
        [[agents]]\nname = 'a'\nbot = 'http://h/'\npath = '/p'\nexpire_after = '5m'\n[agents.card]\nversion = '1'\n\
        [agents.card.security_schemes.b.httpAuthSecurityScheme]\nscheme = 'Bearer'\n\
        [agents.accept.token]\nissuer = 'i'\naudience = ['a']\n[agents.auth.client_secret]\napp_id = 'a'\n\
        client_id = 'c'\nsecret = { env = 'E' }\n";
    let seeds = [config::TEMPLATE, whole].map(|text| text.as_bytes().to_vec());
    fuzz("configurations", &seeds, bytes::change, |input| {
        let text = String::from_utf8_lossy(input);
        let Err(errors) = config::parse(Path::new("a.toml"), &text, &["echo"]) else {
            return Ok(());
        };
        let lines = text.split('\n').count();
        let is_inside =
            |error: &config::ConfigError| (1..=lines).contains(&error.line) && error.column > 0;
        match !errors.0.is_empty() && errors.0.iter().all(is_inside) {
            true => Ok(()),
            false => Err(format!("errors without a place: {errors}")),
        }
    });
}

#[test]
fn push_urls() {
    let seeds = [
        "https://client.example/hook?key=1#f",
        "https://127.0.0.1:8443/",
        "https://[::ffff:127.0.0.1]/",
        "https://2130706433/",
        "https://0x7f.1/",
        "http://localhost./",
        "https://user:word@10.0.0.1/",
        "https://[64:ff9b::7f00:1]/",
        "https://１２７.0.0.1/",
        "https:\\\\127.1",
        "https://8.8.8.8@[::1]/",
    ];
    let seeds = seeds.map(|text| text.as_bytes().to_vec());
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let _within = runtime.enter();
    let settings = PushSettings::default();
    let push = Push::new(Arc::new(MemoryStore::new()), Metrics::default(), settings, None).unwrap();
    fuzz("push_urls", &seeds, bytes::change, |input| {
        let url = String::from_utf8_lossy(input).into_owned();
        let config = TaskPushNotificationConfig::read(json!({"url": url})).unwrap();
        if push.check(config, Version::V1_0).is_err() {
            return Ok(());
        }
        let parsed = url::Url::parse(&url).map_err(|error| error.to_string())?;
        let is_safe = parsed.scheme() == "https"
            && parsed.username().is_empty()
            && match parsed.host() {
                Some(Host::Domain(name)) => {
                    let name = name.trim_end_matches('.');
                    name != "localhost" && !name.ends_with(".localhost")
                }
                Some(Host::Ipv4(ip)) => {
                    !(ip.is_loopback()
                        || ip.is_private()
                        || ip.is_link_local()
                        || ip.is_unspecified())
                }
                Some(Host::Ipv6(ip)) => {
                    ip.segments()[0] & 0xe000 == 0x2000
                        || ip.to_ipv4_mapped().is_some()
                        || ip.segments()[0] == 0x64
                }
                None => false,
            };
        is_safe.then_some(()).ok_or_else(|| format!("{url:?} was taken"))
    });
}
