//! A multi-step environment: the agent finds the products on a shopping list, adds them to the cart, sets the
//! address, and confirms the order.
//!
//! The agent can fail by the wrong product, quantity, price or address, and by not confirming. The shop has traps,
//! because otherwise it would only test whether the agent can call tools: the cheapest product that fits is short
//! of stock, which only `show_product` shows, and the most expensive one is over budget.
//!
//! Prices are in whole cents.

mod cart;
mod catalogue;
mod order;
mod tools;

use async_trait::async_trait;
use bridge_protocol::wire::FieldError;
use rmcp::model::{CallToolResult, JsonObject, Tool};
use serde_json::{Value, json};

use super::{Arguments, Environment, EnvironmentError, Score, TaskInfo, refused, rng::SeededRng};
use cart::Cart;
use catalogue::{Catalogue, Product};
use order::ShoppingList;

/// The number of products on one page of search results.
const PAGE: usize = 5;

/// A shop with a shopping list.
#[derive(Debug)]
pub struct Shop {
    list: ShoppingList,
    catalogue: Catalogue,
    cart: Cart,
    address: Option<String>,
    confirmed: bool,
}

impl Shop {
    /// Creates a catalogue, and a shopping list that can be fulfilled from it.
    pub fn new(seed: u64) -> Self {
        let mut rng = SeededRng::new(seed);
        let mut catalogue = Catalogue::new(&mut rng);
        let list = ShoppingList::new(&mut rng, &mut catalogue);
        Self { list, catalogue, cart: Cart::default(), address: None, confirmed: false }
    }

    fn step(&mut self, tool: &str, arguments: JsonObject) -> Result<Value, StepError> {
        let mut arguments = Arguments::new(arguments);
        if self.confirmed && tools::changes(tool) {
            return Err(StepError::Confirmed);
        }
        match tool {
            tools::SHOW_LIST => {
                arguments.done()?;
                Ok(self.list.shown())
            }
            tools::SEARCH => self.search(arguments),
            tools::SHOW_PRODUCT => {
                let product = self.product(&mut arguments)?.with_stock();
                arguments.done()?;
                Ok(product)
            }
            tools::ADD_TO_CART => self.add(arguments),
            tools::REMOVE_FROM_CART => self.remove(arguments),
            tools::SHOW_CART => {
                arguments.done()?;
                Ok(self.cart_content())
            }
            tools::SET_ADDRESS => {
                let address = arguments.required("address")?;
                arguments.done()?;
                self.address = Some(address);
                Ok(self.cart_content())
            }
            tools::CONFIRM_ORDER => self.confirm(arguments),
            unknown => Err(StepError::NoTool(unknown.into())),
        }
    }

    fn search(&self, mut arguments: Arguments) -> Result<Value, StepError> {
        let query: String = arguments.optional("query")?.unwrap_or_default();
        let page: i32 = arguments.optional("page")?.unwrap_or(1);
        arguments.done()?;
        let found = self.catalogue.search(&query);
        let pages = found.len().div_ceil(PAGE).max(1);
        let index = usize::try_from(page).ok().and_then(|page| page.checked_sub(1));
        let index = index.filter(|index| *index < pages).ok_or_else(|| {
            FieldError::unexpected(format!("a page from 1 to {pages}"), &json!(page)).inside("page")
        })?;
        let products: Vec<Value> =
            found.iter().skip(index * PAGE).take(PAGE).map(|product| product.shown()).collect();
        Ok(json!({"products": products, "found": found.len(), "page": page, "pages": pages}))
    }

    fn add(&mut self, mut arguments: Arguments) -> Result<Value, StepError> {
        let product = self.product(&mut arguments)?.clone();
        let quantity = quantity(&mut arguments)?.unwrap_or(1);
        arguments.done()?;
        let wanted = self.cart.quantity(&product.id).saturating_add(quantity);
        if wanted > product.stock {
            return Err(StepError::Stock { product: product.id, stock: product.stock, wanted });
        }
        self.cart.set(&product, wanted);
        Ok(self.cart_content())
    }

    /// Removes a product from the cart; all of it, if no quantity is given.
    fn remove(&mut self, mut arguments: Arguments) -> Result<Value, StepError> {
        let product = self.product(&mut arguments)?.clone();
        let quantity = quantity(&mut arguments)?;
        arguments.done()?;
        let there = self.cart.quantity(&product.id);
        if there == 0 {
            return Err(StepError::NotInCart(product.id));
        }
        let left = quantity.map_or(0, |quantity| there.saturating_sub(quantity));
        self.cart.set(&product, left);
        Ok(self.cart_content())
    }

    fn confirm(&mut self, mut arguments: Arguments) -> Result<Value, StepError> {
        let said: i32 = arguments.required("total_cents")?;
        arguments.done()?;
        if self.cart.is_empty() {
            return Err(StepError::EmptyCart);
        }
        if self.address.is_none() {
            return Err(StepError::NoAddress);
        }
        let total = self.cart.total();
        if u32::try_from(said) != Ok(total) {
            return Err(StepError::Total { total, said });
        }
        self.confirmed = true;
        Ok(self.cart_content())
    }

    /// Returns the content of the cart as JSON.
    fn cart_content(&self) -> Value {
        json!({
            "lines": self.cart.lines(),
            "shipping_cents": self.cart.shipping(),
            "total_cents": self.cart.total(),
            "address": self.address,
            "confirmed": self.confirmed,
        })
    }

    fn product(&self, arguments: &mut Arguments) -> Result<&Product, StepError> {
        let id: String = arguments.required("product")?;
        self.catalogue.product(&id).ok_or(StepError::NoProduct(id))
    }
}

/// Reads an optional quantity of at least 1.
fn quantity(arguments: &mut Arguments) -> Result<Option<u32>, FieldError> {
    let Some(said) = arguments.optional::<i32>("quantity")? else {
        return Ok(None);
    };
    match u32::try_from(said) {
        Ok(quantity) if quantity > 0 => Ok(Some(quantity)),
        Ok(_) | Err(_) => Err(FieldError::unexpected("1 or more", &json!(said)).inside("quantity")),
    }
}

/// The reason why a step is not possible.
#[derive(Debug, thiserror::Error)]
enum StepError {
    #[error(transparent)]
    Argument(#[from] FieldError),
    #[error("the shop has no tool {0:?}")]
    NoTool(String),
    #[error("there is no product {0:?}; search shows the products")]
    NoProduct(String),
    #[error("there are {stock} of {product}, not {wanted}; take fewer or another product")]
    Stock { product: String, stock: u32, wanted: u32 },
    #[error("{0} is not in the cart; show_cart shows what is")]
    NotInCart(String),
    #[error("the cart is empty; add_to_cart fills it")]
    EmptyCart,
    #[error("the order has no address; set_address sets it")]
    NoAddress,
    #[error("the cart's total is {total} cents, not {said}; show_cart shows it")]
    Total { total: u32, said: i32 },
    #[error("the order is confirmed and cannot be changed any more")]
    Confirmed,
}

#[async_trait]
impl Environment for Shop {
    fn task(&self) -> TaskInfo {
        TaskInfo { task_id: "shop.order".into(), benchmark: "shop".into(), goal: self.list.goal() }
    }

    fn tools(&self) -> Vec<Tool> {
        tools::all()
    }

    async fn call(&mut self, tool: &str, arguments: JsonObject) -> CallToolResult {
        match self.step(tool, arguments) {
            Ok(shown) => CallToolResult::structured(shown),
            Err(error) => refused(error),
        }
    }

    async fn score(&mut self) -> Result<Score, EnvironmentError> {
        Ok(self.worth())
    }
}

#[cfg(test)]
mod tests;
