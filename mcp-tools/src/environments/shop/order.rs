//! What is to be ordered, and how an order compares with it.

use serde_json::{Map, Value, json};

use super::{
    cart::{Cart, total_of},
    catalogue::Catalogue,
};
use crate::environments::{Score, rng::SeededRng};

const STREETS: [&str; 4] = ["Harbour Street", "Mill Lane", "Station Road", "Orchard Way"];

/// What is to be bought.
#[derive(Debug)]
pub(super) struct ShoppingList {
    pub(super) kind: &'static str,
    pub(super) colour: &'static str,
    pub(super) quantity: u32,
    /// In cents, shipping included.
    budget: u32,
    pub(super) address: String,
}

impl ShoppingList {
    /// Asks for what the catalogue has, and sets the traps: of the three products that fit, the cheapest
    /// is made short of stock, and the budget ends below the dearest.
    pub(super) fn new(rng: &mut SeededRng, catalogue: &mut Catalogue) -> Self {
        let wanted = catalogue.any(rng);
        let (kind, colour) = (wanted.kind, wanted.colour);
        let quantity = rng.within(2, 4);
        let mut budget = 0;
        if let [cheapest, fitting, dearest] = &mut *catalogue.alike(kind, colour) {
            cheapest.stock = quantity - 1;
            let between = u32::midpoint(fitting.price, dearest.price);
            budget = total_of(between, quantity);
        }
        Self {
            kind,
            colour,
            quantity,
            budget,
            address: format!("{} {}", rng.within(1, 99), rng.one_of(&STREETS)),
        }
    }

    pub(super) fn goal(&self) -> String {
        let plural = if self.kind == "scarf" {
            "scarves".into()
        } else {
            format!("{}s", self.kind)
        };
        format!(
            "Order {} {} {plural} for at most {}.{:02}, shipping included, to be sent to {}. Confirm the order, then submit.",
            self.quantity,
            self.colour,
            self.budget / 100,
            self.budget % 100,
            self.address,
        )
    }

    pub(super) fn shown(&self) -> Value {
        json!({
            "kind": self.kind,
            "colour": self.colour,
            "quantity": self.quantity,
            "budget_cents": self.budget,
            "address": self.address,
        })
    }
}

/// A confirmed order is worth a quarter for each of the right products, the right quantity, a total
/// within the budget, and the right address. One that was not confirmed is worth nothing.
pub(super) fn score(
    list: &ShoppingList,
    cart: &Cart,
    address: Option<&str>,
    confirmed: bool,
) -> Score {
    let fits = |line: &&super::cart::Line| {
        line.product.kind == list.kind && line.product.colour == list.colour
    };
    let fitting: u32 = cart.content().filter(fits).map(|line| line.quantity).sum();
    let checks = [
        (
            "product",
            !cart.is_empty() && cart.content().all(|line| fits(&line)),
        ),
        ("quantity", fitting == list.quantity),
        ("budget", !cart.is_empty() && cart.total() <= list.budget),
        (
            "address",
            address.is_some_and(|address| same(address, &list.address)),
        ),
    ];
    let met = checks.iter().filter(|(_, met)| *met).count();
    let mut details: Map<String, Value> = checks
        .iter()
        .map(|(name, met)| ((*name).into(), json!(met)))
        .collect();
    details.insert("confirmed".into(), json!(confirmed));
    let quarters = [0.0, 0.25, 0.5, 0.75, 1.0];
    Score {
        reward: if confirmed { quarters[met] } else { 0.0 },
        success: confirmed && met == checks.len(),
        details,
    }
}

/// Whether two addresses are the same place: spaces and capitals do not matter.
fn same(one: &str, other: &str) -> bool {
    let words = |text: &str| {
        text.to_lowercase()
            .split_whitespace()
            .collect::<Vec<_>>()
            .join(" ")
    };
    words(one) == words(other)
}
