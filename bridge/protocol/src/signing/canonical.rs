//! The canonical form of JSON (RFC 8785), in which equal values have equal text.

use alloc::{
    format,
    string::{String, ToString},
    vec::Vec,
};

use serde_json::{Number, Value};

/// Writes a value in canonical form: members sorted by their names as UTF-16, numbers as ECMAScript prints
/// them, no white space.
pub fn canonical(value: &Value) -> String {
    match value {
        // serde_json writes texts and literals as ECMAScript does.
        Value::Null | Value::Bool(_) | Value::String(_) => value.to_string(),
        Value::Number(number) => printed(number),
        Value::Array(items) => {
            let items: Vec<String> = items.iter().map(canonical).collect();
            format!("[{}]", items.join(","))
        }
        Value::Object(members) => {
            let mut sorted: Vec<_> = members.iter().collect();
            sorted.sort_by_cached_key(|(name, _)| name.encode_utf16().collect::<Vec<_>>());
            let member = |(name, value): (&String, _)| {
                format!("{}:{}", Value::from(name.as_str()), canonical(value))
            };
            let members: Vec<String> = sorted.into_iter().map(member).collect();
            format!("{{{}}}", members.join(","))
        }
    }
}

/// Prints a number as IEEE 754 double, which may lose digits.
fn printed(number: &Number) -> String {
    match number.as_f64() {
        Some(number) => ryu_js::Buffer::new().format(number).to_string(),
        None => number.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// RFC 8785, section 3.2.2 and 3.2.4.
    #[test]
    fn the_example_of_the_rfc() {
        let value: Value = serde_json::from_str(
            r#"{"numbers": [333333333.33333329, 1E30, 4.50, 2e-3, 0.000000000000000000000000001],
                "string": "\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"\/",
                "literals": [null, true, false]}"#,
        )
        .unwrap();
        let expected = "{\"literals\":[null,true,false],\"numbers\":[333333333.3333333,1e+30,4.5,0.002,1e-27],\
                        \"string\":\"\u{20ac}$\\u000f\\nA'B\\\"\\\\\\\\\\\"/\"}";
        assert_eq!(canonical(&value), expected);
    }

    /// RFC 8785, section 3.2.3.
    #[test]
    fn members_are_in_the_order_of_utf_16() {
        let value = json!({
            "\u{20ac}": "Euro Sign", "\r": "Carriage Return", "\u{fb33}": "Hebrew Letter Dalet With Dagesh",
            "1": "One", "\u{1f600}": "Emoji: Grinning Face", "\u{80}": "Control",
            "\u{f6}": "Latin Small Letter O With Diaeresis",
        });
        let text = canonical(&value);
        let order = ["Carriage", "One", "Control", "Latin", "Euro", "Emoji", "Hebrew"];
        let places = order.map(|word| text.find(word).unwrap());
        assert!(places.is_sorted(), "{text}");
    }

    /// RFC 8785, appendix B.
    #[test]
    fn numbers_are_printed_as_ecmascript_does() {
        for (bits, printed) in [
            (0x0000_0000_0000_0000, "0"),
            (0x8000_0000_0000_0000, "0"),
            (0x0000_0000_0000_0001, "5e-324"),
            (0x8000_0000_0000_0001, "-5e-324"),
            (0x7fef_ffff_ffff_ffff, "1.7976931348623157e+308"),
            (0xffef_ffff_ffff_ffff, "-1.7976931348623157e+308"),
            (0x4340_0000_0000_0000, "9007199254740992"),
            (0xc340_0000_0000_0000, "-9007199254740992"),
            (0x4430_0000_0000_0000, "295147905179352830000"),
            (0x44b5_2d02_c7e1_4af5, "9.999999999999997e+22"),
            (0x44b5_2d02_c7e1_4af6, "1e+23"),
            (0x44b5_2d02_c7e1_4af7, "1.0000000000000001e+23"),
            (0x444b_1ae4_d6e2_ef4e, "999999999999999700000"),
            (0x444b_1ae4_d6e2_ef4f, "999999999999999900000"),
            (0x444b_1ae4_d6e2_ef50, "1e+21"),
            (0x3eb0_c6f7_a0b5_ed8c, "9.999999999999997e-7"),
            (0x3eb0_c6f7_a0b5_ed8d, "0.000001"),
            (0x41b3_de43_5555_5553, "333333333.3333332"),
            (0x41b3_de43_5555_5554, "333333333.33333325"),
            (0x41b3_de43_5555_5555, "333333333.3333333"),
            (0x41b3_de43_5555_5556, "333333333.3333334"),
            (0x41b3_de43_5555_5557, "333333333.33333343"),
            (0x4314_3ff3_c1cb_0959, "1424953923781206.2"),
        ] {
            let number = json!(f64::from_bits(bits));
            assert_eq!(canonical(&number), printed, "{bits:x}");
        }
        assert_eq!(canonical(&json!(9_007_199_254_740_993_u64)), "9007199254740992");
        assert_eq!(canonical(&json!(-7)), "-7");
    }
}
