//! Fulfils the shopping list with the cheapest fitting product that is in stock in the wanted quantity.

use rmcp::model::{JsonObject, object};
use serde_json::{Value, json};

use super::{CallHistory, NextMove};

pub(super) const SHOW_LIST: &str = "show_list";
const SEARCH: &str = "search";
const SHOW_PRODUCT: &str = "show_product";
const ADD_TO_CART: &str = "add_to_cart";
const SHOW_CART: &str = "show_cart";
const SET_ADDRESS: &str = "set_address";
const CONFIRM_ORDER: &str = "confirm_order";

/// The tools whose results contain the cart.
const CART: [&str; 4] = [SHOW_CART, ADD_TO_CART, SET_ADDRESS, CONFIRM_ORDER];

pub(super) fn next(history: CallHistory<'_>) -> NextMove {
    let Some(list) = history.data(&[SHOW_LIST]) else {
        return NextMove::Call(SHOW_LIST, JsonObject::new());
    };
    let Some(cart) = history.data(&CART) else {
        return NextMove::Call(SHOW_CART, JsonObject::new());
    };
    if cart["confirmed"] == true {
        return NextMove::Submit(None);
    }
    if cart["lines"].as_array().is_none_or(Vec::is_empty) {
        return fill(history, &list);
    }
    if cart["address"] != list["address"] {
        return call(SET_ADDRESS, json!({"address": list["address"]}));
    }
    match (cart["total_cents"].as_u64(), list["budget_cents"].as_u64()) {
        (Some(total), Some(budget)) if total <= budget => {
            call(CONFIRM_ORDER, json!({"total_cents": total}))
        }
        _ => NextMove::GiveUp(format!(
            "the cart costs {}, but the budget is {}",
            cart["total_cents"], list["budget_cents"]
        )),
    }
}

/// Adds the cheapest fitting product that is in stock in the wanted quantity to the cart.
fn fill(history: CallHistory<'_>, list: &Value) -> NextMove {
    let query = format!("{} {}", text(&list["colour"]), text(&list["kind"]));
    let pages: Vec<_> = history.succeeded(&[SEARCH]).collect();
    let wanted = pages.first().map_or(1, |page| page.data()["pages"].as_u64().unwrap_or(1));
    if (pages.len() as u64) < wanted {
        return call(SEARCH, json!({"query": query, "page": pages.len() + 1}));
    }
    let mut products: Vec<Value> = pages
        .iter()
        .flat_map(|page| page.data()["products"].as_array().cloned().unwrap_or_default())
        .collect();
    products.sort_by_key(|product| product["price_cents"].as_u64());
    for product in &products {
        let id = &product["product"];
        let shown = history.succeeded(&[SHOW_PRODUCT]).map(|called| called.data());
        let Some(shown) = shown.into_iter().find(|shown| shown["product"] == *id) else {
            return call(SHOW_PRODUCT, json!({"product": id}));
        };
        if shown["stock"].as_u64() >= list["quantity"].as_u64() {
            let arguments = json!({"product": id, "quantity": list["quantity"]});
            return call(ADD_TO_CART, arguments);
        }
    }
    NextMove::GiveUp(format!("there are not enough of {query}"))
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

fn call(tool: &'static str, arguments: Value) -> NextMove {
    NextMove::Call(tool, object(arguments))
}
