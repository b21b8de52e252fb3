//! Tests pages in a headless Chromium. The HTML report: large runs, hostile agents, two runs side by side, a running run;
//! and the bridge's page `/docs`.

mod generator;

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
    sync::Arc,
};

use bridge::{bot, host::Host, store::MemoryStore};
use green_agent::report::{html, source::ReportSource};
use tokio::net::TcpListener;

use crate::venv;

/// Drives the browser, and judges its pages. They bring no browser: Debian's is used.
const PLAYWRIGHT: [&str; 2] = ["playwright==1.65.2", "axe-playwright-python==0.1.8"];

fn target() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/html-report")
}

#[tokio::test(flavor = "multi_thread")]
async fn the_report_opens_filters_expands_and_compares_in_a_browser() {
    let folder = target().join("runs");
    let _ = fs::remove_dir_all(&folder);
    generator::run(&folder.join("now"), 0);
    generator::run(&folder.join("before"), 1);
    let read = |name: &str| ReportSource::read(&folder.join(name), None).unwrap();
    let page = target().join("report.html");
    html::write(&read("now"), Some(&read("before")), &page).unwrap();
    drive("browser.py", &[&page]).await;
}

/// A running run with two samples and three trials each, of which those of one sample fail. Each trial begins when the
/// browser's script allows it.
const LIVE: &str = "[green_agent]\n[[participants]]\nrole = 'assistant'\nbuiltin = 'sample'\n\
     [[participants]]\nrole = 'gate'\nserver = 'http://127.0.0.1:9009'\n\
     cmd = 'sh -c \"until [ -e go/{row.id}-$HARNESS_TRIAL ]; do sleep 0.05; done; exec python3 -m http.server 9009 --bind 127.0.0.1\"'\n\
     [config]\nevaluator = 'conversation'\n\
     [[config.turn]]\nto = 'assistant'\ntext = 'Hello'\nstate = 'completed'\ncontains = '{row.target}'\n\
     [harness]\nversion = 1\nports = 'auto'\ntrials = 3\ndataset = 'tasks.jsonl'\ntimeout = { ready = '5m' }\n";

#[tokio::test(flavor = "multi_thread")]
async fn a_running_run_is_viewed() {
    let folder = tempfile::tempdir().unwrap();
    let tasks = "{\"id\": \"greeting\", \"target\": \"Hello\"}\n\
                 {\"id\": \"wrong\", \"target\": \"no such answer\"}\n";
    fs::write(folder.path().join("tasks.jsonl"), tasks).unwrap();
    fs::write(folder.path().join("live.toml"), LIVE).unwrap();
    let program = Path::new(env!("CARGO_BIN_EXE_green-agent"));
    drive("live.py", &[program, folder.path()]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_bridges_page_fits_narrow_windows_and_is_used_with_the_keyboard() {
    let store = Arc::new(MemoryStore::new());
    let sample = bot::builtin_agent("sample", store.clone()).unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let app = Host::new(store, [sample]).router(&url).await.unwrap();
    let server = tokio::spawn(async { axum::serve(listener, app).await });
    drive("docs.py", &[Path::new(&url)]).await;
    server.abort();
}

/// Runs a script with Playwright; its first argument is the folder for screenshots.
async fn drive(script: &str, arguments: &[&Path]) {
    let python = venv::with(&PLAYWRIGHT).await.join("bin/python");
    let scripts = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/html_report");
    let mut browser = Command::new(python);
    let said = browser
        .arg(scripts.join(script))
        .arg(target().join("screenshots"))
        .args(arguments)
        .output()
        .unwrap();
    println!("{}", String::from_utf8_lossy(&said.stdout));
    assert!(said.status.success(), "{}", String::from_utf8_lossy(&said.stderr));
}
