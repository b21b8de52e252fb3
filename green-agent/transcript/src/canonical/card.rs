//! Agent cards in a snapshot: each is shown once, and for later fetches only the changes are shown.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::{
    exchange::Exchange,
    line::{self, ShownBody},
};
use crate::{Body, Content, label::labels};

/// The text for a fetched card, for the changes in it, or for a failure to fetch one.
pub(super) struct CardSection {
    /// `card PATH`, `card PATH changed`, or `card` and the error.
    pub(super) title: String,
    /// The card, or the members that changed.
    pub(super) shown: Option<ShownBody>,
}

/// Returns the sections for a hop's card fetches, by path. Neither the number of fetches nor the order in which a
/// caller tries several paths is shown, because both depend on timing. Errors are not shown if another path returned
/// the card.
pub(super) fn blocks(fetches: &[Exchange<'_>], redact: &[String]) -> Vec<CardSection> {
    let mut places: BTreeMap<&str, Vec<&Body>> = BTreeMap::new();
    for (path, card) in fetches.iter().filter_map(fetched) {
        let cards = places.entry(path).or_default();
        if cards.last() != Some(&card) {
            cards.push(card);
        }
    }
    if places.is_empty() {
        return trouble(fetches).into_iter().collect();
    }
    let blocks = places.iter().flat_map(|(path, cards)| of_place(path, cards, redact));
    blocks.collect()
}

/// Returns the path and the body of a successful fetch.
fn fetched<'a>(exchange: &Exchange<'a>) -> Option<(&'a str, &'a Body)> {
    let Content::Request { path, .. } = &exchange.request?.content else {
        return None;
    };
    let card = exchange.answers.iter().find_map(|entry| match &entry.content {
        Content::Reply { status: ..400, body, .. } => body.as_ref(),
        _ => None,
    });
    Some((path, card?))
}

fn of_place(path: &str, cards: &[&Body], redact: &[String]) -> Vec<CardSection> {
    let first = cards.first().map(|card| CardSection {
        title: format!("card {path}"),
        shown: line::shown(card, redact),
    });
    let changes = cards.windows(2).filter_map(|pair| {
        let shown = match [pair[0], pair[1]].map(|card| line::shown(card, redact)) {
            [Some(ShownBody::Json(before)), Some(ShownBody::Json(after))] if before == after => {
                None?
            }
            [Some(ShownBody::Json(before)), Some(ShownBody::Json(after))] => {
                changed(&before, after)
            }
            [_, after] => after?,
        };
        Some(CardSection { title: format!("card {path} changed"), shown: Some(shown) })
    });
    first.into_iter().chain(changes).collect()
}

/// Returns the members of a card that changed; removed ones are `null`.
fn changed(before: &Value, after: Value) -> ShownBody {
    let (Value::Object(before), Value::Object(after)) = (before, &after) else {
        return ShownBody::Json(after);
    };
    let gone = before.keys().filter(|key| !after.contains_key(*key));
    let gone = gone.map(|key| (key.clone(), Value::Null));
    let new = after
        .iter()
        .filter(|(key, value)| before.get(*key) != Some(*value))
        .map(|(key, value)| (key.clone(), value.clone()));
    ShownBody::Json(Value::Object(gone.chain(new).collect::<Map<_, _>>()))
}

/// Returns the last error.
fn trouble(fetches: &[Exchange<'_>]) -> Option<CardSection> {
    let last = fetches.last()?;
    let troubles: Vec<String> = last.answers.iter().copied().flat_map(labels).collect();
    Some(CardSection {
        title: format!("card {}", troubles.join(" ")).trim_end().to_owned(),
        shown: None,
    })
}
