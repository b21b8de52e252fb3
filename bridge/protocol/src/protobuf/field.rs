//! Converts fields, and generates the conversion of messages from a table.

use alloc::{
    collections::BTreeMap,
    string::{String, ToString as _},
    vec::Vec,
};

use crate::wire::FieldError;

/// A type of A2A 1.0 with the form `P` in protocol buffers.
pub trait Proto<P>: Sized {
    /// Converts to `P`, without the values that protocol buffers cannot express ([the list](crate::protobuf)).
    fn to_proto(&self) -> P;

    /// Converts from `P`.
    ///
    /// # Errors
    /// Returns an error that names the field by its JSON name, as the other bindings do.
    fn from_proto(proto: P) -> Result<Self, FieldError>;
}

/// Generates the conversion of a message from the table of its fields, which have the same names on both sides. A `given`
/// field is a text that must not be empty, since empty means absent.
macro_rules! proto {
    ($name:ident { $( $mode:ident $field:ident = $key:literal, )* }) => {
        impl $crate::protobuf::Proto<$crate::protobuf::v1::$name> for $name {
            fn to_proto(&self) -> $crate::protobuf::v1::$name {
                $crate::protobuf::v1::$name {
                    $( $field: $crate::protobuf::Proto::to_proto(&self.$field), )*
                }
            }

            fn from_proto(
                proto: $crate::protobuf::v1::$name,
            ) -> Result<Self, $crate::wire::FieldError> {
                Ok(Self {
                    $( $field: $crate::protobuf::field::proto!(@read $mode proto.$field, $key)?, )*
                    extra: $crate::wire::Metadata::new(),
                })
            }
        }

        $crate::protobuf::field::proto!(@needed $name);
    };
    (@read given $value:expr, $key:literal) => {
        $crate::protobuf::field::given($value, $key)
    };
    (@read $mode:ident $value:expr, $key:literal) => {
        $crate::protobuf::field::plain($value, $key)
    };
    // A required message inside another.
    (@needed $name:ident) => {
        impl $crate::protobuf::Proto<Option<$crate::protobuf::v1::$name>> for $name {
            fn to_proto(&self) -> Option<$crate::protobuf::v1::$name> {
                Some($crate::protobuf::Proto::to_proto(self))
            }

            fn from_proto(
                proto: Option<$crate::protobuf::v1::$name>,
            ) -> Result<Self, $crate::wire::FieldError> {
                match proto {
                    Some(present) => $crate::protobuf::Proto::from_proto(present),
                    None => Err($crate::wire::FieldError::new("an object", "nothing")),
                }
            }
        }
    };
}

pub(crate) use proto;

/// Reads a field.
pub(crate) fn plain<T: Proto<P>, P>(proto: P, key: &str) -> Result<T, FieldError> {
    T::from_proto(proto).map_err(|error| error.inside(key))
}

/// Reads a required text.
pub(crate) fn given(proto: String, key: &str) -> Result<String, FieldError> {
    match proto.is_empty() {
        false => Ok(proto),
        true => Err(FieldError::new("a string", "nothing").inside(key)),
    }
}

/// Types that are the same on both sides.
macro_rules! same {
    ($($name:ty),*) => {$(
        impl Proto<$name> for $name {
            fn to_proto(&self) -> $name {
                self.clone()
            }

            fn from_proto(proto: $name) -> Result<Self, FieldError> {
                Ok(proto)
            }
        }
    )*};
}

same!(String, bool, i32);

/// A text that is not `optional` is absent if it is empty.
impl Proto<String> for Option<String> {
    fn to_proto(&self) -> String {
        self.clone().unwrap_or_default()
    }

    fn from_proto(proto: String) -> Result<Self, FieldError> {
        Ok((!proto.is_empty()).then_some(proto))
    }
}

/// A number that is not `optional` is absent if it is 0.
impl Proto<i32> for Option<i32> {
    fn to_proto(&self) -> i32 {
        self.unwrap_or_default()
    }

    fn from_proto(proto: i32) -> Result<Self, FieldError> {
        Ok((proto != 0).then_some(proto))
    }
}

impl<T: Proto<P>, P> Proto<Option<P>> for Option<T> {
    fn to_proto(&self) -> Option<P> {
        self.as_ref().map(T::to_proto)
    }

    fn from_proto(proto: Option<P>) -> Result<Self, FieldError> {
        proto.map(T::from_proto).transpose()
    }
}

impl<T: Proto<P>, P> Proto<Vec<P>> for Vec<T> {
    fn to_proto(&self) -> Vec<P> {
        self.iter().map(T::to_proto).collect()
    }

    fn from_proto(proto: Vec<P>) -> Result<Self, FieldError> {
        let read = |(index, item)| T::from_proto(item).map_err(|error| error.at(index));
        proto.into_iter().enumerate().map(read).collect()
    }
}

impl<T: Proto<P>, P> Proto<BTreeMap<String, P>> for BTreeMap<String, T> {
    fn to_proto(&self) -> BTreeMap<String, P> {
        let write = |(key, item): (&String, &T)| (key.clone(), item.to_proto());
        self.iter().map(write).collect()
    }

    fn from_proto(proto: BTreeMap<String, P>) -> Result<Self, FieldError> {
        let read = |(key, item): (String, P)| {
            let item = T::from_proto(item).map_err(|error| error.inside(&key))?;
            Ok((key, item))
        };
        proto.into_iter().map(read).collect()
    }
}

/// A time, which is text in JSON (RFC 3339).
impl Proto<Option<prost_types::Timestamp>> for Option<String> {
    fn to_proto(&self) -> Option<prost_types::Timestamp> {
        self.as_ref().and_then(|text| text.parse().ok())
    }

    fn from_proto(proto: Option<prost_types::Timestamp>) -> Result<Self, FieldError> {
        Ok(proto.map(|time| time.to_string()))
    }
}
