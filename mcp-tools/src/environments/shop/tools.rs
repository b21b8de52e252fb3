//! The names and arguments of the shop's tools.

use rmcp::model::Tool;
use serde_json::{Value, json};

use crate::environments::tool;

pub(super) const SHOW_LIST: &str = "show_list";
pub(super) const SEARCH: &str = "search";
pub(super) const SHOW_PRODUCT: &str = "show_product";
pub(super) const ADD_TO_CART: &str = "add_to_cart";
pub(super) const REMOVE_FROM_CART: &str = "remove_from_cart";
pub(super) const SHOW_CART: &str = "show_cart";
pub(super) const SET_ADDRESS: &str = "set_address";
pub(super) const CONFIRM_ORDER: &str = "confirm_order";

/// Returns whether a tool changes the order; such calls are refused once the order is confirmed.
pub(super) fn changes(tool: &str) -> bool {
    [ADD_TO_CART, REMOVE_FROM_CART, SET_ADDRESS, CONFIRM_ORDER].contains(&tool)
}

pub(super) fn all() -> Vec<Tool> {
    vec![
        tool(
            SHOW_LIST,
            "Shows the shopping list: kind, colour and quantity, the budget in cents with shipping, and the address.",
            json!({}),
            &[],
        ),
        tool(
            SEARCH,
            "Finds products whose names have all of the words; without words it finds all. Shows ids, names and prices, a page at a time.",
            json!({
                "query": {"type": "string", "description": "words such as: red mug"},
                "page": {"type": "integer", "minimum": 1, "description": "the first page is 1"},
            }),
            &[],
        ),
        tool(
            SHOW_PRODUCT,
            "Shows a product with its stock.",
            json!({"product": product()}),
            &["product"],
        ),
        tool(
            ADD_TO_CART,
            "Puts a product into the cart. Shows the cart.",
            json!({"product": product(), "quantity": quantity("1 if left out")}),
            &["product"],
        ),
        tool(
            REMOVE_FROM_CART,
            "Takes a product out of the cart. Shows the cart.",
            json!({"product": product(), "quantity": quantity("all if left out")}),
            &["product"],
        ),
        tool(SHOW_CART, "Shows the cart with prices, shipping, total and address.", json!({}), &[]),
        tool(
            SET_ADDRESS,
            "Says where the order goes. Shows the cart.",
            json!({"address": {"type": "string", "description": "such as: 12 Harbour Street"}}),
            &["address"],
        ),
        tool(
            CONFIRM_ORDER,
            "Orders what is in the cart; it cannot be changed afterwards.",
            json!({"total_cents": {"type": "integer", "description": "the cart's total as show_cart shows it"}}),
            &["total_cents"],
        ),
    ]
}

fn product() -> Value {
    json!({"type": "string", "description": "a product's id as search shows it, such as: p07"})
}

fn quantity(default: &str) -> Value {
    json!({"type": "integer", "minimum": 1, "description": default})
}
