//! The credentials of an admitted request, for checks that need its body.

use std::sync::Arc;

use bridge_protocol::dialect::Call;

use super::{
    Access,
    decision::{CheckResults, Requirement, decide_beyond},
    named_skills,
    plan::Demand,
    refusal::Refusal,
};
use crate::caller::Caller;

/// The credentials of a caller, as an extension of requests to protected agents. The body, which is read
/// after the access layer, may name a skill that requires more.
#[derive(Clone, Debug)]
pub(crate) struct Credentials {
    access: Access,
    caller: Caller,
    results: Arc<CheckResults>,
}

impl Credentials {
    pub(super) fn new(access: Access, caller: Caller, results: CheckResults) -> Self {
        Self { access, caller, results: Arc::new(results) }
    }

    /// Refuses the request unless the caller is authenticated by any scheme of the card.
    pub(crate) fn identify(&self) -> Result<(), Box<Refusal>> {
        let any = self.access.schemes();
        let any = any.map(|(name, _)| Requirement::from([(name.clone(), Vec::new())]));
        let requirements: Vec<Requirement> = any.collect();
        let demand = Demand { access: &self.access, requirements: &requirements, skill: None };
        self.held(&demand)
    }

    /// Checks whether the caller may use the skills that a call names.
    pub(crate) fn permit(&self, call: &Call) -> Result<(), Box<Refusal>> {
        let mut skills = named_skills::skills(call).into_iter();
        skills.try_for_each(|skill| self.permit_skill(skill))
    }

    /// Checks whether the caller may use this skill; unknown skills need no permission.
    pub(crate) fn permit_skill(&self, skill: &str) -> Result<(), Box<Refusal>> {
        let is_known = !self.caller.is_anonymous();
        let demand = Demand {
            access: &self.access,
            requirements: self.access.skills.needed(skill, is_known),
            skill: Some(skill),
        };
        if demand.requirements.is_empty() { Ok(()) } else { self.held(&demand) }
    }

    fn held(&self, demand: &Demand<'_>) -> Result<(), Box<Refusal>> {
        let decision = decide_beyond(demand.requirements, &self.results, &self.caller);
        Refusal::of(demand, &decision).map_or(Ok(()), |refusal| Err(Box::new(refusal)))
    }
}
