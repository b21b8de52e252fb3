//! The table of fields from which a protocol object's reader and writer are made.

use alloc::string::String;

use serde_json::{Map, Value};

use super::{FieldError, Wire};

/// The fields of an object that have not been read yet.
pub(crate) struct Fields {
    unread: Map<String, Value>,
    /// Whether one of them could be there by its name in `a2a.proto`, once it was asked: hardly any object has
    /// such a name, and whoever knows that need not look for each field a second time.
    has_proto_names: Option<bool>,
}

impl Fields {
    /// Opens an object.
    pub(crate) fn of(value: Value) -> Result<Self, FieldError> {
        Map::read(value).map(Self::left)
    }

    /// The fields that are left of an object.
    pub(crate) fn left(unread: Map<String, Value>) -> Self {
        Self {
            unread,
            has_proto_names: None,
        }
    }

    /// The same fields, of which one that is not there by its JSON name may be there by its name in
    /// `a2a.proto`: ProtoJSON is read with both. If both are there, the second is unknown. A name without an
    /// underscore is none of there that differs, but one that Rust wants, as `kind` for `type`.
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
        let names = || {
            self.unread
                .keys()
                .any(|name| name.bytes().any(|byte| byte == b'_'))
        };
        *self.has_proto_names.get_or_insert_with(names)
    }

    /// A field that must be there.
    pub(crate) fn required<T: Wire>(&mut self, key: &str) -> Result<T, FieldError> {
        self.required_by(key, T::read)
    }

    /// A field that must be there and is read in its own way.
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

    /// A field that may be missing or null, which means its default.
    pub(crate) fn optional<T: Wire + Default>(&mut self, key: &str) -> Result<T, FieldError> {
        match self.unread.remove(key) {
            None | Some(Value::Null) => Ok(T::default()),
            Some(value) => T::read(value).map_err(|error| error.inside(key)),
        }
    }

    /// A field that may be missing or null and is read in its own way.
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

    /// Like [`Fields::optional`]; the difference is in the writing, where the field is never left out.
    pub(crate) fn always<T: Wire + Default>(&mut self, key: &str) -> Result<T, FieldError> {
        self.optional(key)
    }

    /// The raw value under `key`, null included.
    pub(crate) fn take(&mut self, key: &str) -> Option<Value> {
        self.unread.remove(key)
    }

    /// The text under `key`; anything else stays where it is.
    pub(crate) fn text(&mut self, key: &str) -> Option<String> {
        let text = self.unread.get(key)?.as_str()?.into();
        self.unread.remove(key);
        Some(text)
    }

    /// The value under `key`, without taking it.
    pub(crate) fn get(&self, key: &str) -> Option<&Value> {
        self.unread.get(key)
    }

    /// Whether there is something under `key` that is not null.
    pub(crate) fn has(&self, key: &str) -> bool {
        self.unread.get(key).is_some_and(|value| !value.is_null())
    }

    /// What nobody asked for: kept, so that it survives.
    pub(crate) fn rest(self) -> Map<String, Value> {
        self.unread
    }
}

/// Reading null says in the reader's own words what it would have liked instead of nothing.
fn missing<T>(read: impl Fn(Value) -> Result<T, FieldError>) -> FieldError {
    match read(Value::Null) {
        Err(error) => FieldError::new(error.expected, "nothing"),
        Ok(_) => FieldError::new("a value", "nothing"),
    }
}

/// Makes a struct that is read from and written to a JSON object.
///
/// Each field is `required` (an error if missing), `optional` (its default if missing or null, left out
/// when absent) or `always` (its default if missing, written in any case). Unknown fields stand in
/// `extra` and are written again. The field's own name is read too, see [`Fields::either`].
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
            /// Fields that this version does not know, kept as they came.
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
                from.deserialize_map($crate::wire::Whole::<Self>::new())
            }

            fn describe(schemas: &mut $crate::wire::Schemas) -> ::serde_json::Value {
                schemas.object(stringify!($name), &[$($doc),*], |schemas| ::alloc::vec![$(
                    $crate::wire::FieldSchema {
                        name: $key,
                        is_required: stringify!($mode) == "required",
                        schema: <$type as $crate::wire::Wire>::describe(schemas),
                        doc: &[$($field_doc),*],
                    },
                )*])
            }
        }

        impl $crate::wire::Members for $name {
            fn members<'de, A: ::serde::de::MapAccess<'de>>(mut map: A) -> Result<Self, A::Error> {
                $( let mut $field: Option<$type> = None; )*
                let mut extra = ::serde_json::Map::new();
                while let Some($crate::wire::Name(name)) = map.next_key()? {
                    match &*name {
                        $( $key => $field = Some($crate::wire::object!(@next $mode map)), )*
                        _ => {
                            extra.insert(name.into_owned(), map.next_value()?);
                        }
                    }
                }
                let mut fields = $crate::wire::Fields::left(extra);
                Ok(Self {
                    $( $field: match $field {
                        Some(read) => read,
                        // It is not there, or by its other name.
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
        $map.next_value_seed($crate::wire::Seed::new())?
    };
    (@next $mode:ident $map:ident) => {
        $map.next_value_seed($crate::wire::Seed::<Option<_>>::new())?
            .unwrap_or_default()
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

    /// Some fields by their names in JSON and in `a2a.proto`.
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

    /// What is read by each name, and what is left.
    fn read(mut fields: Fields) -> Value {
        let values = NAMES.map(|(key, proto)| fields.either(key, proto).take(key));
        json!([values, fields.rest()])
    }

    proptest! {
        #![proptest_config(crate::arbitrary::config())]

        #[test]
        fn who_looks_once_reads_the_same(object in prop::collection::btree_map(name(), 0..3, 0..6)) {
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
    fn a_name_that_only_rust_has_is_not_read() {
        let object = json!({"kind": "a", "x_y": 1});
        let mut fields = Fields::of(object.clone()).unwrap();
        assert_eq!(fields.either("type", "kind").take("type"), None);
        assert_eq!(Value::Object(fields.rest()), object);
    }
}
