//! How well a site fits a query: the same words always give the same order.

use std::collections::BTreeSet;

use super::Site;

/// Words that nearly every text has, so that they say nothing about any.
const COMMON: [&str; 24] = [
    "a", "an", "and", "are", "at", "can", "for", "from", "how", "i", "in", "is", "it", "me", "my",
    "of", "on", "or", "the", "to", "what", "where", "with", "you",
];

/// What a word counts for where it stands.
const IN_TITLE: usize = 4;
const IN_KEYWORDS: usize = 3;
const IN_HOST: usize = 2;
const IN_DESCRIPTION: usize = 1;

/// The telling words of a text, in small letters and in the singular.
pub(super) fn words(text: &str) -> BTreeSet<String> {
    let words = text.split(|c: char| !c.is_alphanumeric());
    let words = words.filter(|word| !word.is_empty()).map(str::to_lowercase);
    words
        .filter(|word| !COMMON.contains(&word.as_str()))
        .map(singular)
        .collect()
}

fn singular(word: String) -> String {
    match word.strip_suffix('s') {
        Some(one) if one.len() > 2 && !one.ends_with('s') => one.to_owned(),
        Some(_) | None => word,
    }
}

/// What the words of a query count for; each counts once in each place, in a host name as a part of it.
pub(super) fn score(site: &Site, query: &BTreeSet<String>) -> usize {
    let places = [
        (IN_TITLE, words(&site.title)),
        (IN_KEYWORDS, words(&site.keywords.join(" "))),
        (IN_DESCRIPTION, words(&site.description)),
    ];
    let said = places
        .iter()
        .map(|(worth, words)| worth * words.intersection(query).count());
    let host = site.url.host_str().unwrap_or_default();
    // Short words stand in host names by chance.
    let in_host = query
        .iter()
        .filter(|word| word.len() > 3 && host.contains(word.as_str()));
    said.sum::<usize>() + IN_HOST * in_host.count()
}
