//! Tests runs on a machine that allows few open files.

use std::process::Command;

use super::*;

/// With too few open files, servers refuse connections, and the agents seem to fail.
#[test]
fn a_run_with_too_few_open_files_is_refused_as_a_fault_of_the_machine() {
    let folder = Folder::new(
        "[green_agent]\n[[participants]]\nrole = 'a'\nbuiltin = 'sample'\n[config]\nevaluator = 'conversation'\n\
         [[config.turn]]\nto = 'a'\ntext = 'hi'\n[harness]\nversion = 1\ntrials = 8\nsnapshot = false\n",
    );
    let run = |limit: u32| {
        let mut command = Command::new("sh");
        let limited = format!("ulimit -n {limit}; exec \"$0\" run a.toml --jobs 8");
        command.args(["-c", &limited, env!("CARGO_BIN_EXE_green-agent")]);
        command.current_dir(folder.0.path()).output().unwrap()
    };
    let refused = run(64);
    assert_eq!(refused.status.code(), Some(4), "{}", shown(&refused));
    assert!(shown(&refused).contains("the limit of open files is 64"), "{}", shown(&refused));

    let slower = run(128);
    assert!(slower.status.success(), "{}", shown(&slower));
    assert!(shown(&slower).contains("128, allows 2 trials at a time"), "{}", shown(&slower));
}
