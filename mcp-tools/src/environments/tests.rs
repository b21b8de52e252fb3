//! Properties of every built-in environment.

use proptest::prelude::*;
use serde_json::json;

use super::*;

/// Returns everything that an agent sees of a world before its first step.
async fn first_sight(name: &str, seed: u64) -> Value {
    let mut world = builtin(name, seed).unwrap();
    let mut seen = Map::new();
    for tool in world.tools() {
        let result = world.call(&tool.name, JsonObject::new()).await;
        seen.insert(tool.name.to_string(), json!(result.structured_content));
    }
    json!({"task": world.task(), "seen": seen})
}

#[tokio::test]
async fn a_seed_gives_the_same_world_for_ever() {
    for (name, _) in BUILTINS {
        for seed in 1..=3 {
            let seen = first_sight(name, seed).await;
            insta::assert_json_snapshot!(format!("{name}_{seed}"), seen);
        }
    }
}

#[tokio::test]
async fn seeds_give_different_worlds() {
    for (name, _) in BUILTINS {
        assert_ne!(first_sight(name, 1).await, first_sight(name, 2).await);
    }
}

#[test]
fn other_environment_names_are_unknown() {
    assert!(builtin("casino", 1).is_none());
}

#[test]
fn every_tool_says_what_it_does_and_takes() {
    for (name, _) in BUILTINS {
        for tool in builtin(name, 1).unwrap().tools() {
            assert!(tool.description.is_some_and(|text| text.ends_with('.')));
            assert_eq!(tool.input_schema["type"], "object", "{}", tool.name);
        }
    }
}

/// Generates the index of a tool, and arguments that are often nearly right.
fn call() -> impl Strategy<Value = (usize, JsonObject)> {
    let value = prop_oneof![
        (1..70_u32).prop_map(|number| json!(format!("p{number:02}"))),
        (-2..4000_i32).prop_map(|number| json!(number)),
        "[a-z0-9 ]{0,12}".prop_map(|text| json!(text)),
        Just(json!(null)),
        Just(json!([{"a": 1}])),
        any::<f64>().prop_map(|number| json!(number)),
    ];
    let name = prop_oneof![
        Just("product"),
        Just("quantity"),
        Just("query"),
        Just("page"),
        Just("address"),
        Just("total_cents"),
        Just("surplus"),
    ];
    let arguments = proptest::collection::vec((name, value), 0..3);
    let arguments = arguments.prop_map(|list| {
        let named = |(name, value): (&str, Value)| (name.to_owned(), value);
        list.into_iter().map(named).collect()
    });
    (0..20_usize, arguments)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn the_score_stays_in_its_range_and_hidden_after_any_calls(
        seed in any::<u64>(),
        calls in proptest::collection::vec(call(), 0..30),
        answer in proptest::option::of(any::<i64>()),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        for (name, _) in BUILTINS {
            let said = runtime.block_on(play(name, seed, &calls, answer));
            prop_assert!(!said.contains("reward") && !said.contains("score") && !said.contains("success"));
        }
    }
}

/// Returns the results of all calls.
async fn play(name: &str, seed: u64, calls: &[(usize, JsonObject)], answer: Option<i64>) -> String {
    let mut world = builtin(name, seed).unwrap();
    let tools = world.tools();
    let mut said = String::new();
    for (number, arguments) in calls {
        let tool = &tools[number % tools.len()];
        let result = world.call(&tool.name, arguments.clone()).await;
        said += &serde_json::to_string(&result).unwrap();
        let score = world.score().await.unwrap();
        assert!((0.0..=1.0).contains(&score.reward), "{score:?}");
        assert_eq!(score.success, score.reward >= 1.0);
    }
    world.submit(answer.map(|answer| json!(answer)).as_ref()).await.unwrap();
    assert!((0.0..=1.0).contains(&world.score().await.unwrap().reward));
    said
}
