//! Free-form data: JSON as `google.protobuf.Struct` and `Value`.

use alloc::{string::String, vec::Vec};

use prost_types::{ListValue, Struct, Value as ProtoValue, value::Kind};
use serde_json::{Map, Number, Value};

use super::Proto;
use crate::wire::FieldError;

/// Doubles represent every integer below this exactly.
const EXACT: f64 = 9_007_199_254_740_992.0;

impl Proto<Struct> for Map<String, Value> {
    fn to_proto(&self) -> Struct {
        let write = |(key, value): (&String, &Value)| (key.clone(), value.to_proto());
        Struct { fields: self.iter().map(write).collect() }
    }

    fn from_proto(proto: Struct) -> Result<Self, FieldError> {
        let read = |(key, value): (String, ProtoValue)| {
            let value = Value::from_proto(value).map_err(|error| error.inside(&key))?;
            Ok((key, value))
        };
        proto.fields.into_iter().map(read).collect()
    }
}

impl Proto<ProtoValue> for Value {
    fn to_proto(&self) -> ProtoValue {
        let kind = match self {
            Self::Null => Kind::NullValue(0),
            Self::Bool(flag) => Kind::BoolValue(*flag),
            // Every JSON number has a nearest double.
            Self::Number(number) => Kind::NumberValue(number.as_f64().unwrap_or_default()),
            Self::String(text) => Kind::StringValue(text.clone()),
            Self::Array(items) => {
                Kind::ListValue(ListValue { values: items.iter().map(Self::to_proto).collect() })
            }
            Self::Object(map) => Kind::StructValue(map.to_proto()),
        };
        ProtoValue { kind: Some(kind) }
    }

    fn from_proto(proto: ProtoValue) -> Result<Self, FieldError> {
        Ok(match proto.kind {
            None | Some(Kind::NullValue(_)) => Self::Null,
            Some(Kind::BoolValue(flag)) => flag.into(),
            Some(Kind::NumberValue(double)) => number(double)?.into(),
            Some(Kind::StringValue(text)) => text.into(),
            Some(Kind::ListValue(list)) => Self::Array(Vec::from_proto(list.values)?),
            Some(Kind::StructValue(map)) => Self::Object(Map::from_proto(map)?),
        })
    }
}

/// Returns a double as JSON number: whole numbers without a fraction.
fn number(double: f64) -> Result<Number, FieldError> {
    let whole = double as i64;
    match double.abs() < EXACT && whole as f64 == double {
        true => Ok(whole.into()),
        false => Number::from_f64(double)
            .ok_or_else(|| FieldError::new("a finite number", alloc::format!("{double}"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use std::string::ToString as _;

    #[test]
    fn numbers_come_back_as_json_writes_them() {
        for (double, expected) in [
            (5.0, json!(5)),
            (-0.0, json!(0)),
            (2.5, json!(2.5)),
            (1e300, json!(1e300)),
            (EXACT, json!(EXACT)),
        ] {
            assert_eq!(Value::from(number(double).unwrap()), expected);
        }
    }

    #[test]
    fn a_number_that_json_lacks_is_refused_with_its_path() {
        let nan = ProtoValue { kind: Some(Kind::NumberValue(f64::NAN)) };
        let data = Struct { fields: [("ratio".into(), nan)].into() };
        let error = Map::from_proto(data).unwrap_err();
        assert_eq!(error.to_string(), "ratio: expected a finite number, found NaN");
    }
}
