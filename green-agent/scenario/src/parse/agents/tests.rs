use super::*;
use crate::{
    model::{Green, Start},
    tests::{errors_of, scenario_of},
};

const GREEN: &str = "[green_agent]\nendpoint = 'http://127.0.0.1:9009'\n";

#[test]
fn the_tutorials_file_is_read_as_it_is() {
    let scenario = scenario_of(
        r#"
        [green_agent]
        endpoint = "http://127.0.0.1:9009"
        cmd = "python judge.py --host '127.0.0.1'"
        colour = "tolerated"

        [[participants]]
        role = "pro_debater"
        endpoint = "http://127.0.0.1:9019"
        cmd = ""
        agentbeats_id = "abc"
        "#,
    );
    let Green::Agent(green) = scenario.green else {
        panic!("the green agent is a program");
    };
    assert_eq!(green.role, "green");
    let started = Start::Program {
        endpoint: "http://127.0.0.1:9009/".parse().unwrap(),
        cmd: ["python", "judge.py", "--host", "127.0.0.1"].map(str::to_owned).into(),
    };
    assert_eq!(green.start, started);
    let [debater] = &scenario.participants[..] else {
        panic!("there is one participant");
    };
    assert_eq!(debater.role, "pro_debater");
    assert_eq!(debater.agentbeats_id.as_deref(), Some("abc"));
    assert!(matches!(debater.start, Start::Running { .. }));
}

#[test]
fn the_leaderboards_dialect_is_read_too() {
    let scenario = scenario_of(
        r#"
        [green_agent]
        endpoint = "http://127.0.0.1:9009"
        env = { LOG = "debug" }
        [[participants]]
        name = "debater"
        image = "ghcr.io/x/y"
        endpoint = "http://127.0.0.1:9019/a2a"
        env = { KEY = "${SECRET}", TEMPERATURE = 1.0 }
        requires = ["command:uv"]
        "#,
    );
    let debater = &scenario.participants[0];
    assert_eq!(debater.role, "debater");
    assert_eq!(debater.env["KEY"], "${SECRET}");
    assert_eq!(debater.env["TEMPERATURE"], "1.0");
    assert_eq!(debater.requires.len(), 1);
}

#[test]
fn a_name_beside_a_role_is_for_people() {
    let scenario = scenario_of(&format!(
        "{GREEN}[[participants]]\nname = 'Our best one'\nrole = 'a'\nendpoint = 'http://h'\n"
    ));
    assert_eq!(scenario.participants[0].role, "a");
}

#[test]
fn mistakes_of_an_agent_are_reported_at_their_key() {
    for (participant, expected) in [
        ("role = 'a'", "a.toml:3:1: participants[0].endpoint: missing"),
        ("endpoint = 'http://h'", "a.toml:3:1: participants[0].role: missing"),
        ("role = 'a'\ncmd = 'x'", "a.toml:5:7: participants[0].cmd: cmd found without"),
        (
            "role = 'a'\nbuiltin = 'x'",
            "a.toml:5:11: participants[0].builtin: expected a built-in bot: sample, ",
        ),
        (
            "role = 'a'\nbuiltin = 'sample'\ncmd = 'x'",
            "a.toml:6:7: participants[0].cmd: expected it without builtin",
        ),
        (
            "role = 'a'\npolicy = 'lies'\nenv = { KEY = 'x' }",
            "a.toml:6:7: participants[0].env: expected it without policy",
        ),
        (
            "role = 'a'\nbuiltin = 'sample'\npass_env = ['KEY']",
            "a.toml:6:12: participants[0].pass_env: expected it without builtin",
        ),
        ("role = 'a'\nendpoint = 'h:1'", "a.toml:5:12: participants[0].endpoint: expected an http"),
        (
            "role = 'a'\nendpoint = 'http://h'\ncmd = '\"x'",
            "a.toml:6:7: participants[0].cmd: expected a command",
        ),
        (
            "role = 'runner'\nendpoint = 'http://h'",
            "a.toml:4:8: participants[0].role: the role \"runner\" is reserved",
        ),
        (
            "role = 'a->b'\nendpoint = 'http://h'",
            "a.toml:4:8: participants[0].role: expected a role",
        ),
        (
            "role = 'a'\nendpoint = 'http://user@h'",
            "a.toml:5:12: participants[0].endpoint: user or password found",
        ),
        (
            "role = 'a'\nendpoint = 'http://:word@h'",
            "a.toml:5:12: participants[0].endpoint: user or password found",
        ),
        (
            "role = 'a'\nendpoint = 'http://h'\nenv = 'clean'",
            "a.toml:6:7: participants[0].env: expected a table, or \"inherit\", found \"clean\"",
        ),
        (
            "role = 'a'\nendpoint = 'http://h'\nenv = { A = [] }",
            "a.toml:6:13: participants[0].env.A: expected text, a number, true or false, found a list",
        ),
    ] {
        let errors = errors_of(&format!("{GREEN}[[participants]]\n{participant}\n"));
        assert!(errors.starts_with(expected), "{errors}");
        assert_eq!(errors.lines().count(), 1, "{errors}");
    }
}

#[test]
fn a_server_is_used_by_others() {
    let scenario = scenario_of(
        "[green_agent]\nendpoint = 'http://h'\n\
         [[participants]]\nrole = 'a'\npolicy = 'sum-and-shop'\ntools = 'b'\n\
         [[participants]]\nrole = 'b'\nserver = 'http://127.0.0.1:9/mcp'\ncmd = 'x --to {c} --port 9'\n\
         [[participants]]\nrole = 'c'\nendpoint = 'http://127.0.0.1:7'\nenv = { A = '{c} ${b}' }\n",
    );
    let [a, b, c] = &scenario.participants[..] else {
        panic!("there are three participants");
    };
    assert_eq!((b.server_kind, c.server_kind), (ServerKind::Server, ServerKind::Agent));
    assert!(a.knows("b") && b.knows("c") && !c.knows("b") && !a.knows("c"));
}

#[test]
fn mistakes_of_a_server_are_reported_at_their_key() {
    for (participant, expected) in [
        (
            "role = 'a'\nserver = 'http://h'\nendpoint = 'http://h'",
            "a.toml:6:12: participants[0].endpoint: expected it without server",
        ),
        (
            "role = 'a'\nendpoint = 'http://h'\ntools = 'a'",
            "a.toml:6:9: participants[0].tools: expected it only beside policy",
        ),
        (
            "role = 'a'\nendpoint = 'http://h'\nmessage_only = true",
            "a.toml:6:16: participants[0].message_only: expected it only beside bot, builtin or policy",
        ),
        (
            "role = 'a'\npolicy = 'sum-and-shop'\ntools = 'b'",
            "a.toml:6:9: participants[0].tools: no agent has the role \"b\"",
        ),
        (
            "role = 'a'\npolicy = 'sum-and-shop'\ntools = 'a'",
            "a.toml:6:9: participants[0].tools: expected the role of a participant with server",
        ),
    ] {
        let errors = errors_of(&format!("{GREEN}[[participants]]\n{participant}\n"));
        assert!(errors.starts_with(expected), "{errors}");
    }
}

#[test]
fn a_role_can_be_part_of_hops_and_file_names() {
    for role in ["a", "pro_debater", "a b", "a.b", "é"] {
        assert!(is_role(role), "{role:?}");
    }
    for role in ["", " a", "a ", ".a", "..", "a->b", "a/b", "a\\b", "a\nb"] {
        assert!(!is_role(role), "{role:?}");
    }
}

#[test]
fn a_second_participant_with_a_role_is_reported_with_the_first() {
    let participant = "[[participants]]\nrole = 'a'\nendpoint = 'http://h'\n";
    let errors = errors_of(&format!("{GREEN}{participant}{participant}"));
    assert!(errors.starts_with("a.toml:7:8: "), "{errors}");
    assert!(errors.contains("is taken by the participant of line 3"), "{errors}");
}

#[test]
fn the_files_of_car_benchs_contest_name_an_evaluator_and_one_agent() {
    let text = "[evaluator]\nendpoint = 'http://127.0.0.1:8081'\ncmd = 'python src/evaluator/server.py --port 8081'\n\
         [agent_under_test]\nname = 'a label'\nendpoint = 'http://127.0.0.1:8080'\ncmd = ''\n\
         [config]\nnum_trials = 1\n";
    let scenario = scenario_of(text);
    let Green::Agent(green) = &scenario.green else {
        panic!("the evaluator is a program");
    };
    assert_eq!(green.role, "green");
    let [agent] = &scenario.participants[..] else {
        panic!("there is one participant");
    };
    assert_eq!(agent.role, "agent_under_test");
    assert!(matches!(agent.start, Start::Running { .. }));
    let images =
        scenario_of("[evaluator]\nimage = 'x'\n[agent_under_test]\nbuild = { context = '.' }\n");
    assert!(matches!(images.participants[0].start, Start::Absent { is_built: true, .. }));
}

#[test]
fn a_contest_file_without_its_evaluator_is_refused_at_that_table() {
    let errors = errors_of("[agent_under_test]\nendpoint = 'http://127.0.0.1:1'\n");
    assert!(errors.starts_with("a.toml:1:1: evaluator: missing; expected AgentBeats'"), "{errors}");
    let errors = errors_of(
        "[evaluator]\nendpoint = 'http://h'\n[[agent_under_test]]\nendpoint = 'http://h'\n",
    );
    assert!(errors.starts_with("a.toml:3:1: agent_under_test: expected a table"), "{errors}");
}

#[test]
fn a_program_that_calls_the_green_agent_has_no_address() {
    for address in ["endpoint", "server", "bot"] {
        let errors = errors_of(&format!(
            "[green_agent]\nendpoint = 'http://g'\n[[participants]]\nrole = 'a'\n{address} = 'http://h'\ncmd = 'x {{green}}'\n"
        ));
        let expected = format!(
            "a.toml:5:{}: participants[0].{address}: expected it without {{green}}",
            address.len() + 4
        );
        assert!(errors.starts_with(&expected), "{errors}");
    }
}

const BEHIND_GREEN: &str = "[green_agent]\nendpoint = 'http://h'\n[[participants]]\nrole = 'a'\n";

#[test]
fn a_bot_and_its_host_know_each_other() {
    let scenario = scenario_of(&format!(
        "{BEHIND_GREEN}bot = 'http://127.0.0.1:9/api'\ncmd = 'x 9'\nagentbeats_id = 'i'\nenv = {{ A = 'b' }}\nmessage_only = true\n\
         [[participants]]\nrole = 'b'\nbot = 'http://127.0.0.1:8/api'\n\
         [[harness.expect]]\nsequence = ['end']\nhop = 'a -> a.bot'\n[harness]\nversion = 1\n"
    ));
    let roles: Vec<_> = scenario.participants.iter().map(|agent| agent.role.as_str()).collect();
    assert_eq!(roles, ["a", "b", "a.bot", "b.bot"]);
    let [a, b, a_bot, b_bot] = &scenario.participants[..] else {
        panic!("two bots are four participants");
    };
    assert!(a.knows("a.bot") && !a.knows("b.bot") && a_bot.answers(a) && !b_bot.answers(a));
    assert_eq!((a.server_kind, a_bot.server_kind), (ServerKind::Agent, ServerKind::Server));
    assert_eq!((a.agentbeats_id.as_deref(), &a_bot.agentbeats_id), (Some("i"), &None));
    assert!(a.message_only && !b.message_only);
    assert_eq!((a.env.len(), a_bot.env["A"].as_str()), (0, "b"));
    assert!(matches!(&a_bot.start, Start::Program { cmd, .. } if cmd == &["x", "9"]));
    assert!(matches!(&b.start, Start::Bot { role } if role == "b.bot"));
    assert!(matches!(b_bot.start, Start::Running { .. }));
}

#[test]
fn a_bot_is_nothing_else_and_its_role_is_its_own() {
    for (participant, expected) in [
        (
            "bot = 'http://h'\nendpoint = 'http://h'",
            "a.toml:6:12: participants[0].endpoint: expected it without bot",
        ),
        (
            "bot = 'http://h'\nserver = 'http://h'",
            "a.toml:5:7: participants[0].bot: expected it without server",
        ),
        (
            "bot = 'http://h'\nbuiltin = 'sample'",
            "a.toml:5:7: participants[0].bot: expected it without builtin",
        ),
        ("bot = 'h:1'", "a.toml:5:7: participants[0].bot: expected an http"),
        (
            "bot = 'http://h'\n[[participants]]\nrole = 'a.bot'\nendpoint = 'http://h'",
            "a.toml:7:8: participants[1].role: the role \"a.bot\" is reserved",
        ),
    ] {
        let errors = errors_of(&format!("{BEHIND_GREEN}{participant}\n"));
        assert!(errors.starts_with(expected), "{errors}");
    }
}
