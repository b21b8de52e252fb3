//! The kinds of values: each says how a value is read, and what the schema says about it.

use schemars::JsonSchema;
use serde_json::Value;

use super::Node;

/// A kind of value in a file. Its schema is its [`JsonSchema`].
pub(crate) trait Kind: JsonSchema {
    /// The value that is read.
    type Value;

    /// Reads a value; reports it if it is wrong.
    fn read(node: &Node<'_>) -> Option<Self::Value>;
}

/// Declares a kind of value with its own form.
///
/// `enum NAME` is a kind with an entry in the schema, `inline NAME` one whose schema stands at each key, and `impl TYPE`
/// describes a type of the model. `=> VALUE, READ` is left out if a value is read together with others, by hand.
macro_rules! kind {
    ($(#[doc = $doc:literal])+ $vis:vis enum $name:ident $(as $schema_name:literal)?
     $(=> $value:ty, $read:expr)?; $schema:expr) => {
        $(#[doc = $doc])+
        $vis enum $name {}
        $crate::reader::kind!(@schema $name, [$($schema_name,)? stringify!($name)], [$($doc),+], $schema);
        $($crate::reader::kind!(@read $name, $value, $read);)?
    };
    ($(#[doc = $doc:literal])+ $vis:vis inline $name:ident $(=> $value:ty, $read:expr)?; $schema:expr) => {
        $(#[doc = $doc])+
        $vis enum $name {}
        $crate::reader::kind!(@schema $name, [stringify!($name)], [], $schema);
        $($crate::reader::kind!(@read $name, $value, $read);)?
    };
    ($(#[doc = $doc:literal])* impl $name:ident $(as $schema_name:literal)? => $read:expr; $schema:expr) => {
        $crate::reader::kind!(@schema $name, [$($schema_name,)? stringify!($name)], [$($doc),*], $schema);
        $crate::reader::kind!(@read $name, $name, $read);
    };
    (@read $name:ident, $value:ty, $read:expr) => {
        impl $crate::reader::Kind for $name {
            type Value = $value;

            fn read(node: &$crate::reader::Node<'_>) -> Option<$value> {
                let read: fn(&$crate::reader::Node<'_>) -> Option<$value> = $read;
                read(node)
            }
        }
    };
    (@schema $name:ident, [$schema_name:expr $(, $rust_name:expr)?], [$($doc:literal),*], $schema:expr) => {
        impl ::schemars::JsonSchema for $name {
            fn inline_schema() -> bool {
                let doc: &[&str] = &[$($doc),*];
                doc.is_empty()
            }

            fn schema_name() -> ::std::borrow::Cow<'static, str> {
                $schema_name.into()
            }

            fn json_schema(generator: &mut ::schemars::SchemaGenerator) -> ::schemars::Schema {
                let schema: fn(&mut ::schemars::SchemaGenerator) -> ::serde_json::Value = $schema;
                $crate::reader::described(schema(generator), &[$($doc),*])
            }
        }
    };
}

kind!(@read String, String, |node| node.text().map(str::to_owned));
kind!(@read bool, bool, |node| node.flag());
kind!(@read f64, f64, |node| node.number());
kind!(@read u32, u32, |node| node.integer(0));
kind!(@read Value, Value, |node| node.json());

/// A list. Elements that were reported are left out.
impl<K: Kind> Kind for Vec<K> {
    type Value = Vec<K::Value>;

    fn read(node: &Node<'_>) -> Option<Self::Value> {
        node.list_of(K::read)
    }
}

pub(crate) use kind;
