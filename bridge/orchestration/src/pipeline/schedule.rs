//! Decides which step may begin next; a state machine without clock and network.

use std::collections::BTreeSet;

use super::model::Step;

/// The order of a pipeline's steps. A step may begin once all steps that it needs are done; of several, the
/// first in the file begins first.
#[derive(Debug)]
pub(super) struct Schedule<'a> {
    waiting: Vec<&'a Step>,
    done: BTreeSet<&'a str>,
}

impl<'a> Schedule<'a> {
    /// Returns the schedule before the first step.
    pub(super) fn new(steps: &'a [Step]) -> Self {
        Self { waiting: steps.iter().collect(), done: BTreeSet::new() }
    }

    /// Returns the next step that may begin and marks it as begun.
    pub(super) fn next(&mut self) -> Option<&'a Step> {
        let may_begin = |step: &&Step| step.needs().iter().all(|id| self.done.contains(id));
        let place = self.waiting.iter().position(may_begin)?;
        Some(self.waiting.remove(place))
    }

    /// Marks a step as done.
    pub(super) fn done(&mut self, step: &'a Step) {
        self.done.insert(&step.id);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pipeline::fixture::pipeline;

    #[test]
    fn independent_steps_start_and_dependent_steps_wait() {
        let pipeline = pipeline(
            "[[config.step]]\nid = 'review'\nskill = 'x'\ninput = { code = '/code', docs = '/docs' }\n\
             [[config.step]]\nid = 'plan'\nskill = 'x'\n\
             [[config.step]]\nid = 'code'\nskill = 'x'\ninput = { plan = '/plan' }\n\
             [[config.step]]\nid = 'docs'\nskill = 'x'\nafter = ['plan']\n",
        );
        let mut schedule = Schedule::new(&pipeline.steps);
        let plan = schedule.next().unwrap();
        assert_eq!(plan.id, "plan");
        assert!(schedule.next().is_none());
        schedule.done(plan);
        let (code, docs) = (schedule.next().unwrap(), schedule.next().unwrap());
        assert_eq!((code.id.as_str(), docs.id.as_str()), ("code", "docs"));
        schedule.done(docs);
        assert!(schedule.next().is_none());
        schedule.done(code);
        assert_eq!(schedule.next().unwrap().id, "review");
        assert!(schedule.next().is_none());
    }
}
