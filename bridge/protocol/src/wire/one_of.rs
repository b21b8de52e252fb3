//! The macro `one_of!`, for objects that have exactly one of several members (`oneof` in `a2a.proto`).

/// Makes the reader of an enum, and its schema. Each variant is a member, some of which may have another name in
/// `a2a.proto`.
macro_rules! one_of {
    ($name:ident, $expected:literal, $none:literal, $several:literal {
        $( $variant:ident($type:ty) = $key:literal $(or $proto:literal)?, )*
    }) => {
        impl $crate::wire::Wire for $name {
            fn read(value: ::serde_json::Value) -> Result<Self, $crate::wire::FieldError> {
                let mut fields = $crate::wire::Fields::of(value)?;
                let members = [$(
                    fields
                        $(.either($key, $proto))?
                        .optional::<Option<$type>>($key)?
                        .map(Self::$variant),
                )*];
                let mut present = members.into_iter().flatten();
                match (present.next(), present.next()) {
                    (Some(member), None) => Ok(member),
                    (None, _) => Err($crate::wire::FieldError::new($expected, $none)),
                    (Some(_), Some(_)) => Err($crate::wire::FieldError::new($expected, $several)),
                }
            }

            fn describe(schemas: &mut $crate::wire::Schemas) -> ::serde_json::Value {
                let members = [$( ($key, <$type as $crate::wire::Wire>::describe(schemas)), )*];
                schemas.one_of(stringify!($name), &members)
            }
        }

        $crate::wire::object!(@deserialize $name);
    };
}

pub(crate) use one_of;
