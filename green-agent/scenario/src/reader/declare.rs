//! The macro `table!`, which makes the reader and the schema of a table from one list of its keys.

use std::sync::LazyLock;

use schemars::Schema;
use serde_json::{Map, Value, json};
use toml::{Spanned, de::DeValue};

/// The value of an absent key, as it would be written in a file.
pub(crate) type DefaultValue = LazyLock<Option<Spanned<DeValue<'static>>>>;

/// A key in the schema of its table.
pub(crate) struct KeySchema {
    pub(crate) name: &'static str,
    /// The lines of the description.
    pub(crate) doc: &'static [&'static str],
    /// Whether the table must have it.
    pub(crate) is_required: bool,
    /// The value if it is absent, in TOML that is JSON too.
    pub(crate) default: &'static [&'static str],
    pub(crate) schema: Schema,
    /// Members that are added to it.
    pub(crate) limits: Value,
}

/// Makes members of a table's schema that say which of its keys go together.
pub(crate) type Rule = fn(&[&'static str]) -> Value;

/// A table whose keys are declared.
pub(crate) trait Keys {
    /// The names of its keys.
    const KEYS: &'static [&'static str];
}

pub(crate) fn table_schema(
    doc: &[&str],
    keys: Vec<KeySchema>,
    is_closed: bool,
    rule: Option<Rule>,
) -> Schema {
    let names: Vec<_> = keys.iter().map(|key| key.name).collect();
    let mut table = Map::from_iter([("type".to_owned(), json!("object"))]);
    let required = keys.iter().filter(|key| key.is_required);
    let required: Vec<_> = required.map(|key| key.name).collect();
    if !required.is_empty() {
        table.insert("required".to_owned(), json!(required));
    }
    if is_closed {
        table.insert("additionalProperties".to_owned(), json!(false));
    }
    let properties = keys.into_iter().map(|key| (key.name.to_owned(), key.written()));
    table.insert("properties".to_owned(), properties.collect());
    if let Some(Value::Object(rule)) = rule.map(|rule| rule(&names)) {
        table.extend(rule);
    }
    described(Value::Object(table), doc)
}

impl KeySchema {
    fn written(self) -> Value {
        let mut schema = described(self.schema.to_value(), self.doc);
        let default = self.default.first();
        if let Value::Object(limits) = self.limits {
            schema.ensure_object().extend(limits);
        }
        // An empty list or table says the same as none.
        let default = default.filter(|text| !matches!(**text, "[]" | "{}"));
        if let Some(default) = default.and_then(|text| serde_json::from_str(text).ok()) {
            schema.insert("default".to_owned(), default);
        }
        schema.to_value()
    }
}

/// Adds a description, whose lines are joined because editors would show the line breaks of the source.
pub(crate) fn described(schema: Value, doc: &[&str]) -> Schema {
    let mut schema = Schema::try_from(schema).unwrap_or_default();
    schema.ensure_object();
    if !doc.is_empty() {
        let lines: Vec<&str> = doc.iter().map(|line| line.trim()).collect();
        schema.insert("description".to_owned(), json!(lines.join(" ")));
    }
    schema
}

/// Makes a struct that is read from a table of the file, and the table's schema.
///
/// `open` tables ignore unknown keys, `closed` ones reject them, and `spelled` ones reject those that are almost a known one;
/// `with(RULE)` adds to the schema which keys go together. Each key has a mode:
/// - `required KEY: TYPE => EXPECTED`: if it is missing or wrong, the table is wrong too. EXPECTED describes the value
///   in messages.
/// - `default KEY: TYPE = VALUE`: the value is written as in a file.
/// - `optional KEY: TYPE`: an `Option`.
/// - `later KEY: Key<'a> as KIND`: the key itself, whose value is read by hand because it depends on other keys or its
///   position is needed. `later_required` is the same for a key that the table must have.
///
/// `as KIND` names the kind of value if the type does not determine it, and `{LIMITS}` after it applies to the schema
/// only.
/// `KEY("NAME")` is a key with another name than the field. Keys that are `known` are read elsewhere.
macro_rules! table {
    ($(#[$($attribute:tt)+])+ $vis:vis struct $name:ident<$life:lifetime> as $($rest:tt)+) => {
        $crate::reader::table!(@table [$(#[$($attribute)+])+] [$vis] $name [<$life>] $life $($rest)+);
    };
    ($(#[$($attribute:tt)+])+ $vis:vis struct $name:ident as $($rest:tt)+) => {
        $crate::reader::table!(@table [$(#[$($attribute)+])+] [$vis] $name [] '_ $($rest)+);

        impl $crate::reader::Kind for $name {
            type Value = Self;

            fn read(node: &$crate::reader::Node<'_>) -> Option<Self> {
                Self::of(&mut node.table_of(<Self as $crate::reader::Keys>::KEYS)?)
            }
        }
    };
    (
        @table [
            $(#[doc = $doc:literal])+ $(#[derive($($derive:ident),+ $(,)?)])? $(#[serde($($serde:tt)+)])?
        ] [$vis:vis] $name:ident [$($generics:tt)*] $life:lifetime
        $schema_name:literal, $unknown:ident $(, with($rule:expr))? {
            $(
                $(#[doc = $key_doc:literal])+ $(#[serde($($key_serde:tt)+)])?
                $mode:ident $field:ident $(($key:literal))?: $type:ty
                    $(as $kind:ty)? $({ $($limit:tt)+ })? $(= $default:tt)? $(=> $expected:expr)?,
            )*
        }
        $(known { $( $(#[doc = $known_doc:literal])+ $known:ident: $known_kind:ty, )+ })?
    ) => {
        $(#[doc = $doc])+
        $(#[derive($($derive),+)])?
        $(#[serde($($serde)+)])?
        $vis struct $name $($generics)* {
            $(
                $(#[doc = $key_doc])+ $(#[serde($($key_serde)+)])?
                $vis $field: $crate::reader::table!(@type $mode $type),
            )*
        }

        impl $($generics)* $name $($generics)* {
            /// Reads the table, and all of its keys even if one of them is wrong.
            pub(crate) fn of(table: &mut $crate::reader::Table<$life>) -> Option<Self> {
                $(
                    let $field = $crate::reader::table!(
                        @read $mode table, $crate::reader::table!(@key $field $($key)?),
                        [$($kind,)? $type] $(= $default)? $(=> $expected)?
                    );
                )*
                $( $( table.get(stringify!($known)); )+ )?
                $crate::reader::table!(@unknown $unknown table);
                Some(Self { $( $field: $field?, )* })
            }
        }

        impl $($generics)* $crate::reader::Keys for $name $($generics)* {
            const KEYS: &'static [&'static str] = &[
                $( $crate::reader::table!(@key $field $($key)?), )*
                $( $( stringify!($known), )+ )?
            ];
        }

        impl $($generics)* ::schemars::JsonSchema for $name $($generics)* {
            fn schema_name() -> ::std::borrow::Cow<'static, str> {
                $schema_name.into()
            }

            fn json_schema(generator: &mut ::schemars::SchemaGenerator) -> ::schemars::Schema {
                let keys = vec![
                    $( $crate::reader::KeySchema {
                        name: $crate::reader::table!(@key $field $($key)?),
                        doc: &[$($key_doc),+],
                        is_required: stringify!($mode).ends_with("required"),
                        default: &[$(stringify!($default))?],
                        limits: ::serde_json::json!({ $($($limit)+)? }),
                        schema: generator.subschema_for::<$crate::reader::table!(@kind [$($kind,)? $type])>(),
                    }, )*
                    $( $( $crate::reader::KeySchema {
                        name: stringify!($known),
                        doc: &[$($known_doc),+],
                        is_required: false,
                        default: &[],
                        limits: ::serde_json::Value::Null,
                        schema: generator.subschema_for::<$known_kind>(),
                    }, )+ )?
                ];
                let is_closed = stringify!($unknown) == "closed";
                let rule: &[$crate::reader::Rule] = &[$($rule)?];
                $crate::reader::table_schema(&[$($doc),+], keys, is_closed, rule.first().copied())
            }
        }
    };
    (@key $field:ident) => { stringify!($field) };
    (@key $field:ident $key:literal) => { $key };
    (@kind [$kind:ty $(, $type:ty)?]) => { $kind };
    (@type optional $type:ty) => { Option<$type> };
    (@type $mode:ident $type:ty) => { $type };
    (@read required $table:ident, $key:expr, [$kind:ty $(, $type:ty)?] => $expected:expr) => {
        $table.key($key).need($expected).and_then(<$kind as $crate::reader::Kind>::read)
    };
    (@read optional $table:ident, $key:expr, [$kind:ty $(, $type:ty)?]) => {
        Some($table.get($key).and_then(|node| <$kind as $crate::reader::Kind>::read(&node)))
    };
    (@read default $table:ident, $key:expr, [$kind:ty $(, $type:ty)?] = $default:tt) => {{
        static DEFAULT: $crate::reader::DefaultValue =
            $crate::reader::DefaultValue::new(|| ::toml::de::DeValue::parse(stringify!($default)).ok());
        let key = $table.key($key);
        let read = <$kind as $crate::reader::Kind>::read;
        key.node().and_then(read).or_else(|| read(&key.with(DEFAULT.as_ref()?)))
    }};
    (@read $later:ident $table:ident, $key:expr, [$kind:ty $(, $type:ty)?] $(= $default:tt)?) => {
        Some($table.key($key))
    };
    (@unknown closed $table:ident) => { $table.reject_unknown() };
    (@unknown spelled $table:ident) => { $table.reject_misspelled() };
    (@unknown open $table:ident) => {};
}

pub(crate) use table;
