//! The messages and their fields, as the descriptor has them.

use alloc::{
    collections::BTreeMap,
    format,
    string::{String, ToString as _},
    vec::Vec,
};

use prost::Message as _;
use prost_types::{
    DescriptorProto, EnumDescriptorProto, FieldDescriptorProto, FileDescriptorSet,
    field_descriptor_proto::{Label, Type},
};

use super::PACKAGE;
use crate::protobuf::{DESCRIPTOR, weight::collect};

/// The messages of 0.3. Creating this takes a while, so it is created once.
#[derive(Debug)]
pub struct Messages {
    indexes: BTreeMap<String, usize>,
    shapes: Vec<Vec<Field>>,
}

/// A field of a message.
#[derive(Debug)]
pub(super) struct Field {
    pub(super) number: u32,
    /// The name in JSON.
    pub(super) name: String,
    pub(super) kind: Kind,
    pub(super) is_list: bool,
    /// The group of fields of which a message has at most one.
    pub(super) oneof: Option<i32>,
}

/// The type of a field.
#[derive(Debug)]
pub(super) enum Kind {
    Text,
    Bytes,
    Flag,
    Number,
    /// The names of an enum's values by their numbers.
    Choice(BTreeMap<i32, String>),
    Time,
    FreeForm,
    /// A message, by its index among the shapes.
    Message(usize),
    /// A map, by the index of the message with `key` and `value`.
    Map(usize),
}

impl Messages {
    /// Reads the messages from the descriptor.
    #[expect(clippy::new_without_default, reason = "it is no value to begin with")]
    pub fn new() -> Self {
        // The descriptor was compiled in, so it can be read.
        let files = FileDescriptorSet::decode(DESCRIPTOR).unwrap_or_default();
        let file = files.file.into_iter().find(|one| one.package() == PACKAGE);
        let file = file.unwrap_or_default();
        let mut messages = Vec::new();
        for message in &file.message_type {
            collect(&format!(".{PACKAGE}"), message, &mut messages);
        }
        let types = FieldTypes { messages: &messages, enums: &file.enum_type };
        let shape = |message: &DescriptorProto| {
            let fields = message.field.iter();
            fields.filter_map(|field| types.field(field)).collect()
        };
        Self {
            shapes: messages.iter().map(|(_, one)| shape(one)).collect(),
            indexes: messages.iter().map(|(name, _)| name.clone()).zip(0..).collect(),
        }
    }

    /// Returns the fields of the message at an index.
    pub(super) fn shape(&self, index: usize) -> &[Field] {
        self.shapes.get(index).map_or(&[], Vec::as_slice)
    }

    /// Returns the fields of the message with a name.
    pub(super) fn named(&self, name: &str) -> &[Field] {
        let index = self.indexes.get(&format!(".{PACKAGE}.{name}"));
        index.map_or(&[], |index| self.shape(*index))
    }
}

/// The types that fields can have.
struct FieldTypes<'d> {
    /// The messages by their full names.
    messages: &'d [(String, &'d DescriptorProto)],
    enums: &'d [EnumDescriptorProto],
}

impl FieldTypes<'_> {
    fn field(&self, field: &FieldDescriptorProto) -> Option<Field> {
        Some(Field {
            number: u32::try_from(field.number()).ok()?,
            name: field.json_name().to_string(),
            kind: self.kind(field)?,
            is_list: field.label() == Label::Repeated,
            oneof: field.oneof_index,
        })
    }

    fn kind(&self, field: &FieldDescriptorProto) -> Option<Kind> {
        match (field.r#type(), field.type_name()) {
            (Type::String, _) => Some(Kind::Text),
            (Type::Bytes, _) => Some(Kind::Bytes),
            (Type::Bool, _) => Some(Kind::Flag),
            (Type::Int32, _) => Some(Kind::Number),
            (Type::Enum, name) => self.choice(name),
            (Type::Message, ".google.protobuf.Struct") => Some(Kind::FreeForm),
            (Type::Message, ".google.protobuf.Timestamp") => Some(Kind::Time),
            (Type::Message, name) => self.message(name),
            // 0.3 has no fields of other types.
            _ => None,
        }
    }

    fn choice(&self, name: &str) -> Option<Kind> {
        let is_meant = |one: &&EnumDescriptorProto| name.rsplit('.').next() == Some(one.name());
        let values = self.enums.iter().find(is_meant)?.value.iter();
        let names = values.map(|one| (one.number(), one.name().to_string()));
        Some(Kind::Choice(names.collect()))
    }

    fn message(&self, name: &str) -> Option<Kind> {
        let index = self.messages.iter().position(|(one, _)| one == name)?;
        let (_, message) = self.messages.get(index)?;
        let options = message.options.as_ref();
        Some(match options.is_some_and(|options| options.map_entry()) {
            true => Kind::Map(index),
            false => Kind::Message(index),
        })
    }
}
