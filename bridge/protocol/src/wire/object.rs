//! The macro `object!`, which generates the reader and writer of a protocol object from a table of its fields.

use alloc::{string::String, vec::Vec};

use serde_json::{Map, Value};

use super::{FieldError, Wire, list};

/// The fields of an object that have not been read yet.
pub(crate) struct Fields {
    unread: Map<String, Value>,
    /// Whether a member may have a name of `a2a.proto`, once this was determined. Hardly any object has such a member,
    /// and then fields need not be looked up a second time.
    has_proto_names: Option<bool>,
}

impl Fields {
    /// Opens an object.
    pub(crate) fn of(value: Value) -> Result<Self, FieldError> {
        match value {
            Value::Object(unread) => Ok(Self::left(unread)),
            other => Err(FieldError::unexpected("an object", &other)),
        }
    }

    /// Continues with the fields of an object that were not read yet.
    pub(crate) fn left(unread: Map<String, Value>) -> Self {
        Self { unread, has_proto_names: None }
    }

    /// Makes a field available under its JSON name `key` if the object has it only under its name in `a2a.proto`:
    /// ProtoJSON allows both names. If both are present, the second is an unknown field. A `proto` without an
    /// underscore is not from `a2a.proto` but a Rust name that avoids a keyword, such as `kind` for `type`, and is
    /// ignored.
    pub(crate) fn either(&mut self, key: &str, proto: &str) -> &mut Self {
        if self.has_proto_names()
            && proto.contains('_')
            && key != proto
            && !self.unread.contains_key(key)
            && let Some(value) = self.unread.remove(proto)
        {
            self.unread.insert(key.into(), value);
        }
        self
    }

    fn has_proto_names(&mut self) -> bool {
        let names = || self.unread.keys().any(|name| name.bytes().any(|byte| byte == b'_'));
        *self.has_proto_names.get_or_insert_with(names)
    }

    /// Reads a required field.
    pub(crate) fn required<T: Wire>(&mut self, key: &str) -> Result<T, FieldError> {
        self.required_by(key, T::read)
    }

    /// Reads a required field with a function.
    pub(crate) fn required_by<T>(
        &mut self,
        key: &str,
        read: impl Fn(Value) -> Result<T, FieldError>,
    ) -> Result<T, FieldError> {
        let result = match self.unread.remove(key) {
            Some(value) => read(value),
            None => Err(missing(read)),
        };
        result.map_err(|error| error.inside(key))
    }

    /// Reads an optional field; returns its default if it is missing or null.
    pub(crate) fn optional<T: Wire + Default>(&mut self, key: &str) -> Result<T, FieldError> {
        match self.unread.remove(key) {
            None | Some(Value::Null) => Ok(T::default()),
            Some(value) => T::read(value).map_err(|error| error.inside(key)),
        }
    }

    /// Reads an optional field with a function.
    pub(crate) fn optional_by<T>(
        &mut self,
        key: &str,
        read: impl FnOnce(Value) -> Result<T, FieldError>,
    ) -> Result<Option<T>, FieldError> {
        match self.unread.remove(key) {
            None | Some(Value::Null) => Ok(None),
            Some(value) => read(value).map(Some).map_err(|error| error.inside(key)),
        }
    }

    /// Reads an optional list with a function that reads its items.
    pub(crate) fn list_by<T>(
        &mut self,
        key: &str,
        read: impl Fn(Value) -> Result<T, FieldError>,
    ) -> Result<Vec<T>, FieldError> {
        let items = self.optional_by(key, |items| list(items, read))?;
        Ok(items.unwrap_or_default())
    }

    /// Reads an optional text; an empty one counts as absent.
    pub(crate) fn filled(&mut self, key: &str) -> Result<Option<String>, FieldError> {
        let text: Option<String> = self.optional(key)?;
        Ok(text.filter(|text| !text.is_empty()))
    }

    /// Reads a field as [`Fields::optional`] does. Such a field differs only in being written always.
    pub(crate) fn always<T: Wire + Default>(&mut self, key: &str) -> Result<T, FieldError> {
        self.optional(key)
    }

    /// Reads a field as [`Fields::required`] does. Such a field differs only in protocol buffers.
    pub(crate) fn given<T: Wire>(&mut self, key: &str) -> Result<T, FieldError> {
        self.required(key)
    }

    /// Removes and returns the value of `key`, which may be null.
    pub(crate) fn take(&mut self, key: &str) -> Option<Value> {
        self.unread.remove(key)
    }

    /// Removes and returns the value of `key` if it is a text.
    pub(crate) fn text(&mut self, key: &str) -> Option<String> {
        let text = self.unread.get(key)?.as_str()?.into();
        self.unread.remove(key);
        Some(text)
    }

    /// Returns the value of `key` without removing it.
    pub(crate) fn get(&self, key: &str) -> Option<&Value> {
        self.unread.get(key)
    }

    /// Whether `key` has a value other than null.
    pub(crate) fn has(&self, key: &str) -> bool {
        self.unread.get(key).is_some_and(|value| !value.is_null())
    }

    /// Returns the fields that were not read, so that they can be preserved.
    pub(crate) fn rest(self) -> Map<String, Value> {
        self.unread
    }
}

/// Returns the error for a missing value. It reads null to learn which value the reader expects.
fn missing<T>(read: impl Fn(Value) -> Result<T, FieldError>) -> FieldError {
    match read(Value::Null) {
        Err(error) => FieldError::new(error.expected, "nothing"),
        Ok(_) => FieldError::new("a value", "nothing"),
    }
}

/// Makes a struct that is read from and written to a JSON object.
///
/// Each field is `required` or `given` (an error if missing), `optional` (its default if missing or null, left out
/// when absent) or `always` (its default if missing, written in any case). Unknown fields are stored in
/// `extra` and written again. The name of the Rust field is accepted too, see [`Fields::either`].
macro_rules! object {
    (
        $(#[doc = $doc:literal])*
        $(#[derive($derived:ident)])?
        pub struct $name:ident {
            $( $(#[doc = $field_doc:literal])* $mode:ident $field:ident: $type:ty = $key:literal, )*
        }
    ) => {
        $(#[doc = $doc])*
        $(#[derive($derived)])?
        #[derive(Clone, Debug, PartialEq)]
        pub struct $name {
            $( $(#[doc = $field_doc])* pub $field: $type, )*
            /// Unknown fields, which are preserved.
            pub extra: ::serde_json::Map<::alloc::string::String, ::serde_json::Value>,
        }

        impl $crate::wire::Wire for $name {
            fn read(value: ::serde_json::Value) -> Result<Self, $crate::wire::FieldError> {
                let mut fields = $crate::wire::Fields::of(value)?;
                Ok(Self {
                    $( $field: fields.either($key, stringify!($field)).$mode($key)?, )*
                    extra: fields.rest(),
                })
            }

            fn read_from<'de, D: ::serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
                from.deserialize_map($crate::wire::ObjectVisitor::<Self>(::core::marker::PhantomData))
            }

            fn describe(schemas: &mut $crate::wire::Schemas) -> ::serde_json::Value {
                schemas.object(stringify!($name), &[$($doc),*], |schemas| ::alloc::vec![$(
                    $crate::wire::FieldSchema {
                        name: $key,
                        is_required: matches!(stringify!($mode), "required" | "given"),
                        schema: <$type as $crate::wire::Wire>::describe(schemas),
                        doc: &[$($field_doc),*],
                    },
                )*])
            }
        }

        impl $crate::wire::ReadMembers for $name {
            fn read_members<'de, A: ::serde::de::MapAccess<'de>>(mut map: A) -> Result<Self, A::Error> {
                $( let mut $field: Option<$type> = None; )*
                let mut extra = ::serde_json::Map::new();
                while let Some($crate::wire::FieldName(name)) = map.next_key()? {
                    match &*name {
                        $( $key => $field = Some($crate::wire::object!(@next $mode map)), )*
                        _ => {
                            extra.insert(name.into_owned(), $crate::wire::object!(@next required map));
                        }
                    }
                }
                let mut fields = $crate::wire::Fields::left(extra);
                Ok(Self {
                    $( $field: match $field {
                        Some(read) => read,
                        // The field is missing, or has its other name.
                        None => fields
                            .either($key, stringify!($field))
                            .$mode($key)
                            .map_err(::serde::de::Error::custom)?,
                    }, )*
                    extra: fields.rest(),
                })
            }
        }

        impl ::serde::Serialize for $name {
            fn serialize<S: ::serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                use ::serde::ser::SerializeMap;
                let mut map = serializer.serialize_map(None)?;
                $( $crate::wire::object!(@write $mode map self.$field, $key); )*
                for (key, value) in &self.extra {
                    map.serialize_entry(key, value)?;
                }
                map.end()
            }
        }

        $crate::wire::object!(@deserialize $name);
    };
    (@next required $map:ident) => {
        $map.next_value::<$crate::wire::Read<_>>()?.0
    };
    (@next given $map:ident) => {
        $crate::wire::object!(@next required $map)
    };
    (@next $mode:ident $map:ident) => {
        $map.next_value::<$crate::wire::Read<Option<_>>>()?.0.unwrap_or_default()
    };
    (@write optional $map:ident $self:ident.$field:ident, $key:literal) => {
        if !$crate::wire::Wire::is_absent(&$self.$field) {
            $map.serialize_entry($key, &$self.$field)?;
        }
    };
    (@write $mode:ident $map:ident $self:ident.$field:ident, $key:literal) => {
        $map.serialize_entry($key, &$self.$field)?;
    };
    (@deserialize $name:ty) => {
        impl<'de> ::serde::Deserialize<'de> for $name {
            fn deserialize<D: ::serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                $crate::wire::Wire::read_from(deserializer)
            }
        }
    };
}

pub(crate) use object;

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::collections::BTreeMap;
    use proptest::{prelude::*, sample::select};
    use serde_json::json;

    /// Some fields with their names in JSON and in `a2a.proto`.
    const NAMES: [(&str, &str); 4] = [
        ("id", "id"),
        ("taskId", "task_id"),
        ("contextId", "context_id"),
        ("historyLength", "history_length"),
    ];

    fn name() -> impl Strategy<Value = &'static str> {
        let names = NAMES.into_iter().flat_map(|(key, proto)| [key, proto]);
        select(names.chain(["x", "x_y"]).collect::<alloc::vec::Vec<_>>())
    }

    /// Returns the value that is read for each name, and the unread fields.
    fn read(mut fields: Fields) -> Value {
        let values = NAMES.map(|(key, proto)| fields.either(key, proto).take(key));
        json!([values, fields.rest()])
    }

    proptest! {
        #![proptest_config(crate::arbitrary::config())]

        #[test]
        fn looking_for_proto_names_once_reads_the_same(object in prop::collection::btree_map(name(), 0..3, 0..6)) {
            let object: BTreeMap<&str, i32> = object;
            let looking_once = Fields::of(json!(object)).unwrap();
            let looking_always = Fields {
                has_proto_names: Some(true),
                ..Fields::of(json!(object)).unwrap()
            };
            prop_assert_eq!(read(looking_once), read(looking_always));
        }
    }

    #[test]
    fn rust_names_that_avoid_keywords_are_not_read() {
        let object = json!({"kind": "a", "x_y": 1});
        let mut fields = Fields::of(object.clone()).unwrap();
        assert_eq!(fields.either("type", "kind").take("type"), None);
        assert_eq!(Value::Object(fields.rest()), object);
    }
}
