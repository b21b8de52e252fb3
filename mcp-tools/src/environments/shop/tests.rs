//! Orders that fulfil a shopping list, and orders that fail it.

use super::*;

/// Returns a shop and the ids of the three products that fit, the cheapest first.
fn shop() -> (Shop, [String; 3]) {
    let mut shop = Shop::new(7);
    let (kind, colour) = (shop.list.kind, shop.list.colour);
    let alike = shop.catalogue.alike(kind, colour);
    let ids: Vec<String> = alike.iter().map(|product| product.id.clone()).collect();
    (shop, ids.try_into().unwrap())
}

fn done(shop: &mut Shop, tool: &str, arguments: &Value) -> Value {
    let arguments = arguments.as_object().unwrap().clone();
    shop.step(tool, arguments).unwrap_or_else(|error| panic!("{tool}: {error}"))
}

fn refused(shop: &mut Shop, tool: &str, arguments: &Value) -> String {
    let before = format!("{:?} {:?}", shop.cart, shop.address);
    let arguments = arguments.as_object().unwrap().clone();
    let error = shop.step(tool, arguments).unwrap_err();
    assert_eq!(before, format!("{:?} {:?}", shop.cart, shop.address));
    error.to_string()
}

/// Adds products to the cart, sets the address, and confirms.
fn order(shop: &mut Shop, products: &[(&str, u32)], address: &str) {
    for (product, quantity) in products {
        let arguments = json!({"product": product, "quantity": quantity});
        done(shop, "add_to_cart", &arguments);
    }
    let cart = done(shop, "set_address", &json!({"address": address}));
    let total = json!({"total_cents": cart["total_cents"]});
    done(shop, "confirm_order", &total);
}

/// Returns the criteria of the score that are not met.
fn failed(shop: &Shop) -> Vec<String> {
    let details = shop.worth().details;
    let failed = details.iter().filter(|(_, met)| **met == json!(false));
    failed.map(|(name, _)| name.clone()).collect()
}

#[test]
fn the_list_can_be_fulfilled_for_every_seed() {
    for seed in 0..200 {
        let mut shop = Shop::new(seed);
        let (kind, colour) = (shop.list.kind, shop.list.colour);
        let fitting = shop.catalogue.alike(kind, colour)[1].id.clone();
        let (quantity, address) = (shop.list.quantity, shop.list.address.clone());
        order(&mut shop, &[(&fitting, quantity)], &address);
        let score = shop.worth();
        assert!(score.success && score.reward >= 1.0, "{seed}: {score:?}");
    }
}

/// The products with their quantities, the address, and the criteria that are not met.
type Case<'a> = (&'a [(&'a str, u32)], &'a str, &'a [&'a str]);

#[test]
fn an_order_can_be_failed_in_each_of_its_points() {
    let (first, [_, fitting, dearest]) = shop();
    let list = &first.list;
    let (quantity, address) = (list.quantity, &list.address);
    let cheap = |product: &&&Product| product.kind != list.kind && product.price < 900;
    let products = first.catalogue.search("");
    let other = &products.iter().find(cheap).unwrap().id;
    let cases: [Case<'_>; 6] = [
        (&[(&dearest, quantity)], address, &["budget"]),
        (&[(&fitting, quantity - 1)], address, &["quantity"]),
        (&[(&fitting, quantity)], "1 Nowhere", &["address"]),
        (&[(other, quantity)], address, &["product", "quantity"]),
        (&[(&fitting, quantity), (other, 1)], address, &["budget", "product"]),
        (&[(&fitting, quantity + 1)], "1 Nowhere", &["address", "budget", "quantity"]),
    ];
    for (products, address, wanted) in cases {
        let mut shop = shop().0;
        order(&mut shop, products, address);
        assert_eq!(failed(&shop), wanted, "{products:?} to {address}");
        let score = shop.worth();
        let reward = 1.0 - 0.25 * f64::from(u8::try_from(wanted.len()).unwrap());
        assert!(!score.success && (score.reward - reward).abs() < 1e-9);
    }
}

#[test]
fn an_unconfirmed_order_has_no_score() {
    let (mut shop, [_, fitting, _]) = shop();
    let arguments = json!({"product": fitting, "quantity": shop.list.quantity});
    done(&mut shop, "add_to_cart", &arguments);
    let address = json!({"address": shop.list.address});
    done(&mut shop, "set_address", &address);
    assert_eq!(failed(&shop), ["confirmed"]);
    assert!(shop.worth().reward <= 0.0);
}

#[test]
fn an_impossible_order_is_refused_with_alternatives() {
    let (mut shop, [cheapest, fitting, _]) = shop();
    let quantity = shop.list.quantity;
    let cases = [
        (
            "add_to_cart",
            json!({"product": "p99"}),
            "there is no product \"p99\"; search shows the products".to_owned(),
        ),
        ("add_to_cart", json!({}), "product: expected a string, found nothing".to_owned()),
        (
            "add_to_cart",
            json!({"product": fitting, "quantity": 0}),
            "quantity: expected 1 or more, found the number 0".to_owned(),
        ),
        (
            "add_to_cart",
            json!({"product": fitting, "count": 1}),
            "count: expected no such argument, found the number 1".to_owned(),
        ),
        (
            "add_to_cart",
            json!({"product": cheapest, "quantity": quantity}),
            format!(
                "there are {} of {cheapest}, not {quantity}; take fewer or another product",
                quantity - 1
            ),
        ),
        (
            "remove_from_cart",
            json!({"product": fitting}),
            format!("{fitting} is not in the cart; show_cart shows what is"),
        ),
        (
            "search",
            json!({"page": 99}),
            "page: expected a page from 1 to 12, found the number 99".to_owned(),
        ),
        (
            "confirm_order",
            json!({"total_cents": 0}),
            "the cart is empty; add_to_cart fills it".to_owned(),
        ),
    ];
    for (tool, arguments, wanted) in cases {
        assert_eq!(refused(&mut shop, tool, &arguments), wanted);
    }
    done(&mut shop, "add_to_cart", &json!({"product": fitting}));
    let said = refused(&mut shop, "confirm_order", &json!({"total_cents": 1}));
    assert_eq!(said, "the order has no address; set_address sets it");
    done(&mut shop, "set_address", &json!({"address": "1 Nowhere"}));
    let said = refused(&mut shop, "confirm_order", &json!({"total_cents": 1}));
    assert!(said.ends_with("cents, not 1; show_cart shows it"), "{said}");
}

#[test]
fn a_confirmed_order_stays_as_it_is() {
    let (mut shop, [_, fitting, _]) = shop();
    order(&mut shop, &[(&fitting, 1)], "1 Nowhere");
    for tool in ["add_to_cart", "remove_from_cart", "set_address", "confirm_order"] {
        let said = refused(
            &mut shop,
            tool,
            &json!({"product": fitting, "address": "x", "total_cents": 1}),
        );
        assert_eq!(said, "the order is confirmed and cannot be changed any more");
    }
    assert_eq!(done(&mut shop, "show_cart", &json!({}))["confirmed"], true);
}

#[test]
fn a_cart_can_be_changed() {
    let (mut shop, [_, fitting, _]) = shop();
    let product = json!({"product": fitting});
    done(&mut shop, "add_to_cart", &json!({"product": fitting, "quantity": 3}));
    let cart = done(&mut shop, "remove_from_cart", &json!({"product": fitting, "quantity": 1}));
    assert_eq!(cart["lines"][0]["quantity"], 2);
    let cart = done(&mut shop, "remove_from_cart", &product);
    assert_eq!((&cart["lines"], &cart["total_cents"]), (&json!([]), &json!(0)));
}

#[test]
fn a_search_takes_plurals_and_beginnings() {
    let (mut shop, _) = shop();
    for query in ["red mug", "red mugs", "MUG red", "re mu"] {
        let found = done(&mut shop, "search", &json!({"query": query}));
        assert_eq!(found["found"], 3, "{query}");
    }
    assert_eq!(done(&mut shop, "search", &json!({}))["found"], 60);
    assert_eq!(done(&mut shop, "search", &json!({"query": "boat"}))["found"], 0);
}
