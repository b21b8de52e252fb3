//! The examples for schedulers are files that their readers accept.

use std::process::Command;

use super::shown;

#[test]
fn the_script_for_slurm_is_one_that_bash_reads() {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/schedulers/slurm.sh");
    let output = Command::new("bash").args(["-n", script]).output().unwrap();
    assert!(output.status.success(), "{}", shown(&output));
}

#[tokio::test]
async fn the_examples_for_schedulers_and_the_workflow_are_yaml() {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/..");
    let files = [
        "docs/schedulers/kubernetes.yaml",
        "docs/schedulers/github.yml",
        ".github/workflows/ci.yml",
    ];
    let python = crate::venv::with(&["pyyaml==6.0.3"]).await.join("bin/python");
    for file in files {
        let script = "import sys, yaml; assert all(yaml.safe_load_all(open(sys.argv[1])))";
        let mut parse = Command::new(&python);
        let parse = parse.args(["-I", "-c", script]).arg(format!("{root}/{file}"));
        let output = parse.output().unwrap();
        assert!(output.status.success(), "{file}: {}", shown(&output));
    }
}
