//! The shopping list, and the comparison of an order with it.

use serde_json::{Map, Value, json};

use super::{
    Shop,
    cart::{Line, total_of},
    catalogue::Catalogue,
};
use crate::environments::{Score, rng::SeededRng};

const STREETS: [&str; 4] = ["Harbour Street", "Mill Lane", "Station Road", "Orchard Way"];

/// The product, quantity, budget and address that the agent is asked for.
#[derive(Debug)]
pub(super) struct ShoppingList {
    pub(super) kind: &'static str,
    pub(super) colour: &'static str,
    pub(super) quantity: u32,
    /// The budget in cents, shipping included.
    budget: u32,
    pub(super) address: String,
}

impl ShoppingList {
    /// Chooses products from the catalogue and sets the traps: of the three products that fit, the cheapest gets
    /// too little stock, and the budget is below the price of the most expensive.
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
        let plural =
            if self.kind == "scarf" { "scarves".into() } else { format!("{}s", self.kind) };
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

impl Shop {
    /// Scores the order. A confirmed order gets a quarter each for the right products, the right quantity, a total
    /// within the budget, and the right address. An unconfirmed order gets nothing.
    pub(super) fn worth(&self) -> Score {
        let Self { list, cart, confirmed, .. } = self;
        let fits =
            |line: &&Line| line.product.kind == list.kind && line.product.colour == list.colour;
        let fitting: u32 = cart.content().filter(fits).map(|line| line.quantity).sum();
        let address = self.address.as_deref();
        let checks = [
            ("product", !cart.is_empty() && cart.content().all(|line| fits(&line))),
            ("quantity", fitting == list.quantity),
            ("budget", !cart.is_empty() && cart.total() <= list.budget),
            ("address", address.is_some_and(|address| same(address, &list.address))),
        ];
        let met = checks.iter().filter(|(_, met)| *met).count();
        let mut details: Map<String, Value> =
            checks.iter().map(|(name, met)| ((*name).into(), json!(met))).collect();
        details.insert("confirmed".into(), json!(confirmed));
        let quarters = [0.0, 0.25, 0.5, 0.75, 1.0];
        Score {
            reward: if *confirmed { quarters[met] } else { 0.0 },
            success: *confirmed && met == checks.len(),
            details,
        }
    }
}

/// Returns whether two addresses are equal, ignoring whitespace and case.
fn same(one: &str, other: &str) -> bool {
    let words = |text: &str| text.to_lowercase().split_whitespace().collect::<Vec<_>>().join(" ");
    words(one) == words(other)
}
