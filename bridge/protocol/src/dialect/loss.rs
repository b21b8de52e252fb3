//! Reports what an older generation cannot express.

use alloc::{
    format,
    string::{String, ToString},
    vec::Vec,
};
use core::fmt;

use crate::wire::join;

/// A value that the older generation cannot express.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Loss {
    /// The path in the 1.0 object: `message.parts[0].mediaType`.
    pub path: String,
    /// The reason, and what was done instead.
    pub what: String,
}

impl fmt::Display for Loss {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.path, self.what)
    }
}

/// The losses of a translation, collected from all objects written with it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Losses(Vec<Loss>);

impl Losses {
    /// Creates an empty collection.
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns whether nothing was lost.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the losses in the order of writing.
    pub fn iter(&self) -> core::slice::Iter<'_, Loss> {
        self.0.iter()
    }

    /// Records a loss at `path`, relative to the object being written.
    pub(crate) fn add(&mut self, path: &str, what: &str) {
        self.0.push(Loss { path: path.to_string(), what: what.to_string() });
    }

    /// Writes the member `name`, and puts `name` before the paths of its losses.
    pub(crate) fn inside<T>(&mut self, name: &str, write: impl FnOnce(&mut Self) -> T) -> T {
        self.below(|| name.to_string(), write)
    }

    /// Does the same with a name that is only computed if there is a loss, which is rare.
    fn below<T>(&mut self, name: impl Fn() -> String, write: impl FnOnce(&mut Self) -> T) -> T {
        let before = self.0.len();
        let written = write(self);
        for loss in self.0.iter_mut().skip(before) {
            loss.path = join(&name(), &loss.path);
        }
        written
    }

    /// Writes by the rules of 0.3, and reports the losses for 0.1.
    #[cfg(feature = "legacy")]
    pub(crate) fn as_v0_3<T>(&mut self, write: impl FnOnce(&mut Self) -> T) -> T {
        let before = self.0.len();
        let written = write(self);
        for loss in self.0.iter_mut().skip(before) {
            loss.what = loss.what.replace("0.3", "0.1");
        }
        written
    }

    /// Writes each item of the list under `name`.
    pub(crate) fn each<T, U>(
        &mut self,
        name: &str,
        items: &[T],
        write: impl Fn(&T, &mut Self) -> U,
    ) -> Vec<U> {
        self.inside(name, |losses| {
            let write =
                |(index, item)| losses.below(|| format!("[{index}]"), |losses| write(item, losses));
            items.iter().enumerate().map(write).collect()
        })
    }
}

impl<'a> IntoIterator for &'a Losses {
    type Item = &'a Loss;
    type IntoIter = core::slice::Iter<'a, Loss>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_loss_tells_the_way_to_it() {
        let mut losses = Losses::new();
        losses.add("tenant", "a");
        losses.inside("message", |losses| {
            losses.each("parts", &[1, 2], |part, losses| {
                if *part == 2 {
                    losses.add("mediaType", "b");
                    losses.add("", "c");
                }
            });
        });
        let shown: Vec<String> = losses.iter().map(Loss::to_string).collect();
        assert_eq!(shown, ["tenant: a", "message.parts[1].mediaType: b", "message.parts[1]: c"]);
    }
}
