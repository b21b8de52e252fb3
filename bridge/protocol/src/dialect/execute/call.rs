//! A call of a skill as a request.

use serde_json::{Map, Value};

use crate::{
    dialect::skill::SkillCall,
    jsonrpc::{Id, Request},
    wire::{FieldError, Wire as _},
};

impl SkillCall {
    /// Reads a JSON-RPC request.
    ///
    /// # Errors
    /// Returns an error if the parameters are no object.
    pub fn from_request(method: &str, params: Value) -> Result<Self, FieldError> {
        Ok(Self {
            skill_id: method.into(),
            parameters: Map::read(params).map_err(|error| error.inside("params"))?,
        })
    }

    /// Writes the JSON-RPC request of this call.
    pub fn to_request(&self, id: Id) -> Request {
        Request::new(id, &*self.skill_id, self.parameters.clone().into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString as _;
    use serde_json::json;

    #[test]
    fn parameters_are_an_object() {
        let error = SkillCall::from_request("s", json!([1])).unwrap_err();
        assert_eq!(error.to_string(), "params: expected an object, found a list");
    }
}
