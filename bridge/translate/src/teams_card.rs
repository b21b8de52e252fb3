//! Describes in plain text the cards that only Teams has: connector cards, lists and files.

use alloc::{format, string::String, vec::Vec};

use serde_json::{Map, Value};

use crate::{
    card_text::member,
    markup,
    plain_text::{CHOICE, all, buttons, choice, facts, line, pair},
};
/// The prefix of the types of these cards.
pub(crate) const PREFIX: &str = "application/vnd.microsoft.teams.card.";

/// Adds the lines of a card whose type continues the prefix with `kind`, in an attachment of this name.
pub(crate) fn describe(
    kind: &str,
    name: Option<&str>,
    content: &Map<String, Value>,
    lines: &mut Vec<String>,
) {
    let before = lines.len();
    if kind.starts_with("file.") {
        lines.extend(name.map(Into::into));
        line(content.get("description"), lines);
        return;
    }
    texts(content, lines);
    for section in all(content.get("sections")).filter_map(Value::as_object) {
        texts(section, lines);
        actions(section, lines);
    }
    actions(content, lines);
    buttons(content.get("buttons"), lines);
    if lines.len() == before {
        line(content.get("summary"), lines);
    }
}

/// Adds the texts of a connector card, of one of its sections, or of a list.
fn texts(owner: &Map<String, Value>, lines: &mut Vec<String>) {
    let names = ["title", "activityTitle", "activitySubtitle", "activityText", "text"];
    let texts =
        names.iter().filter_map(|name| owner.get(*name)?.as_str()).map(markup::without_tags);
    lines.extend(texts.filter(|text| !text.is_empty()));
    facts(owner, "name", lines);
    for item in all(owner.get("items")) {
        let before = lines.len();
        pair(item, ["title", "subtitle"], lines);
        tap(item.get("tap"), lines.get_mut(before));
    }
}

/// Makes a choice of the line of an item that can be tapped, with the address that it opens.
fn tap(tap: Option<&Value>, line: Option<&mut String>) {
    let (Some(Value::Object(tap)), Some(line)) = (tap, line) else {
        return;
    };
    let address = member(tap, "value").filter(|_| member(tap, "type") == Some("openUrl"));
    let address = address.map(|address| format!(" ({address})")).unwrap_or_default();
    *line = format!("{CHOICE}{line}{address}");
}

/// Adds the buttons of a connector card or of one of its sections.
fn actions(owner: &Map<String, Value>, lines: &mut Vec<String>) {
    for action in all(owner.get("potentialAction")) {
        let label = action.get("name").and_then(Value::as_str);
        let address = all(action.get("targets")).find_map(|target| target.get("uri")?.as_str());
        // The older `ViewAction` has a list of addresses.
        let address = address.or(all(action.get("target")).find_map(Value::as_str));
        match (label, address) {
            (Some(label), Some(address)) => {
                choice(Some(&format!("{label} ({address})")), lines);
            }
            (label, address) => choice(label.or(address), lines),
        }
    }
}

#[cfg(test)]
mod tests {
    use alloc::format;

    use serde_json::json;

    use crate::plain_text;
    use bridge_protocol::{a2a::Part, activity::Activity, wire::Wire as _};

    #[test]
    fn the_cards_of_teams_are_lines() {
        let connector = json!({"title": "Build 7", "summary": "A build", "sections": [
            {"activityTitle": "Ann", "activityText": "broke <b>it</b>", "facts": [{"name": "Branch:", "value": "main"}]},
            {"text": "<ul><li>one</li><li>two</li></ul>"},
        ], "potentialAction": [
            {"@type": "OpenUri", "name": "Log", "targets": [{"os": "default", "uri": "https://h/log"}]},
            {"@type": "ActionCard", "name": "Comment"},
            {"@type": "ViewAction", "name": "Board", "target": ["https://h/board"]},
        ]});
        let list = json!({"title": "Orders", "items": [{"type": "resultItem", "title": "Tea", "subtitle": "3 EUR"},
            {"type": "resultItem", "title": "Cake", "tap": {"type": "openUrl", "value": "https://h/cake"}}],
            "buttons": [{"type": "imBack", "title": "More", "value": "more"}]});
        for (kind, content, expected) in [
            (
                "o365connector",
                connector,
                "Build 7\nAnn\nbroke it\nBranch: main\n- one\n- two\n- Log (https://h/log)\n- Comment\n- Board (https://h/board)",
            ),
            ("o365connector", json!({"summary": "A build"}), "A build"),
            ("list", list, "Orders\nTea: 3 EUR\n- Cake (https://h/cake)\n- More"),
            (
                "file.consent",
                json!({"description": "All orders", "sizeInBytes": 30}),
                "orders.csv\nAll orders",
            ),
        ] {
            let content_type = format!("{}{kind}", super::PREFIX);
            let attachment =
                json!({"contentType": content_type, "name": "orders.csv", "content": content});
            let activity = json!({"type": "message", "attachments": [attachment]});
            let part = plain_text::part(&Activity::read(activity).unwrap());
            assert_eq!(part.as_ref().and_then(Part::as_text), Some(expected));
        }
    }
}
