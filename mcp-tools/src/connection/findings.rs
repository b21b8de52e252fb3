//! The details found in a message, with examples kept apart.

use super::{ConnectionDetails, DetailsError};

/// Details from one part of a message; errors have the path of the field.
pub(super) type Found = Vec<Result<ConnectionDetails, DetailsError>>;

/// Details in document order; those marked as examples are in a separate list.
#[derive(Debug, Default)]
pub(super) struct Findings {
    pub(super) examples: Found,
    pub(super) meant: Found,
}

impl Findings {
    /// Marks all details as examples.
    pub(super) fn into_examples(mut self) -> Self {
        self.examples.append(&mut self.meant);
        self
    }

    /// Adds a step to the path of each error.
    pub(super) fn at(self, step: impl Fn(DetailsError) -> DetailsError) -> Self {
        let at = |found: Found| {
            let found = found.into_iter();
            found.map(|one| one.map_err(&step)).collect()
        };
        Self { examples: at(self.examples), meant: at(self.meant) }
    }

    /// Returns all details, examples first, so that the last entry is not an example if there is any other.
    pub(super) fn in_order(self) -> Found {
        let Self { mut examples, mut meant } = self;
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
