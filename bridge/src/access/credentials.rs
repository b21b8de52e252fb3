//! What a request showed that was let in, for whoever reads further into it.

use std::sync::Arc;

use bridge_protocol::dialect::Call;

use super::{
    Access,
    decision::{Looked, Requirement, decide_beyond},
    demand::Demand,
    named,
    refusal::Refusal,
};
use crate::caller::Caller;

/// What a caller shows, as an extension of requests to agents that ask for it. What is asked for stands in the
/// body, which is read behind the layer, and may need more.
#[derive(Clone, Debug)]
pub(crate) struct Credentials {
    access: Access,
    caller: Caller,
    looked: Arc<Looked>,
}

impl Credentials {
    pub(super) fn new(access: Access, caller: Caller, looked: Looked) -> Self {
        Self {
            access,
            caller,
            looked: Arc::new(looked),
        }
    }

    /// Whether it is known who asks, by any scheme of the card.
    pub(crate) fn identify(&self) -> Result<(), Box<Refusal>> {
        let any = self.access.schemes();
        let any = any.map(|(name, _)| Requirement::from([(name.clone(), Vec::new())]));
        let requirements: Vec<Requirement> = any.collect();
        let demand = Demand {
            access: &self.access,
            requirements: &requirements,
            skill: None,
        };
        self.held(&demand)
    }

    /// Whether the skills may be asked for that a call names.
    pub(crate) fn permit(&self, call: &Call) -> Result<(), Box<Refusal>> {
        let mut skills = named::skills(call).into_iter();
        skills.try_for_each(|skill| self.permit_skill(skill))
    }

    /// Whether this skill may be asked for; any may that the agent does not have.
    pub(crate) fn permit_skill(&self, skill: &str) -> Result<(), Box<Refusal>> {
        let is_known = !self.caller.is_anonymous();
        let demand = Demand {
            access: &self.access,
            requirements: self.access.skills().needed(skill, is_known),
            skill: Some(skill),
        };
        match demand.requirements.is_empty() {
            true => Ok(()),
            false => self.held(&demand),
        }
    }

    fn held(&self, demand: &Demand<'_>) -> Result<(), Box<Refusal>> {
        let decision = decide_beyond(demand.requirements, &self.looked, &self.caller);
        Refusal::of(demand, &decision).map_or(Ok(()), |refusal| Err(Box::new(refusal)))
    }
}
