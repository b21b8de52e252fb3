//! Reading while the text is parsed, so that nothing is made of it but the object itself.

use alloc::{borrow::Cow, collections::BTreeMap, string::String, vec::Vec};
use core::{fmt, marker::PhantomData};

use serde::de::{Deserialize, DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};

use super::Wire;

/// Reads a whole text in one pass. `None` if it cannot be read, whatever the reason is.
pub(crate) fn at_once<T: Wire>(text: &[u8]) -> Option<T> {
    let mut json = serde_json::Deserializer::from_slice(text);
    let object = T::read_from(&mut json).ok()?;
    json.end().ok().map(|()| object)
}

/// A value inside another one that is read in its own way.
pub(crate) struct Seed<T>(PhantomData<T>);

impl<T> Seed<T> {
    pub(crate) const fn new() -> Self {
        Self(PhantomData)
    }
}

impl<'de, T: Wire> DeserializeSeed<'de> for Seed<T> {
    type Value = T;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<T, D::Error> {
        T::read_from(from)
    }
}

/// The name of a field, without a copy where the text has it as it is.
pub(crate) struct Name<'de>(pub(crate) Cow<'de, str>);

impl<'de> Deserialize<'de> for Name<'de> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Text;

        impl<'de> Visitor<'de> for Text {
            type Value = Name<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a name")
            }

            fn visit_borrowed_str<E: Error>(self, text: &'de str) -> Result<Name<'de>, E> {
                Ok(Name(Cow::Borrowed(text)))
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<Name<'de>, E> {
                self.visit_string(text.into())
            }

            fn visit_string<E: Error>(self, text: String) -> Result<Name<'de>, E> {
                Ok(Name(Cow::Owned(text)))
            }
        }

        from.deserialize_str(Text)
    }
}

/// An object that is read member by member.
pub(crate) trait Members: Sized {
    /// Reads them all.
    fn members<'de, A: MapAccess<'de>>(map: A) -> Result<Self, A::Error>;
}

/// The whole of such an object.
pub(crate) struct Whole<T>(PhantomData<T>);

impl<T> Whole<T> {
    pub(crate) const fn new() -> Self {
        Self(PhantomData)
    }
}

impl<'de, T: Members> Visitor<'de> for Whole<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<T, A::Error> {
        T::members(map)
    }
}

/// A number of 32 bits, or a text that is one.
pub(super) struct Integer;

impl Visitor<'_> for Integer {
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

    fn visit_str<E: Error>(self, text: &str) -> Result<i32, E> {
        text.parse().map_err(E::custom)
    }
}

/// Something, or null.
pub(super) struct Perhaps<T>(PhantomData<T>);

/// Some of something.
pub(super) struct List<T>(PhantomData<T>);

/// Some of something, each under a name.
pub(super) struct Entries<T>(PhantomData<T>);

impl<T> Perhaps<T> {
    pub(super) const fn new() -> Self {
        Self(PhantomData)
    }
}

impl<T> List<T> {
    pub(super) const fn new() -> Self {
        Self(PhantomData)
    }
}

impl<T> Entries<T> {
    pub(super) const fn new() -> Self {
        Self(PhantomData)
    }
}

impl<'de, T: Wire> Visitor<'de> for Perhaps<T> {
    type Value = Option<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value or null")
    }

    fn visit_none<E: Error>(self) -> Result<Option<T>, E> {
        Ok(None)
    }

    fn visit_unit<E: Error>(self) -> Result<Option<T>, E> {
        Ok(None)
    }

    fn visit_some<D: Deserializer<'de>>(self, from: D) -> Result<Option<T>, D::Error> {
        T::read_from(from).map(Some)
    }
}

impl<'de, T: Wire> Visitor<'de> for List<T> {
    type Value = Vec<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Vec<T>, A::Error> {
        let Some(first) = items.next_element_seed(Seed::new())? else {
            return Ok(Vec::new());
        };
        // Most lists have one item, and many are kept: no room for more that never come.
        let mut list = Vec::with_capacity(1);
        list.push(first);
        while let Some(item) = items.next_element_seed(Seed::new())? {
            list.push(item);
        }
        list.shrink_to_fit();
        Ok(list)
    }
}

impl<'de, T: Wire> Visitor<'de> for Entries<T> {
    type Value = BTreeMap<String, T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut entries = BTreeMap::new();
        while let Some(key) = map.next_key()? {
            entries.insert(key, map.next_value_seed(Seed::new())?);
        }
        Ok(entries)
    }
}
