//! Reads objects while their text is parsed, without making a [`Value`](serde_json::Value) first.

use alloc::{borrow::Cow, collections::BTreeMap, format, string::String, vec::Vec};
use core::{fmt, marker::PhantomData};

use serde::{
    Deserialize,
    de::{Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Unexpected, Visitor},
};

use super::Wire;

/// Reads a text in one pass. Returns `None` on any error; read the text again with [`Wire::read`] for the error's path.
pub(crate) fn read_in_one_pass<T: Wire>(text: &[u8]) -> Option<T> {
    let mut json = serde_json::Deserializer::from_slice(text);
    let object = T::read_from(&mut json).ok()?;
    json.end().ok().map(|()| object)
}

/// A value inside another one, read by its [`Wire`] implementation.
pub(crate) struct Read<T>(pub(crate) T);

impl<'de, T: Wire> Deserialize<'de> for Read<T> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        T::read_from(from).map(Self)
    }
}

/// The name of a field. It is only copied if the text contains escapes.
#[derive(Deserialize)]
#[serde(transparent)]
pub(crate) struct FieldName<'n>(#[serde(borrow)] pub(crate) Cow<'n, str>);

/// An object whose members are read one by one.
pub(crate) trait ReadMembers: Sized {
    /// Reads all members.
    fn read_members<'de, A: MapAccess<'de>>(map: A) -> Result<Self, A::Error>;
}

/// Reads an object by its [`ReadMembers`] implementation.
pub(crate) struct ObjectVisitor<T>(pub(crate) PhantomData<T>);

impl<'de, T: ReadMembers> Visitor<'de> for ObjectVisitor<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<T, A::Error> {
        T::read_members(map)
    }
}

/// Returns the integer that a number without a fraction, such as `1.0`, stands for.
pub(super) fn integer(number: f64) -> Option<i32> {
    format!("{number}").parse().ok()
}

/// Reads a 32-bit integer, or a text that contains one.
pub(super) struct IntegerVisitor;

impl Visitor<'_> for IntegerVisitor {
    type Value = i32;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a 32-bit integer")
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<i32, E> {
        number.try_into().map_err(E::custom)
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<i32, E> {
        number.try_into().map_err(E::custom)
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<i32, E> {
        integer(number).ok_or_else(|| E::invalid_value(Unexpected::Float(number), &self))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<i32, E> {
        text.parse().map_err(E::custom)
    }
}

/// Reads a list.
pub(super) struct ListVisitor<T>(pub(super) PhantomData<T>);

/// Reads a map with texts as keys.
pub(super) struct MapVisitor<T>(pub(super) PhantomData<T>);

impl<'de, T: Wire> Visitor<'de> for ListVisitor<T> {
    type Value = Vec<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Vec<T>, A::Error> {
        let Some(Read(first)) = items.next_element()? else {
            return Ok(Vec::new());
        };
        // Most lists have one item, and many are stored: do not reserve room for further ones.
        let mut list = Vec::with_capacity(1);
        list.push(first);
        while let Some(Read(item)) = items.next_element()? {
            list.push(item);
        }
        list.shrink_to_fit();
        Ok(list)
    }
}

impl<'de, T: Wire> Visitor<'de> for MapVisitor<T> {
    type Value = BTreeMap<String, T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut entries = BTreeMap::new();
        while let Some(key) = map.next_key()? {
            entries.insert(key, map.next_value::<Read<T>>()?.0);
        }
        Ok(entries)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, items: A) -> Result<Self::Value, A::Error> {
        no_items(items).map(|()| BTreeMap::new())
    }
}

/// Reads an empty list, as which PHP writes an object without members.
pub(super) fn no_items<'de, A: SeqAccess<'de>>(mut items: A) -> Result<(), A::Error> {
    match items.next_element::<IgnoredAny>()? {
        None => Ok(()),
        Some(IgnoredAny) => Err(Error::invalid_type(Unexpected::Seq, &"an object")),
    }
}
