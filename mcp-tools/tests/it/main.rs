//! The package as its users see it.
