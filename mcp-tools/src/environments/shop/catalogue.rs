//! The products of the shop.

use serde_json::{Value, json};

use crate::environments::rng::SeededRng;

const KINDS: [&str; 5] = ["mug", "lamp", "scarf", "notebook", "backpack"];
const COLOURS: [&str; 4] = ["red", "blue", "green", "black"];
const STYLES: [&str; 3] = ["plain", "striped", "large"];

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Product {
    pub(super) id: String,
    pub(super) kind: &'static str,
    pub(super) colour: &'static str,
    pub(super) style: &'static str,
    pub(super) price: u32,
    pub(super) stock: u32,
}

impl Product {
    fn words(&self) -> [&'static str; 3] {
        [self.style, self.colour, self.kind]
    }

    pub(super) fn name(&self) -> String {
        self.words().join(" ")
    }

    /// Returns the product as a search result.
    pub(super) fn shown(&self) -> Value {
        json!({"product": self.id, "name": self.name(), "price_cents": self.price})
    }

    /// Returns the product with its stock, as `show_product` returns it.
    pub(super) fn with_stock(&self) -> Value {
        json!({
            "product": self.id,
            "name": self.name(),
            "kind": self.kind,
            "colour": self.colour,
            "price_cents": self.price,
            "stock": self.stock,
        })
    }
}

/// All products: each kind in each colour and style, in random order.
#[derive(Debug)]
pub(super) struct Catalogue(Vec<Product>);

impl Catalogue {
    pub(super) fn new(rng: &mut SeededRng) -> Self {
        let mut products = Vec::new();
        for kind in KINDS {
            for colour in COLOURS {
                products.extend(styles(rng, kind, colour));
            }
        }
        rng.shuffle(&mut products);
        for (index, product) in products.iter_mut().enumerate() {
            product.id = format!("p{:02}", index + 1);
        }
        Self(products)
    }

    /// Returns the products whose names have all words of the query, or words that begin with them. A plural `s`
    /// is ignored.
    pub(super) fn search(&self, query: &str) -> Vec<&Product> {
        let query = query.to_lowercase();
        let fits = |product: &&Product| {
            let has = |word: &str| product.words().iter().any(|own| alike(own, word));
            query.split_whitespace().all(has)
        };
        self.0.iter().filter(fits).collect()
    }

    pub(super) fn product(&self, id: &str) -> Option<&Product> {
        self.0.iter().find(|product| product.id == id)
    }

    /// Returns a random product.
    pub(super) fn any(&self, rng: &mut SeededRng) -> &Product {
        rng.one_of(&self.0)
    }

    /// Returns the products of a kind and a colour, the cheapest first.
    pub(super) fn alike(&mut self, kind: &str, colour: &str) -> Vec<&mut Product> {
        let fits = |product: &&mut Product| product.kind == kind && product.colour == colour;
        let mut alike: Vec<&mut Product> = self.0.iter_mut().filter(fits).collect();
        alike.sort_by_key(|product| product.price);
        alike
    }
}

/// Returns whether a word of a product's name matches a searched word.
fn alike(own: &str, searched: &str) -> bool {
    own.starts_with(searched) || searched.strip_suffix('s') == Some(own)
}

/// Creates the products of a kind in a colour, one per style, with distinct prices.
fn styles(rng: &mut SeededRng, kind: &'static str, colour: &'static str) -> Vec<Product> {
    let mut styles = STYLES;
    rng.shuffle(&mut styles);
    let mut price = rng.within(400, 1500);
    let mut products = Vec::new();
    for style in styles {
        products.push(Product {
            id: String::new(),
            kind,
            colour,
            style,
            price,
            stock: rng.within(4, 9),
        });
        price += rng.within(150, 600);
    }
    products
}
