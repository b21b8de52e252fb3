//! Tests that whoever prints an error with its causes reads each text once.

use std::{error::Error, io, path::PathBuf};

use bridge_client::{ClientError, Fault};
use bridge_program::causes;
use bridge_protocol::wire::FieldError;
use green_agent::{
    dataset::DatasetError,
    evaluator::{AssessError, EvaluationError},
    record::{MergeError, RecordError},
    run::RunLogError,
    transcript::TranscriptError,
};
use mcp_tools::client::ConnectError;
use purple_agent::{
    a2a_client::RequestError,
    agent::StopReason,
    policy::{PolicyError, SettingsError, llm::ModelError},
    run::RunError,
};

fn call() -> ClientError {
    ClientError {
        agent: "http://agent.example/".into(),
        operation: "GetTask",
        binding: None,
        fault: Fault::Unreachable("the cable is loose".into()),
    }
}

fn disk() -> io::Error {
    io::Error::other("the cable is loose")
}

fn field() -> FieldError {
    FieldError::new("a number", "a text")
}

#[test]
fn an_error_does_not_repeat_its_cause() {
    let not_json = || serde_json::from_str::<()>("?").unwrap_err();
    let path = || PathBuf::from("run");
    let role = || "purple".to_owned();
    let unreadable = || RecordError::Read { path: path(), error: disk() };
    let model = || ModelError::Invalid {
        url: "http://model.example".to_owned(),
        attempts: 1,
        error: field(),
    };
    let errors: [Box<dyn Error>; 24] = [
        Box::new(EvaluationError::Green(call())),
        Box::new(EvaluationError::Participant { role: role(), error: call() }),
        Box::new(EvaluationError::NotLetIn { role: role(), error: call() }),
        Box::new(EvaluationError::Refused { role: role(), error: call() }),
        Box::new(AssessError::Participant { role: role(), error: Box::new(call()) }),
        Box::new(RunLogError::Folder { path: path(), error: disk() }),
        Box::new(RunLogError::Records(unreadable())),
        Box::new(unreadable()),
        Box::new(RecordError::Write { path: path(), error: disk() }),
        Box::new(RecordError::Manifest { path: path(), error: not_json() }),
        Box::new(RecordError::Line { path: path(), line: 1, error: not_json() }),
        Box::new(MergeError::Copy { from: path(), to: path(), error: disk() }),
        Box::new(TranscriptError::Read { path: path(), error: disk() }),
        Box::new(TranscriptError::Line { path: path(), line: 1, error: not_json() }),
        Box::new(DatasetError::Read { path: path(), error: disk() }),
        Box::new(model()),
        Box::new(PolicyError::Model(model())),
        Box::new(PolicyError::Script { step: 1, error: field() }),
        Box::new(PolicyError::Other(Box::new(disk()))),
        Box::new(SettingsError::Setting { policy: "llm", error: field() }),
        Box::new(StopReason::Policy { policy: role(), error: PolicyError::Model(model()) }),
        Box::new(RequestError::Green(call())),
        Box::new(RunError::Green(call())),
        Box::new(ConnectError::Start { server: role(), error: disk() }),
    ];
    for error in errors {
        let chain = causes(&*error);
        let texts: Vec<String> = chain.map(ToString::to_string).collect();
        for (index, text) in texts.iter().enumerate() {
            let later = &texts[index + 1..];
            assert!(!later.iter().any(|cause| text.contains(cause)), "{texts:?}");
        }
    }
}
