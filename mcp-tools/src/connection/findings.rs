//! What was found in a message: what was meant, and what was only shown as an example.

use super::{ConnectionDetails, DetailsError};

/// What was found at some place, with the way to it in errors.
pub(super) type Found = Vec<Result<ConnectionDetails, DetailsError>>;

/// Details in the order in which they stand, those that were marked as examples by themselves.
#[derive(Debug, Default)]
pub(super) struct Findings {
    pub(super) examples: Found,
    pub(super) meant: Found,
}

impl Findings {
    /// The same, all marked as examples.
    pub(super) fn into_examples(mut self) -> Self {
        self.examples.append(&mut self.meant);
        self
    }

    /// The same, with a further step of the way to the errors among them.
    pub(super) fn at(self, step: impl Fn(DetailsError) -> DetailsError) -> Self {
        let at = |found: Found| {
            let found = found.into_iter();
            found.map(|one| one.map_err(&step)).collect()
        };
        Self {
            examples: at(self.examples),
            meant: at(self.meant),
        }
    }

    /// All of them, examples first: whoever takes the last takes one that was meant, where there is one.
    pub(super) fn in_order(self) -> Found {
        let Self {
            mut examples,
            mut meant,
        } = self;
        examples.append(&mut meant);
        examples
    }

    pub(super) fn is_empty(&self) -> bool {
        self.examples.is_empty() && self.meant.is_empty()
    }
}

impl From<Found> for Findings {
    fn from(meant: Found) -> Self {
        let examples = Found::new();
        Self { examples, meant }
    }
}

impl From<Result<ConnectionDetails, DetailsError>> for Findings {
    fn from(one: Result<ConnectionDetails, DetailsError>) -> Self {
        vec![one].into()
    }
}

impl FromIterator<Findings> for Findings {
    fn from_iter<T: IntoIterator<Item = Findings>>(all: T) -> Self {
        let mut together = Self::default();
        for mut one in all {
            together.examples.append(&mut one.examples);
            together.meant.append(&mut one.meant);
        }
        together
    }
}
