//! Inputs that failed before; every run begins with them.

/// Target and input.
const CASES: &[(&str, &str)] = &[
    ("params", r#"{"params":{"id":"t","pushNotificationConfig":{"taskId":true,"url":""}}}"#),
    // An empty id names no context, and is not written as one.
    ("params", r#"{"params":{"message":{"role":"user","parts":[{"text":""}],"contextId":""}}}"#),
    // Only a call that reads a setting may leave out its id.
    ("params", r#"{"params":{"id":"","pushNotificationConfigId":""}}"#),
    // A part is identified by `kind` or by `type`, and is written with `type`.
    ("params", r#"{"params":{"message":{"role":"user","parts":[{"kind":"error","":1}]}}}"#),
    (
        "results",
        r#"{"id":"","artifacts":[{"parts":[{"kind":"function_response","":{"":3}}]}],"status":{"state":"","":""}}"#,
    ),
    // An empty id of a message names no task, in no version.
    (
        "results",
        r#"{"result":{"task":{"id":"","status":{"message":{"parts":[{}],"role":"","taskId":""},"state":""}}}}"#,
    ),
    // A card was refused in plain text.
    ("http_requests", "GET /a2a/agent/.well-known/agent-card.json\nA2A-Version: 1"),
    // Names of schemes are no fields.
    (
        "unknown_fields",
        r#"{"name":"","securitySchemes":{"x-stray":""},"skills":[],"supportedInterfaces":[]}"#,
    ),
    ("push_urls", "https:localhost.."),
];

/// Returns the cases of one target.
pub(super) fn of(target: &str) -> impl Iterator<Item = Vec<u8>> {
    let own = CASES.iter().filter(move |(name, _)| *name == target);
    own.map(|(_, input)| input.as_bytes().to_vec())
}
