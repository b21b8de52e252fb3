//! Inputs that once failed: every run begins with them.

/// Target and input.
const CASES: &[(&str, &str)] = &[
    (
        "params",
        r#"{"params":{"id":"t","pushNotificationConfig":{"taskId":true,"url":""}}}"#,
    ),
    ("push_urls", "https:localhost.."),
];

/// Those of one target.
pub(super) fn of(target: &str) -> impl Iterator<Item = Vec<u8>> {
    let own = CASES.iter().filter(move |(name, _)| *name == target);
    own.map(|(_, input)| input.as_bytes().to_vec())
}
