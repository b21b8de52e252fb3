//! Roles and states, whose names stand in the order of their numbers. Unknown ones become UNSPECIFIED.

use super::Proto;
use crate::{
    a2a::{Role, TaskState},
    wire::FieldError,
};

macro_rules! enumeration {
    ($($name:ident),*) => {$(
        impl Proto<i32> for $name {
            fn to_proto(&self) -> i32 {
                let names = Self::NAMES.iter().zip(0..);
                let mut numbers = names.filter(|(name, _)| **name == self.as_str());
                numbers.next().map_or(0, |(_, number)| number)
            }

            fn from_proto(proto: i32) -> Result<Self, FieldError> {
                let number = usize::try_from(proto).ok();
                let name = number.and_then(|number| Self::NAMES.get(number));
                Ok(name.map_or_else(Self::default, |name| Self::from(*name)))
            }
        }
    )*};
}

enumeration!(Role, TaskState);

/// A filter by state, which is absent if it is UNSPECIFIED.
impl Proto<i32> for Option<TaskState> {
    fn to_proto(&self) -> i32 {
        self.as_ref().map_or(0, TaskState::to_proto)
    }

    fn from_proto(proto: i32) -> Result<Self, FieldError> {
        match TaskState::from_proto(proto)? {
            TaskState::Unspecified if proto != 0 => Err(FieldError::new(
                "a state such as TASK_STATE_WORKING (2)",
                alloc::format!("the number {proto}"),
            )),
            TaskState::Unspecified => Ok(None),
            state => Ok(Some(state)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protobuf::v1;

    #[test]
    fn the_numbers_are_those_of_the_messages() {
        for number in -1..10 {
            let role = v1::Role::try_from(number).unwrap_or(v1::Role::Unspecified);
            let read = Role::from_proto(number).unwrap();
            assert_eq!(read.as_str(), role.as_str_name());
            assert_eq!(read.to_proto(), i32::from(role));
            let state = v1::TaskState::try_from(number).unwrap_or(v1::TaskState::Unspecified);
            let read = TaskState::from_proto(number).unwrap();
            assert_eq!(read.as_str(), state.as_str_name());
            assert_eq!(read.to_proto(), i32::from(state));
        }
        assert_eq!(Role::from("ROLE_CRITIC").to_proto(), 0);
    }
}
