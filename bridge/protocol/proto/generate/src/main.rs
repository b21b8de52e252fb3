//! Writes the files of the crate `bridge-protocol` that are generated from `a2a.proto` and `a2a_v0_3.proto`: the Rust
//! types of the first, the descriptor of both, and the digests of these files and of their sources, by which a test of
//! that crate quickly checks that they are up to date. With `--check` it writes nothing, and fails if a file differs
//! from the generated one.
//!
//!     cargo run --manifest-path bridge/protocol/proto/generate/Cargo.toml -- [--check]

use std::{
    error::Error,
    fs,
    path::{Path, PathBuf},
    process::ExitCode,
};

use prost::Message as _;
use prost_types::{FileDescriptorProto, FileDescriptorSet};
use protox::file::{ChainFileResolver, File, FileResolver, GoogleFileResolver, IncludeFileResolver};
use sha2::{Digest as _, Sha256};

/// The files with digests: the sources, the generator and the generated files.
const DIGESTED: [&str; 6] = [
    "a2a.proto",
    "a2a_v0_3.proto",
    "generate/Cargo.lock",
    "generate/src/main.rs",
    "a2a.binpb",
    "../src/protobuf/v1.rs",
];

/// The annotations that `a2a.proto` imports. They are about HTTP and documentation, so it is enough that their names
/// can be read: none of them is part of the generated files.
const ANNOTATIONS: [(&str, &str); 3] = [
    (
        "google/api/annotations.proto",
        r#"syntax = "proto3"; package google.api; import "google/protobuf/descriptor.proto";
           message HttpRule {
             oneof pattern { string get = 2; string put = 3; string post = 4; string delete = 5; }
             string body = 7; repeated HttpRule additional_bindings = 11;
           }
           extend google.protobuf.MethodOptions { HttpRule http = 72295728; }"#,
    ),
    (
        "google/api/client.proto",
        r#"syntax = "proto3"; package google.api; import "google/protobuf/descriptor.proto";
           extend google.protobuf.MethodOptions { repeated string method_signature = 1051; }"#,
    ),
    (
        "google/api/field_behavior.proto",
        r#"syntax = "proto3"; package google.api; import "google/protobuf/descriptor.proto";
           enum FieldBehavior { FIELD_BEHAVIOR_UNSPECIFIED = 0; REQUIRED = 2; }
           extend google.protobuf.FieldOptions { repeated FieldBehavior field_behavior = 1052; }"#,
    ),
];

struct Annotations;

impl FileResolver for Annotations {
    fn open_file(&self, name: &str) -> Result<File, protox::Error> {
        match ANNOTATIONS.iter().find(|(known, _)| *known == name) {
            Some((_, source)) => File::from_source(name, source),
            None => Err(protox::Error::file_not_found(name)),
        }
    }
}

fn main() -> ExitCode {
    let check = std::env::args().any(|argument| argument == "--check");
    match run(check) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("failed to generate: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(check: bool) -> Result<(), Box<dyn Error>> {
    let proto = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let descriptor = descriptor(&proto)?;
    let types = proto.join("../src/protobuf/v1.rs");
    put(&types, rust(&descriptor)?.as_bytes(), check)?;
    put(&proto.join("a2a.binpb"), &descriptor.encode_to_vec(), check)?;
    put(&proto.join("SHA256SUMS"), sums(&proto)?.as_bytes(), check)
}

/// Returns a line for each file, as `sha256sum` writes and checks them.
fn sums(proto: &Path) -> Result<String, Box<dyn Error>> {
    let mut lines = String::new();
    for name in DIGESTED {
        let digest = Sha256::digest(fs::read(proto.join(name))?);
        let hex: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
        lines += &format!("{hex}  {name}\n");
    }
    Ok(lines)
}

fn put(path: &Path, content: &[u8], check: bool) -> Result<(), Box<dyn Error>> {
    match check {
        false => Ok(fs::write(path, content)?),
        true if fs::read(path)? == content => Ok(()),
        true => Err(format!("{} is not what the proto files say: run without --check", path.display()).into()),
    }
}

/// `a2a.proto`, `a2a_v0_3.proto` and the standard files that they need, without annotations.
fn descriptor(proto: &Path) -> Result<FileDescriptorSet, Box<dyn Error>> {
    let mut files = ChainFileResolver::new();
    files.add(IncludeFileResolver::new(proto.to_owned()));
    files.add(GoogleFileResolver::new());
    files.add(Annotations);
    let mut compiler = protox::Compiler::with_file_resolver(files);
    compiler.include_imports(true);
    compiler.open_file(PathBuf::from("a2a.proto"))?;
    compiler.open_file(PathBuf::from("a2a_v0_3.proto"))?;
    let mut set = FileDescriptorSet::decode(compiler.encode_file_descriptor_set().as_slice())?;
    let is_needed = |file: &FileDescriptorProto| !is_annotation(file.name());
    set.file.retain(is_needed);
    set.file.retain(|file| file.name() != "google/protobuf/descriptor.proto");
    set.file.iter_mut().for_each(strip);
    Ok(set)
}

fn is_annotation(name: &str) -> bool {
    name.starts_with("google/api/")
}

fn strip(file: &mut FileDescriptorProto) {
    file.dependency.retain(|name| !is_annotation(name));
    for message in &mut file.message_type {
        message.field.iter_mut().for_each(|field| field.options = None);
    }
    for method in file.service.iter_mut().flat_map(|service| &mut service.method) {
        method.options = None;
    }
}

fn rust(descriptor: &FileDescriptorSet) -> Result<String, Box<dyn Error>> {
    let mut config = prost_build::Config::new();
    config.btree_map(["."]).disable_comments(["."]);
    let of = |package: &str| prost_build::Module::from_protobuf_package_name(package);
    let requests = descriptor.file.iter();
    let requests = requests.map(|file| (of(file.package()), file.clone()));
    let mut modules = config.generate(requests.collect())?;
    let types = modules.remove(&of("lf.a2a.v1"));
    Ok(types.ok_or("there is no package lf.a2a.v1")?)
}
