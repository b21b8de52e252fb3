//! Parses and writes durations in the form of scenario files: `30s`, `1m30s`, `1500ms`.

use std::time::Duration;

use serde::{Deserialize as _, Deserializer, Serializer, de::Error as _};
use serde_json::json;

use crate::reader::kind;

/// The description of a duration in messages.
pub(super) const EXPECTED: &str = "a duration such as \"30s\", \"1m30s\" or \"1500ms\"";

kind! {
    /// A duration such as "30s", "1m30s", "1500ms" or "0s".
    pub(crate) enum AnyDuration as "Duration" => Duration, |node| node.read(EXPECTED, parse);
    |_| json!({"type": "string", "minLength": 1, "pattern": r"^(\d+h)?(\d+m)?(\d+s)?(\d+ms)?$"})
}

kind! {
    /// A duration longer than zero, such as "30s", "1m30s" or "1500ms".
    pub(crate) enum Limit => Duration, |node| {
        let expected = format!("{EXPECTED}, longer than zero");
        node.read(&expected, |text| parse(text).filter(|limit| !limit.is_zero()))
    };
    |_| json!({"type": "string", "pattern": r"^(?=.*[1-9])(\d+h)?(\d+m)?(\d+s)?(\d+ms)?$"})
}

/// The units of a duration in milliseconds, in the order in which they must be written.
const UNITS: [(&str, u64); 4] = [("h", 3_600_000), ("m", 60_000), ("s", 1_000), ("ms", 1)];

/// Parses a duration: numbers with units, from large to small.
pub fn parse(text: &str) -> Option<Duration> {
    let mut units = UNITS.iter();
    let mut rest = text;
    let mut millis = 0_u64;
    while !rest.is_empty() {
        let (number, after) = rest.split_at(rest.find(|c: char| !c.is_ascii_digit())?);
        let end = after.find(|c: char| c.is_ascii_digit());
        let (unit, next) = after.split_at(end.unwrap_or(after.len()));
        let (_, factor) = units.find(|(name, _)| *name == unit)?;
        let part = number.parse::<u64>().ok()?.checked_mul(*factor)?;
        millis = millis.checked_add(part)?;
        rest = next;
    }
    (!text.is_empty()).then(|| Duration::from_millis(millis))
}

/// Serializes for serde's `with`: seconds if they are whole, otherwise milliseconds.
pub(super) fn serialize<S: Serializer>(
    duration: &Duration,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    let text = match duration.subsec_millis() {
        0 => format!("{}s", duration.as_secs()),
        _ => format!("{}ms", duration.as_millis()),
    };
    serializer.serialize_str(&text)
}

/// Deserializes for serde's `with`.
pub(super) fn deserialize<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Duration, D::Error> {
    let text = String::deserialize(deserializer)?;
    parse(&text).ok_or_else(|| D::Error::custom(format!("expected {EXPECTED}, found {text:?}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_numbers_with_units_from_large_to_small() {
        for (text, millis) in [
            ("30s", Some(30_000)),
            ("2m", Some(120_000)),
            ("1500ms", Some(1_500)),
            ("1h", Some(3_600_000)),
            ("1m30s", Some(90_000)),
            ("1h1m1s1ms", Some(3_661_001)),
            ("0s", Some(0)),
            ("", None),
            ("30", None),
            ("s", None),
            ("-1s", None),
            ("1.5s", None),
            ("30s1m", None),
            ("1s1s", None),
            ("1d", None),
            ("30 s", None),
            ("99999999999999999h", None),
            ("99999999999999999999s", None),
        ] {
            let expected = millis.map(Duration::from_millis);
            assert_eq!(parse(text), expected, "{text:?}");
        }
    }
}
