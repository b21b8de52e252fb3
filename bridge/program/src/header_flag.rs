//! The flag `--header-env`, by which programs get headers with secrets: all users of a machine can see arguments.

/// Reads a header and the environment variable that has its value.
///
/// # Errors
/// If the text has not the form `HEADER=NAME`.
pub fn header_and_variable(text: &str) -> Result<(String, String), &'static str> {
    match text.split_once('=') {
        Some((header, name)) if !header.is_empty() && !name.is_empty() => {
            Ok((header.to_owned(), name.to_owned()))
        }
        Some(_) | None => Err("expected HEADER=NAME, such as X-API-Key=MY_KEY"),
    }
}
