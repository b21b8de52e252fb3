//! Tests with cards of other implementations.

mod lint;
