//! Tests that whoever prints an error with its causes reads each text once.

use std::{error::Error, io};

use bridge::{
    bot::StateError, executor::EmitError, host::HostError, push::PushError, store::StoreError,
    turns::TurnError,
};
use bridge_client::{ClientError, Fault};
use bridge_program::{ListenError, causes};

fn disk() -> StoreError {
    let error = io::Error::other("the cable is loose");
    StoreError::io("reading the log", error)
}

#[test]
fn an_error_does_not_repeat_its_cause() {
    let address = "127.0.0.1:1".parse().unwrap();
    let not_json = serde_json::from_str::<()>("?").unwrap_err();
    let error = io::Error::other("the cable is loose");
    let errors: [Box<dyn Error>; 9] = [
        Box::new(disk()),
        Box::new(EmitError::Store(disk())),
        Box::new(TurnError::Store(disk())),
        Box::new(PushError::Store(disk())),
        Box::new(HostError::Push(PushError::Store(disk()))),
        Box::new(HostError::Recover(TurnError::Store(disk()))),
        Box::new(StateError::Corrupt { conversation: "c".into(), error: not_json }),
        Box::new(ClientError {
            agent: "http://agent.example/".into(),
            operation: "GetTask",
            binding: None,
            fault: Fault::Unreachable("the cable is loose".into()),
        }),
        Box::new(ListenError { address, error }),
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
