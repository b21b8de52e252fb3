//! Reads every activity under `snapshots/wire/activity` and writes it again.
//!
//! The activities come from bots of four SDKs and from the channels with which these were tested.

use bridge_protocol::{
    activity::{Activity, ActivityType},
    wire::{Wire, to_value},
};
use serde_json::Value;

#[test]
fn come_back() {
    insta::glob!("../../../../snapshots/wire/activity", "*.json", |path| {
        let text = std::fs::read(path).unwrap();
        let document: Value = serde_json::from_slice(&text).unwrap();
        let activity = Activity::read(document.clone()).unwrap();
        assert_eq!(to_value(&activity), spoken(&document), "{}", path.display());
        assert!(!matches!(activity.kind, ActivityType::Unknown(_)));
    });
}

/// Returns the document without null and empty lists among its own fields, which mean the same as absent fields.
fn spoken(document: &Value) -> Value {
    let says = |(_, value): &(String, Value)| {
        !value.is_null() && value.as_array().is_none_or(|items| !items.is_empty())
    };
    let fields = document.as_object().unwrap().clone();
    fields.into_iter().filter(says).collect()
}
