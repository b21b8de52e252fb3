//! The macro `open_enum!`, which makes enumerations that preserve unknown values.

/// Makes an enum of names on the wire, with a variant `Unknown` that keeps any other name. One that is `numbered` is an
/// enum of protocol buffers, whose values can be sent as their numbers too (ProtoJSON); the variants stand in their order.
macro_rules! open_enum {
    (
        $(#[$meta:meta])*
        pub enum $name:ident, $expected:literal $(, $numbered:ident)? {
            $( $(#[$variant_meta:meta])* $variant:ident = $wire:literal, )*
        }
    ) => {
        $(#[$meta])*
        #[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub enum $name {
            $( $(#[$variant_meta])* $variant, )*
            /// An unknown name.
            Unknown(::alloc::boxed::Box<str>),
        }

        impl $name {
            /// All known names on the wire.
            pub(crate) const NAMES: &'static [&'static str] = &[$($wire),*];

            /// Whether a number stands for the name at this place.
            const NUMBERED: bool = !stringify!($($numbered)?).is_empty();

            /// The name on the wire.
            pub fn as_str(&self) -> &str {
                match self {
                    $( Self::$variant => $wire, )*
                    Self::Unknown(name) => name,
                }
            }
        }

        impl From<&str> for $name {
            fn from(name: &str) -> Self {
                match name {
                    $( $wire => Self::$variant, )*
                    other => Self::Unknown(other.into()),
                }
            }
        }

        impl ::core::fmt::Display for $name {
            fn fmt(&self, f: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result {
                f.write_str(self.as_str())
            }
        }

        impl $crate::wire::Wire for $name {
            fn read(value: ::serde_json::Value) -> Result<Self, $crate::wire::FieldError> {
                let number = value.as_u64().filter(|_| Self::NUMBERED);
                let numbered = number.and_then(|number| Self::NAMES.get(usize::try_from(number).ok()?));
                match value.as_str().or(numbered.copied()) {
                    Some(name) => Ok(name.into()),
                    None => Err($crate::wire::FieldError::unexpected($expected, &value)),
                }
            }

            fn read_from<'de, D: ::serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
                let $crate::wire::FieldName(name) = ::serde::Deserialize::deserialize(from)?;
                Ok((&*name).into())
            }

            fn describe(schemas: &mut $crate::wire::Schemas) -> ::serde_json::Value {
                schemas.names(stringify!($name), Self::NAMES, Self::NUMBERED)
            }
        }

        impl ::serde::Serialize for $name {
            fn serialize<S: ::serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.as_str())
            }
        }

        $crate::wire::object!(@deserialize $name);
    };
}

pub(crate) use open_enum;
