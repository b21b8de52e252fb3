//! Reads one table of the file.

use serde_json::{Map, Value};
use toml::{
    Spanned,
    de::{DeTable, DeValue},
};

use super::{Kind, Node, Source};
use crate::error::Problem;

/// The similarity, from 0 to 1, from which a known name is suggested in place of an unknown one.
const ALIKE: f32 = 0.6;

/// The similarity from which an unknown key is taken for a misspelled one.
const MISSPELLED: f32 = 0.85;

/// A table that records which keys were requested. These are the known keys, so that no separate list has to
/// be kept.
pub(crate) struct Table<'a> {
    source: &'a Source<'a>,
    key: String,
    start: usize,
    entries: &'a DeTable<'a>,
    asked: Vec<&'static str>,
}

/// A key of a table, which may be absent.
pub(crate) struct Key<'a> {
    source: &'a Source<'a>,
    /// Where its table starts.
    start: usize,
    name: &'static str,
    /// The name after those of the tables around it.
    path: String,
    node: Option<Node<'a>>,
}

impl<'a> Key<'a> {
    pub(crate) fn name(&self) -> &'static str {
        self.name
    }

    pub(crate) fn node(&self) -> Option<&Node<'a>> {
        self.node.as_ref()
    }

    /// Returns the value alone.
    pub(crate) fn into_node(self) -> Option<Node<'a>> {
        self.node
    }

    pub(crate) fn read<K: Kind>(&self) -> Option<K::Value> {
        K::read(self.node()?)
    }

    /// Returns another value in the place of this key's.
    pub(crate) fn with(&self, value: &'a Spanned<DeValue<'a>>) -> Node<'a> {
        Node { source: self.source, key: self.path.clone(), value }
    }

    /// Returns the value as a table; reports it if it is none.
    pub(crate) fn table(&self) -> Option<Table<'a>> {
        self.node()?.table()
    }

    /// Returns the value of a required key; `expected` describes it for the message.
    pub(crate) fn need(&self, expected: &str) -> Option<&Node<'a>> {
        self.node().or_else(|| self.missing(expected))
    }

    /// Reports that the key is missing; always returns `None`.
    pub(crate) fn missing<T>(&self, expected: &str) -> Option<T> {
        self.source.report(self.start, &self.path, Problem::Missing(expected.to_owned()));
        None
    }

    /// Returns the tables of a list, converted by `read`; empty if the list is absent.
    pub(crate) fn tables<T>(&self, mut read: impl FnMut(&mut Table<'a>) -> Option<T>) -> Vec<T> {
        self.node()
            .and_then(|list| list.list_of(|node| read(&mut node.table()?)))
            .unwrap_or_default()
    }
}

impl<'a> Table<'a> {
    pub(super) fn root(source: &'a Source<'a>, root: &'a Spanned<DeTable<'a>>) -> Self {
        Self { source, key: String::new(), start: 0, entries: root.get_ref(), asked: Vec::new() }
    }

    pub(super) fn new(node: &Node<'a>, entries: &'a DeTable<'a>) -> Self {
        Self {
            source: node.source,
            key: node.key.clone(),
            start: node.value.span().start,
            entries,
            asked: Vec::new(),
        }
    }

    /// Returns the line on which the table begins, from 1.
    pub(crate) fn line(&self) -> usize {
        self.source.position(self.start).0
    }

    /// Reports a mistake in the table as a whole.
    pub(crate) fn report(&self, problem: Problem) {
        self.source.report(self.start, &self.key, problem);
    }

    /// Returns whether the table has a key, without recording it as known.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.entries.get(name).is_some_and(|value| !self.node(name, value).is_null())
    }

    pub(crate) fn key(&mut self, name: &'static str) -> Key<'a> {
        Key {
            source: self.source,
            start: self.start,
            name,
            path: self.key_of(name),
            node: self.get(name),
        }
    }

    /// Returns the value of a key.
    pub(crate) fn get(&mut self, name: &'static str) -> Option<Node<'a>> {
        self.asked.push(name);
        let node = self.node(name, self.entries.get(name)?);
        (!node.is_null()).then_some(node)
    }

    /// Returns the keys and their values, in alphabetical order. A null of a dataset is as if the key were absent.
    pub(crate) fn entries(&self) -> impl Iterator<Item = (&'a str, Node<'a>)> {
        self.all_entries().filter(|(_, node)| !node.is_null())
    }

    fn all_entries(&self) -> impl Iterator<Item = (&'a str, Node<'a>)> {
        self.entries.iter().map(|(name, value)| {
            let name: &'a str = name.get_ref();
            (name, self.node(name, value))
        })
    }

    /// Returns the table as JSON, without the values that were reported.
    pub(crate) fn json(&self) -> Map<String, Value> {
        to_json(self.entries())
    }

    /// Returns the table as JSON of any kind, in which null is a value.
    pub(super) fn json_with_nulls(&self) -> Map<String, Value> {
        to_json(self.all_entries())
    }

    /// Reports every key that was not requested before.
    pub(crate) fn reject_unknown(&self) {
        self.reject(|_| true);
    }

    /// Reports every key that was not requested before, but is almost one that was: others may be meant for other programs.
    pub(crate) fn reject_misspelled(&self) {
        self.reject(|name| is_misspelled(name, &self.asked));
    }

    fn reject(&self, is_wrong: impl Fn(&str) -> bool) {
        for (name, value) in self.entries {
            let is_known = self.asked.contains(&&**name.get_ref());
            if !is_known && is_wrong(name.get_ref()) && !self.node(name.get_ref(), value).is_null()
            {
                let problem = self.unknown(name.get_ref());
                let key = self.key_of(name.get_ref());
                self.source.report(name.span().start, &key, problem);
            }
        }
    }

    fn unknown(&self, name: &str) -> Problem {
        let mut known = self.asked.clone();
        known.sort_unstable();
        known.dedup();
        let swapped = known.iter().find(|known| is_swapped(name, known)).copied();
        let nearest = swapped.or_else(|| nearest(name, &known)).map(str::to_owned);
        Problem::UnknownKey { nearest, known }
    }

    fn node(&self, name: &str, value: &'a Spanned<DeValue<'a>>) -> Node<'a> {
        Node { source: self.source, key: self.key_of(name), value }
    }

    fn key_of(&self, name: &str) -> String {
        let is_bare = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
        let name = match name {
            bare if !bare.is_empty() && bare.chars().all(is_bare) => bare.to_owned(),
            quoted => format!("{quoted:?}"),
        };
        if self.key.is_empty() { name } else { format!("{}.{name}", self.key) }
    }
}

fn to_json<'a>(entries: impl Iterator<Item = (&'a str, Node<'a>)>) -> Map<String, Value> {
    entries.filter_map(|(name, node)| Some((name.to_owned(), node.json()?))).collect()
}

/// Returns the known name that is most similar to what was written.
pub(crate) fn nearest<'a>(written: &str, known: &[&'a str]) -> Option<&'a str> {
    similar::get_close_matches(written, known, 1, ALIKE).first().copied()
}

/// Returns whether a name is almost one of the known ones.
pub(crate) fn is_misspelled(name: &str, known: &[&str]) -> bool {
    !similar::get_close_matches(name, known, 1, MISSPELLED).is_empty()
        || known.iter().any(|known| is_swapped(name, known))
}

/// Returns whether two neighbouring letters of a known key are in the wrong order. The similarity of short words does not
/// show this.
fn is_swapped(name: &str, known: &str) -> bool {
    let (name, known) = (name.as_bytes(), known.as_bytes());
    let Some(at) = name.iter().zip(known).position(|(a, b)| a != b) else {
        return false;
    };
    let mut swapped = name.to_vec();
    if at + 1 < swapped.len() {
        swapped.swap(at, at + 1);
    }
    swapped == known
}
