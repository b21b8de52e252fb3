//! JSON merge patches (RFC 7396), one level deep: null removes a field.

use serde_json::Value;

use bridge_protocol::a2a::Metadata;

/// Returns the patch that turns `from` into `to`. Null and missing fields are equal.
pub(crate) fn diff(from: &Metadata, to: &Metadata) -> Metadata {
    let gone = from.keys().filter(|key| !to.contains_key(*key));
    let gone = gone.map(|key| (key.clone(), Value::Null));
    let set = to.iter().filter(|(key, value)| from.get(*key) != Some(value));
    let set = set.map(|(key, value)| (key.clone(), value.clone()));
    set.chain(gone).collect()
}

pub(crate) fn apply(target: &mut Metadata, patch: &Metadata) {
    for (key, value) in patch {
        match value {
            Value::Null => drop(target.remove(key)),
            value => drop(target.insert(key.clone(), value.clone())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_patch_sets_and_takes_away() {
        let object = |value: Value| value.as_object().unwrap().clone();
        let from = object(json!({"same": 1, "other": 2, "gone": 3}));
        let to = object(json!({"same": 1, "other": 4, "new": [5]}));
        let patch = diff(&from, &to);
        assert_eq!(Value::from(patch.clone()), json!({"other": 4, "gone": null, "new": [5]}));
        let mut patched = from;
        apply(&mut patched, &patch);
        assert_eq!(patched, to);
    }
}
