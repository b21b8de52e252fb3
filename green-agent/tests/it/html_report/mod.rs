//! The HTML report in a headless Chromium: large runs, hostile agents, two runs beside each other.

mod generator;

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use green_agent::report::{html, source::ReportSource};

use crate::venv;

/// Drives the browser. It brings none: Debian's is used.
const PLAYWRIGHT: [&str; 1] = ["playwright==1.65.2"];

fn target() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/html-report")
}

#[tokio::test(flavor = "multi_thread")]
async fn the_report_opens_filters_expands_and_compares_in_a_browser() {
    let folder = target();
    let _ = fs::remove_dir_all(&folder);
    generator::run(&folder.join("now"), 0);
    generator::run(&folder.join("before"), 1);
    let read = |name: &str| ReportSource::read(&folder.join(name)).unwrap();
    let page = folder.join("report.html");
    html::write(&read("now"), Some(&read("before")), &page).unwrap();
    let python = venv::with(&PLAYWRIGHT).await.join("bin/python");
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/html_report/browser.py");
    let mut browser = Command::new(python);
    let said = browser
        .arg(script)
        .arg(&page)
        .arg(folder.join("screenshots"))
        .output()
        .unwrap();
    println!("{}", String::from_utf8_lossy(&said.stdout));
    assert!(
        said.status.success(),
        "{}",
        String::from_utf8_lossy(&said.stderr)
    );
}
