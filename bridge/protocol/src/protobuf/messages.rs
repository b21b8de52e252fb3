//! The messages of both versions and their fields, as the descriptor has them.

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

use super::{DESCRIPTOR, path, weight::weight};
use crate::{a2a::Operation, dialect::Version};

/// The messages of 1.0 and 0.3. Creating this takes a while, so it is created once.
#[derive(Debug)]
pub struct Messages {
    shapes: Vec<Shape>,
    /// The indexes of the parameters and of the answer of each method, by its path.
    methods: BTreeMap<String, [usize; 2]>,
}

/// A message.
#[derive(Debug)]
pub(super) struct Shape {
    pub(super) fields: Vec<Field>,
    /// The memory of the message itself if it is empty, and if it is not.
    pub(super) weights: [usize; 2],
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

/// The type of a field. A message is named by its index among the shapes.
#[derive(Debug)]
pub(super) enum Kind {
    Text,
    Bytes,
    Flag,
    Number,
    /// The names of an enum's values by their numbers.
    Choice(BTreeMap<i32, String>),
    Time(usize),
    FreeForm(usize),
    Message(usize),
    /// A map, whose entries are messages with `key` and `value`.
    Map(usize),
}

impl Field {
    /// Returns the index of the field's message, if it is one.
    pub(super) fn message(&self) -> Option<usize> {
        match self.kind {
            Kind::Time(index) | Kind::FreeForm(index) | Kind::Message(index) | Kind::Map(index) => {
                Some(index)
            }
            Kind::Text | Kind::Bytes | Kind::Flag | Kind::Number | Kind::Choice(_) => None,
        }
    }
}

impl Messages {
    /// Reads the messages from the descriptor.
    #[expect(clippy::new_without_default, reason = "it is no value to begin with")]
    pub fn new() -> Self {
        // The descriptor was compiled in, so it can be read.
        let files = FileDescriptorSet::decode(DESCRIPTOR).unwrap_or_default();
        let mut types = Types::default();
        for file in &files.file {
            let package = format!(".{}", file.package());
            file.message_type.iter().for_each(|message| types.collect(&package, message));
            let enums = file.enum_type.iter();
            types.enums.extend(enums.map(|one| (format!("{package}.{}", one.name()), one)));
        }
        let mut methods = BTreeMap::new();
        for file in &files.file {
            for service in &file.service {
                for method in &service.method {
                    let path = format!("/{}.{}/{}", file.package(), service.name(), method.name());
                    let place = |name: &str| types.places.get(name).copied();
                    let params = place(method.input_type());
                    let answer = place(method.output_type());
                    methods.extend(
                        params.zip(answer).map(|(params, answer)| (path, [params, answer])),
                    );
                }
            }
        }
        let shapes = types.messages.iter().map(|(name, message)| Shape {
            fields: message.field.iter().filter_map(|field| types.field(field)).collect(),
            weights: [weight(name, true), weight(name, false)],
        });
        Self { shapes: shapes.collect(), methods }
    }

    /// Returns the message at an index.
    pub(super) fn shape(&self, index: usize) -> Option<&Shape> {
        self.shapes.get(index)
    }

    /// Returns the fields of the message at an index.
    pub(super) fn fields(&self, index: usize) -> &[Field] {
        self.shape(index).map_or(&[], |shape| &shape.fields)
    }

    /// Returns the index of the parameters of an operation; `None` if the version does not have it.
    pub(super) fn params(&self, version: Version, operation: Operation) -> Option<usize> {
        let [params, _] = self.methods.get(&path(version, operation)?)?;
        Some(*params)
    }

    /// Returns the index of the message that answers an operation, or of an item of its stream.
    pub(super) fn answer(&self, version: Version, operation: Operation) -> Option<usize> {
        let [_, answer] = self.methods.get(&path(version, operation)?)?;
        Some(*answer)
    }
}

/// The types that fields can have, by their full names.
#[derive(Default)]
struct Types<'d> {
    messages: Vec<(String, &'d DescriptorProto)>,
    /// Where the messages stand in that list.
    places: BTreeMap<String, usize>,
    enums: BTreeMap<String, &'d EnumDescriptorProto>,
}

impl<'d> Types<'d> {
    /// Collects a message and the messages that are declared in it.
    fn collect(&mut self, outer: &str, message: &'d DescriptorProto) {
        let name = format!("{outer}.{}", message.name());
        message.nested_type.iter().for_each(|nested| self.collect(&name, nested));
        self.places.insert(name.clone(), self.messages.len());
        self.messages.push((name, message));
    }

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
        let name = field.type_name();
        Some(match field.r#type() {
            Type::String => Kind::Text,
            Type::Bytes => Kind::Bytes,
            Type::Bool => Kind::Flag,
            Type::Int32 => Kind::Number,
            Type::Enum => {
                let values = self.enums.get(name)?.value.iter();
                let names = values.map(|one| (one.number(), one.name().to_string()));
                Kind::Choice(names.collect())
            }
            Type::Message => {
                let index = *self.places.get(name)?;
                let (_, message) = self.messages.get(index)?;
                let options = message.options.as_ref();
                match name {
                    ".google.protobuf.Struct" => Kind::FreeForm(index),
                    ".google.protobuf.Timestamp" => Kind::Time(index),
                    _ if options.is_some_and(|options| options.map_entry()) => Kind::Map(index),
                    _ => Kind::Message(index),
                }
            }
            // A2A has no fields of other types.
            _ => return None,
        })
    }
}
