//! The macro `open_enum!`, which makes enumerations that preserve unknown values.

/// Makes an enum of names on the wire, with a variant `Unknown` that keeps any other name.
macro_rules! open_enum {
    (
        $(#[$meta:meta])*
        pub enum $name:ident, $expected:literal {
            $( $(#[$variant_meta:meta])* $variant:ident = $wire:literal, )*
        }
    ) => {
        $(#[$meta])*
        #[derive(Clone, Debug, PartialEq, Eq)]
        pub enum $name {
            $( $(#[$variant_meta])* $variant, )*
            /// An unknown name.
            Unknown(::alloc::string::String),
        }

        impl $name {
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
                match &value {
                    ::serde_json::Value::String(name) => Ok(name.as_str().into()),
                    other => Err($crate::wire::FieldError::unexpected($expected, other)),
                }
            }

            fn read_from<'de, D: ::serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
                let $crate::wire::FieldName(name) = ::serde::Deserialize::deserialize(from)?;
                Ok((&*name).into())
            }

            fn describe(schemas: &mut $crate::wire::Schemas) -> ::serde_json::Value {
                schemas.names(stringify!($name), &[$($wire),*])
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
