//! Scores sites against a query. Equal input always gives the same order.

use std::collections::BTreeSet;

use super::Site;

/// Stop words, which occur in nearly every text.
const COMMON: [&str; 24] = [
    "a", "an", "and", "are", "at", "can", "for", "from", "how", "i", "in", "is", "it", "me", "my",
    "of", "on", "or", "the", "to", "what", "where", "with", "you",
];

/// The weight of a matching word by the field that contains it.
const IN_TITLE: usize = 4;
const IN_KEYWORDS: usize = 3;
const IN_HOST: usize = 2;
const IN_DESCRIPTION: usize = 1;

/// Returns the words of a text without stop words, in lowercase and in the singular.
pub(super) fn words(text: &str) -> BTreeSet<String> {
    let words = text.split(|c: char| !c.is_alphanumeric());
    let words = words.filter(|word| !word.is_empty()).map(str::to_lowercase);
    words.filter(|word| !COMMON.contains(&word.as_str())).map(singular).collect()
}

fn singular(word: String) -> String {
    match word.strip_suffix('s') {
        Some(one) if one.len() > 2 && !one.ends_with('s') => one.to_owned(),
        Some(_) | None => word,
    }
}

/// Returns the sum of the weights of the query's words. Each word counts once per field; in a host name it may be
/// a part of a longer word.
pub(super) fn score(site: &Site, query: &BTreeSet<String>) -> usize {
    let places = [
        (IN_TITLE, words(&site.title)),
        (IN_KEYWORDS, words(&site.keywords.join(" "))),
        (IN_DESCRIPTION, words(&site.description)),
    ];
    let said = places.iter().map(|(worth, words)| worth * words.intersection(query).count());
    let host = site.url.host_str().unwrap_or_default();
    // Short words occur in host names by accident.
    let in_host = query.iter().filter(|word| word.len() > 3 && host.contains(word.as_str()));
    said.sum::<usize>() + IN_HOST * in_host.count()
}
