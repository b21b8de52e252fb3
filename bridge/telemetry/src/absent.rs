//! Stands in for the exporter where it is not built in: nothing is traced.

use http::HeaderMap;
use tracing::Span;

use crate::{ExportLayer, Kind, StartError, Value};

/// Always none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Context;

#[inline]
pub(crate) fn is_on() -> bool {
    false
}

pub(crate) fn start(_: &'static str) -> Result<Option<ExportLayer>, StartError> {
    Ok(None)
}

pub(crate) fn finish() {}

pub(crate) fn begin(_: Kind, _: &str) -> Span {
    Span::none()
}

pub(crate) fn rename(_: &Span, _: &str) {}

pub(crate) fn set(_: &Span, _: &'static str, _: Value) {}

pub(crate) fn fail(_: &Span) {}

pub(crate) fn context(_: &Span) -> Context {
    Context
}

pub(crate) fn read(_: &HeaderMap) -> Context {
    Context
}

pub(crate) fn parse(_: &str) -> Context {
    Context
}

pub(crate) fn write(_: &Context, _: &mut HeaderMap) {}

pub(crate) fn traceparent(_: &Context) -> Option<String> {
    None
}

pub(crate) fn ids(_: &Context) -> Option<(String, String)> {
    None
}

pub(crate) fn adopt(_: &Context, _: &Span) {}

pub(crate) fn link(_: &Context, _: &Span) {}
