//! Builds the command that runs an agent's container image, as AgentBeats runs it: with the entrypoint that the file names, or
//! with `--host`, `--port` and `--card-url`.

use super::placeholder::PORT;

/// A container engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Engine {
    /// `docker`
    Docker,
    /// `podman`
    Podman,
}

impl Engine {
    /// Both engines; the first is preferred.
    pub const ALL: [Self; 2] = [Self::Docker, Self::Podman];

    /// Returns the name of its program.
    pub fn program(self) -> &'static str {
        match self {
            Self::Docker => "docker",
            Self::Podman => "podman",
        }
    }
}

/// Returns the command that runs an image. The container shares the network of this machine, so that it can
/// use the same addresses as the other agents. Environment variables are passed by name only, because other
/// users of the machine can read command lines.
pub fn command<'a>(
    engine: Engine,
    image: &str,
    entrypoint: &[String],
    variables: impl Iterator<Item = &'a str>,
) -> Vec<String> {
    let mut words = vec![engine.program(), "run", "--rm", "--init", "--network=host"];
    words.extend(variables.flat_map(|name| ["-e", name]));
    let mut entrypoint = entrypoint.iter().map(String::as_str);
    words.extend(entrypoint.next().into_iter().flat_map(|program| ["--entrypoint", program]));
    words.push(image);
    words.extend(entrypoint);
    let card_url = format!("http://127.0.0.1:{PORT}/");
    if !words.iter().any(|word| word.contains(PORT)) {
        words.extend(["--host", "127.0.0.1", "--port", PORT, "--card-url", &card_url]);
    }
    words.into_iter().map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_image_is_run_with_its_port_and_without_secrets_on_the_command_line() {
        let words = command(Engine::Podman, "ghcr.io/x/y:1", &[], ["API_KEY", "LEVEL"].into_iter());
        assert_eq!(
            words.join(" "),
            "podman run --rm --init --network=host -e API_KEY -e LEVEL ghcr.io/x/y:1 \
             --host 127.0.0.1 --port {port} --card-url http://127.0.0.1:{port}/"
        );
        let entrypoint = ["uv", "run", "--port", PORT].map(str::to_owned);
        assert_eq!(
            command(Engine::Docker, "i", &entrypoint, [].into_iter()).join(" "),
            "docker run --rm --init --network=host --entrypoint uv i run --port {port}"
        );
    }
}
