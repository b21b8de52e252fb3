//! Runs the examples of this crate.

use std::process::{Command, Output};

use crate::green::{Green, Plan};

/// Returns the output of an example, which cargo has built.
async fn output(name: &str, argument: &str) -> Output {
    let this = std::env::current_exe().unwrap();
    let program = this.ancestors().nth(2).unwrap().join("examples").join(name);
    let mut command = Command::new(&program);
    command.arg(argument);
    let run = tokio::task::spawn_blocking(move || command.output());
    run.await.unwrap().unwrap_or_else(|error| {
        let program = program.display();
        panic!("{program}: {error}; `cargo test` without --test builds it")
    })
}

#[tokio::test]
async fn a_policy_of_ones_own_is_evaluated() {
    let green = Green::start(Plan::of("sum", 21)).await;
    let output = output("own_policy", green.url.as_str()).await;
    assert_eq!(String::from_utf8_lossy(&output.stdout), "passed\n");
    assert!(output.status.success());
}
