//! The shopping cart and its total.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::catalogue::Product;

/// The shipping cost of every order, in cents.
const SHIPPING: u32 = 450;

/// The products in the cart, by their ids.
#[derive(Debug, Default)]
pub(super) struct Cart(BTreeMap<String, Line>);

#[derive(Debug)]
pub(super) struct Line {
    pub(super) product: Product,
    pub(super) quantity: u32,
}

impl Line {
    fn price(&self) -> u32 {
        self.product.price * self.quantity
    }

    fn shown(&self) -> Value {
        json!({
            "product": self.product.id,
            "name": self.product.name(),
            "quantity": self.quantity,
            "price_cents": self.price(),
        })
    }
}

impl Cart {
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the quantity of a product in the cart.
    pub(super) fn quantity(&self, id: &str) -> u32 {
        self.0.get(id).map_or(0, |line| line.quantity)
    }

    /// Sets the quantity of a product, at most its stock; 0 removes it.
    pub(super) fn set(&mut self, product: &Product, quantity: u32) {
        if quantity == 0 {
            self.0.remove(&product.id);
            return;
        }
        let product = product.clone();
        self.0.insert(product.id.clone(), Line { product, quantity });
    }

    pub(super) fn content(&self) -> impl Iterator<Item = &Line> {
        self.0.values()
    }

    pub(super) fn lines(&self) -> Vec<Value> {
        self.content().map(Line::shown).collect()
    }

    pub(super) fn shipping(&self) -> u32 {
        if self.is_empty() { 0 } else { SHIPPING }
    }

    /// Returns the total price in cents, shipping included.
    pub(super) fn total(&self) -> u32 {
        self.content().map(Line::price).sum::<u32>() + self.shipping()
    }
}

/// Returns the cost of an order of one product, in cents.
pub(super) fn total_of(price: u32, quantity: u32) -> u32 {
    price * quantity + SHIPPING
}
