//! Writes JSON as [`serde_json`] does, but checks many bytes of a text at a time.
//!
//! `serde_json` checks a text byte by byte before it copies it. A send writes its message four times, so that these checks were two
//! thirds of the cost of a send with a long text.

use alloc::vec::Vec;

use serde::{
    Serialize, Serializer,
    ser::{self, Error as _},
};
use serde_json::Error;

/// Appends a value to the buffer as compact JSON, byte for byte as `serde_json` writes it.
///
/// # Errors
/// For a map with a key that is neither a text nor a number. The buffer then ends with a part of the value.
pub fn write_json(to: &mut Vec<u8>, value: &(impl Serialize + ?Sized)) -> Result<(), Error> {
    value.serialize(JsonWriter(to))
}

/// Writes one value.
struct JsonWriter<'v>(&'v mut Vec<u8>);

/// Writes the items of a list or the members of an object, and then its end.
struct Items<'v> {
    to: &'v mut Vec<u8>,
    is_first: bool,
    end: &'static [u8],
}

impl<'v> JsonWriter<'v> {
    fn literal(self, text: &[u8]) -> Result<(), Error> {
        self.0.extend_from_slice(text);
        Ok(())
    }

    fn items(self, begin: u8, end: &'static [u8]) -> Items<'v> {
        self.0.push(begin);
        Items { to: self.0, is_first: true, end }
    }

    /// Begins an object whose only member is the variant of an enum.
    fn variant(self, variant: &str) -> Self {
        self.0.push(b'{');
        text(self.0, variant);
        self.0.push(b':');
        self
    }
}

impl Items<'_> {
    fn separate(&mut self) {
        if !self.is_first {
            self.to.push(b',');
        }
        self.is_first = false;
    }

    fn item(&mut self, value: &(impl Serialize + ?Sized)) -> Result<(), Error> {
        self.separate();
        value.serialize(JsonWriter(self.to))
    }

    fn key(&mut self, key: &(impl Serialize + ?Sized)) -> Result<(), Error> {
        self.separate();
        let begin = self.to.len();
        key.serialize(JsonWriter(self.to))?;
        match self.to.get(begin) {
            Some(b'"') => {}
            Some(b'-' | b'0'..=b'9' | b't' | b'f') => {
                self.to.insert(begin, b'"');
                self.to.push(b'"');
            }
            _ => return Err(Error::custom("a key must be a text or a number")),
        }
        self.to.push(b':');
        Ok(())
    }

    fn member(
        &mut self,
        key: &'static str,
        value: &(impl Serialize + ?Sized),
    ) -> Result<(), Error> {
        self.separate();
        text(self.to, key);
        self.to.push(b':');
        value.serialize(JsonWriter(self.to))
    }

    fn end(self) -> Result<(), Error> {
        self.to.extend_from_slice(self.end);
        Ok(())
    }
}

fn text(to: &mut Vec<u8>, text: &str) {
    let text = text.as_bytes();
    to.reserve(text.len() + 2);
    to.push(b'"');
    match text.len() <= BLOCK && is_plain(text) {
        true => to.extend_from_slice(text),
        false => escape(to, text),
    }
    to.push(b'"');
}

/// The number of bytes that are checked before they are copied.
const BLOCK: usize = 64;

fn escape(to: &mut Vec<u8>, text: &[u8]) {
    for block in text.chunks(BLOCK) {
        if is_plain(block) {
            to.extend_from_slice(block);
        } else {
            escape_block(to, block);
        }
    }
}

fn escape_block(to: &mut Vec<u8>, block: &[u8]) {
    for piece in block.split_inclusive(|&byte| is_special(byte)) {
        match piece.split_last() {
            Some((&last, plain)) if is_special(last) => {
                to.extend_from_slice(plain);
                escape_byte(to, last);
            }
            _ => to.extend_from_slice(piece),
        }
    }
}

/// Returns whether JSON writes these bytes unchanged. The last piece may overlap with the one before.
#[inline]
fn is_plain(text: &[u8]) -> bool {
    if let Some(last) = text.last_chunk::<16>() {
        let (pieces, _) = text.as_chunks::<16>();
        !has_special(last) && !pieces.iter().any(has_special)
    } else if let (Some(first), Some(last)) = (text.first_chunk::<8>(), text.last_chunk::<8>()) {
        !has_special(first) && !has_special(last)
    } else if let (Some(first), Some(last)) = (text.first_chunk::<4>(), text.last_chunk::<4>()) {
        !has_special(first) && !has_special(last)
    } else {
        !text.iter().any(|&byte| is_special(byte))
    }
}

/// The compiler makes vector instructions of the loop, since no byte ends it.
#[inline]
fn has_special<const LENGTH: usize>(piece: &[u8; LENGTH]) -> bool {
    let mut found = 0;
    for &byte in piece {
        found |= u8::from(is_special(byte));
    }
    found != 0
}

const fn is_special(byte: u8) -> bool {
    (byte < 0x20) | (byte == b'"') | (byte == b'\\')
}

/// Writes a special byte.
fn escape_byte(to: &mut Vec<u8>, byte: u8) {
    const DIGITS: [u8; 16] = *b"0123456789abcdef";
    let letter = match byte {
        0x08 => b'b',
        b'\t' => b't',
        b'\n' => b'n',
        0x0c => b'f',
        b'\r' => b'r',
        0..0x20 => {
            let digit = |shift: u32| DIGITS[usize::from(byte >> shift & 0xf)];
            return to.extend([b'\\', b'u', b'0', b'0', digit(4), digit(0)]);
        }
        itself => itself,
    };
    to.extend([b'\\', letter]);
}

/// Numbers as `serde_json` writes them.
macro_rules! integers {
    ($($name:ident: $type:ty,)*) => {
        $(fn $name(self, value: $type) -> Result<(), Error> {
            self.literal(itoa::Buffer::new().format(value).as_bytes())
        })*
    };
}

macro_rules! floats {
    ($($name:ident: $type:ty,)*) => {
        $(fn $name(self, value: $type) -> Result<(), Error> {
            match value.is_finite() {
                true => self.literal(zmij::Buffer::new().format_finite(value).as_bytes()),
                false => self.literal(b"null"),
            }
        })*
    };
}

impl<'v> Serializer for JsonWriter<'v> {
    type Ok = ();
    type Error = Error;
    type SerializeSeq = Items<'v>;
    type SerializeTuple = Items<'v>;
    type SerializeTupleStruct = Items<'v>;
    type SerializeTupleVariant = Items<'v>;
    type SerializeMap = Items<'v>;
    type SerializeStruct = Items<'v>;
    type SerializeStructVariant = Items<'v>;

    integers! {
        serialize_i8: i8,
        serialize_i16: i16,
        serialize_i32: i32,
        serialize_i64: i64,
        serialize_i128: i128,
        serialize_u8: u8,
        serialize_u16: u16,
        serialize_u32: u32,
        serialize_u64: u64,
        serialize_u128: u128,
    }

    floats! {
        serialize_f32: f32,
        serialize_f64: f64,
    }

    fn serialize_bool(self, value: bool) -> Result<(), Error> {
        self.literal(if value { b"true" } else { b"false" })
    }

    fn serialize_char(self, value: char) -> Result<(), Error> {
        self.serialize_str(value.encode_utf8(&mut [0; 4]))
    }

    fn serialize_str(self, value: &str) -> Result<(), Error> {
        text(self.0, value);
        Ok(())
    }

    fn serialize_bytes(self, value: &[u8]) -> Result<(), Error> {
        self.collect_seq(value)
    }

    fn serialize_none(self) -> Result<(), Error> {
        self.literal(b"null")
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<(), Error> {
        value.serialize(self)
    }

    fn serialize_unit(self) -> Result<(), Error> {
        self.literal(b"null")
    }

    fn serialize_unit_struct(self, _: &'static str) -> Result<(), Error> {
        self.literal(b"null")
    }

    fn serialize_unit_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
    ) -> Result<(), Error> {
        self.serialize_str(variant)
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        value: &T,
    ) -> Result<(), Error> {
        value.serialize(self)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        value: &T,
    ) -> Result<(), Error> {
        let to = self.variant(variant).0;
        value.serialize(JsonWriter(to))?;
        JsonWriter(to).literal(b"}")
    }

    fn serialize_seq(self, _: Option<usize>) -> Result<Items<'v>, Error> {
        Ok(self.items(b'[', b"]"))
    }

    fn serialize_tuple(self, _: usize) -> Result<Items<'v>, Error> {
        Ok(self.items(b'[', b"]"))
    }

    fn serialize_tuple_struct(self, _: &'static str, _: usize) -> Result<Items<'v>, Error> {
        Ok(self.items(b'[', b"]"))
    }

    fn serialize_tuple_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        _: usize,
    ) -> Result<Items<'v>, Error> {
        Ok(self.variant(variant).items(b'[', b"]}"))
    }

    fn serialize_map(self, _: Option<usize>) -> Result<Items<'v>, Error> {
        Ok(self.items(b'{', b"}"))
    }

    fn serialize_struct(self, _: &'static str, _: usize) -> Result<Items<'v>, Error> {
        Ok(self.items(b'{', b"}"))
    }

    fn serialize_struct_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        _: usize,
    ) -> Result<Items<'v>, Error> {
        Ok(self.variant(variant).items(b'{', b"}}"))
    }
}

macro_rules! compounds {
    ($($compound:ident: $method:ident $(($key:ident: $type:ty))? $item:ident;)*) => {
        $(impl ser::$compound for Items<'_> {
            type Ok = ();
            type Error = Error;

            fn $method<T: Serialize + ?Sized>(
                &mut self,
                $($key: $type,)?
                value: &T,
            ) -> Result<(), Error> {
                self.$item($($key,)? value)
            }

            fn end(self) -> Result<(), Error> {
                self.end()
            }
        })*
    };
}

compounds! {
    SerializeSeq: serialize_element item;
    SerializeTuple: serialize_element item;
    SerializeTupleStruct: serialize_field item;
    SerializeTupleVariant: serialize_field item;
    SerializeStruct: serialize_field(key: &'static str) member;
    SerializeStructVariant: serialize_field(key: &'static str) member;
}

impl ser::SerializeMap for Items<'_> {
    type Ok = ();
    type Error = Error;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<(), Error> {
        self.key(key)
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Error> {
        value.serialize(JsonWriter(self.to))
    }

    fn end(self) -> Result<(), Error> {
        self.end()
    }
}

#[cfg(test)]
mod tests {
    use alloc::{collections::BTreeMap, string::String, vec};

    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::*;

    /// One of each form that a value can have.
    #[derive(serde::Serialize)]
    enum Form {
        Unit,
        Newtype(Option<char>),
        Tuple(i8, u128, (f32, f64)),
        Struct { text: String, unit: (), number: u64 },
    }

    fn written(value: &(impl Serialize + ?Sized)) -> Vec<u8> {
        let mut to = b"before".to_vec();
        write_json(&mut to, value).unwrap();
        to.split_off(6)
    }

    #[track_caller]
    fn is_as_serde_json_writes(value: &(impl Serialize + ?Sized)) {
        let (ours, theirs) = (written(value), serde_json::to_vec(value).unwrap());
        let text = String::from_utf8_lossy;
        assert_eq!(text(&ours), text(&theirs));
    }

    #[test]
    fn each_form_is_as_serde_json_writes_it() {
        is_as_serde_json_writes(&[
            Form::Unit,
            Form::Newtype(None),
            Form::Newtype(Some('"')),
            Form::Tuple(-7, u128::MAX, (0.1, f64::NAN)),
            Form::Tuple(0, 0, (f32::INFINITY, 1e300)),
            Form::Struct { text: "a\u{0}\u{7f}é".into(), unit: (), number: u64::MAX },
        ]);
        is_as_serde_json_writes(&format_args!("quoted \"{}\"", '\n'));
        is_as_serde_json_writes(&BTreeMap::from([(-1, true), (7, false)]));
        is_as_serde_json_writes(&BTreeMap::from([(true, [(); 0])]));
        is_as_serde_json_writes(&json!({}));
        is_as_serde_json_writes(&json!([]));
    }

    #[test]
    fn a_key_is_a_text_or_a_number() {
        for wrong in [vec![1], Vec::new()] {
            let map = BTreeMap::from([(wrong, 1)]);
            assert!(write_json(&mut Vec::new(), &map).is_err());
            assert!(serde_json::to_vec(&map).is_err());
        }
        assert!(write_json(&mut Vec::new(), &BTreeMap::from([((), 1)])).is_err());
    }

    #[test]
    fn each_special_byte_is_found_at_each_place_of_texts_of_each_length() {
        for length in 1..=BLOCK * 2 {
            for place in 0..length {
                let mut text = vec![b'x'; length];
                text[place] = [b'"', b'\\', b'\n', 0x1f][(length + place) % 4];
                is_as_serde_json_writes(&String::from_utf8(text).unwrap());
            }
        }
    }

    fn any_value() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            any::<u64>().prop_map(Value::from),
            any::<f64>().prop_map(Value::from),
            any::<String>().prop_map(Value::from),
            "[ -~\n\t]{0,200}".prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 64, 8, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..8).prop_map(Value::from),
                prop::collection::btree_map(any::<String>(), inner, 0..8)
                    .prop_map(|members| Value::Object(members.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn any_value_is_as_serde_json_writes_it(value in any_value()) {
            prop_assert_eq!(written(&value), serde_json::to_vec(&value).unwrap());
        }
    }
}
