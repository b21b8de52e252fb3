//! What an older generation cannot say, reported as data.

use alloc::{
    format,
    string::{String, ToString},
    vec::Vec,
};
use core::fmt;

use crate::wire::join;

/// One thing that the older generation cannot say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Loss {
    /// Where it stands in the 1.0 object: `message.parts[0].mediaType`.
    pub path: String,
    /// Why it cannot be said, and what became of it.
    pub what: String,
}

impl fmt::Display for Loss {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.path, self.what)
    }
}

/// What a translation lost. Collects from all objects that are written with it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Losses(Vec<Loss>);

impl Losses {
    /// None yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Whether everything could be said.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Each of them, in the order of writing.
    pub fn iter(&self) -> core::slice::Iter<'_, Loss> {
        self.0.iter()
    }

    /// Notes one at `path`, seen from the object that is being written.
    pub(crate) fn add(&mut self, path: &str, what: &str) {
        self.0.push(Loss {
            path: path.to_string(),
            what: what.to_string(),
        });
    }

    /// Writes what stands under `name`, and puts `name` before the paths of what it loses.
    pub(crate) fn inside<T>(&mut self, name: &str, write: impl FnOnce(&mut Self) -> T) -> T {
        self.below(|| name.to_string(), write)
    }

    /// The same with a name that is only made if something is lost, which is seldom.
    fn below<T>(&mut self, name: impl Fn() -> String, write: impl FnOnce(&mut Self) -> T) -> T {
        let before = self.0.len();
        let written = write(self);
        for loss in self.0.iter_mut().skip(before) {
            loss.path = join(&name(), &loss.path);
        }
        written
    }

    /// Writes what 0.1 says as 0.3 does, and tells of 0.1 what the writer tells of 0.3.
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
        assert_eq!(
            shown,
            [
                "tenant: a",
                "message.parts[1].mediaType: b",
                "message.parts[1]: c"
            ]
        );
    }
}
