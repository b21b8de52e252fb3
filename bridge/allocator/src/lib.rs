//! The allocator of the programs, mimalloc: a message is some hundred small allocations, on one thread and freed on another.
//!
//! A program uses it by `use bridge_allocator as _;`. It is a crate, so that it is optimised where the program is not.

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;
