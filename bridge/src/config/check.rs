//! Checks of the configuration beyond its types.

use std::collections::BTreeMap;

use bridge_verify::schema::{self, SchemaError};
use serde_json::Value;
use toml::Spanned;

use super::{
    AgentConfig, Auth, Config, ConversationScopeConfig, EndingConfig, Problem, QuestionState,
    SecretText, SkillConfig, StoreConfig, TurnPreset, locate::position, secret::SecretSources,
};
use crate::push::Seal;

/// The problems, with their offsets in the text.
pub(super) type Found = Vec<(usize, Problem)>;

/// Returns all problems; `builtins` are the names of built-in agents.
pub(super) fn check(config: &Config, text: &str, builtins: &[&'static str]) -> Found {
    let mut found = Found::new();
    if config.agents.is_empty() {
        found.push((0, Problem::NoAgent));
    }
    if let Some(store) = &config.store {
        check_store(store, &mut found);
    }
    let names = config.agents.iter().map(|agent| (agent.name.at, &agent.name.text));
    unique(names, text, &mut found);
    let paths = config.agents.iter().filter_map(|agent| {
        let path = agent.path.as_ref()?;
        Some((path.span().start, &path.get_ref().0))
    });
    unique(paths, text, &mut found);
    for agent in &config.agents {
        check_agent(agent, builtins, &mut found);
    }
    found
}

fn check_store(store: &Spanned<StoreConfig>, found: &mut Found) {
    let Some(said) = &store.get_ref().0.place else {
        return;
    };
    let is_folder = said.0.strip_prefix("sled:").is_some_and(|folder| !folder.is_empty());
    let is_database = ["postgres://", "postgresql://"].map(|scheme| said.0.starts_with(scheme));
    if said.0 != "memory" && !is_folder && !is_database.contains(&true) {
        // The address may contain a password after its scheme.
        let shown = match said.0.split_once("://") {
            Some((scheme, _)) => format!("{scheme}://..."),
            None => said.0.clone(),
        };
        let problem = Problem::Store(shown);
        found.push((store.span().start, problem));
    }
}

fn unique<'a>(all: impl Iterator<Item = (usize, &'a String)>, text: &str, found: &mut Found) {
    let mut first = BTreeMap::new();
    for (at, what) in all {
        match first.get(what) {
            Some(before) => {
                let (line, _) = position(text, *before);
                let what = what.clone();
                found.push((at, Problem::Twice { what, line }));
            }
            None => drop(first.insert(what, at)),
        }
    }
}

fn check_agent(agent: &AgentConfig, builtins: &[&'static str], found: &mut Found) {
    let at = agent.name.at;
    // A card in a file is checked when the file is read.
    let is_open = agent.card.security_schemes.is_empty() && agent.card_file.is_none();
    if agent.extended_card.is_some() && is_open {
        found.push((at, Problem::NobodyToShow));
    }
    if agent.question_end == Some(QuestionState::Completed) && is_conversation_a_task(agent) {
        found.push((at, Problem::QuestionEnd));
    }
    match (&agent.bot, &agent.builtin) {
        (Some(_), None) => {}
        (None, Some(builtin)) => {
            let name = builtin.get_ref();
            if !builtins.contains(&name.as_str()) {
                let problem =
                    Problem::UnknownBuiltin { name: name.clone(), known: builtins.to_vec() };
                found.push((builtin.span().start, problem));
            }
            if let Some(key) = only_for_bots(agent) {
                found.push((at, Problem::OnlyForBots(key)));
            }
        }
        (None, None) | (Some(_), Some(_)) => found.push((at, Problem::NeitherOrBoth)),
    }
    let cards = std::iter::once(&agent.card).chain(&agent.extended_card);
    for skill in cards.filter_map(|card| card.skills.as_ref()).flatten() {
        check_schemas(skill, at, found);
    }
}

/// Returns whether each task of a running bot is a conversation of its own.
fn is_conversation_a_task(agent: &AgentConfig) -> bool {
    match agent.conversation {
        None => agent.turns == Some(TurnPreset::Dotnet),
        Some(scope) => scope == ConversationScopeConfig::Task,
    }
}

/// Checks the schemas of a skill, which would otherwise only fail when the skill is called.
fn check_schemas(skill: &SkillConfig, at: usize, found: &mut Found) {
    let id = skill.id.clone();
    if skill.input_schema.is_some() && skill.parameters.is_some() {
        found.push((at, Problem::TwoSchemas(id.clone())));
    }
    for (key, schema) in skill.schemas() {
        if let Err(SchemaError::Schema(why)) = schema::check(Some(&schema), &Value::Null) {
            let skill = id.clone();
            found.push((at, Problem::Schema { skill, key, why }));
        }
    }
}

/// Returns a key that only works for a bot behind a URL, if one is set.
fn only_for_bots(agent: &AgentConfig) -> Option<&'static str> {
    let keys = [
        ("auth", agent.auth.is_some()),
        ("accept", agent.accept.is_some()),
        ("delivery", agent.delivery.is_some()),
        ("user_id", agent.user_id.is_some()),
        ("bot_id", agent.bot_id.is_some()),
        ("bot_name", agent.bot_name.is_some()),
        ("tenant_id", agent.tenant_id.is_some()),
        ("question_end", agent.question_end.is_some()),
        ("first_contact", agent.first_contact),
        ("ending", agent.ending != EndingConfig::default()),
        ("request_timeout", agent.request_timeout.is_some()),
        ("answer_limit", agent.answer_limit.is_some()),
        ("shown_after", agent.shown_after.is_some()),
        ("callback_url", agent.callback_url.is_some()),
    ];
    keys.into_iter().find_map(|(key, is_there)| is_there.then_some(key))
}

/// Replaces all references to secrets by the secrets.
pub(super) fn find_secrets(config: &mut Config, places: &SecretSources<'_>) -> Found {
    let secrets = config.agents.iter_mut().flat_map(secrets);
    let secrets = secrets.chain(&mut config.push.seal);
    let mut found = Found::new();
    for secret in secrets {
        match secret.get_ref().find(places) {
            Ok(known) => *secret.get_mut() = known,
            Err(problem) => found.push((secret.span().start, problem)),
        }
    }
    check_seal(&config.push.seal, &mut found);
    let store = config.store.iter().filter(|_| !places.is_private);
    let has_password = |store: &&Spanned<StoreConfig>| {
        let place = store.get_ref().0.place.as_ref();
        place.is_some_and(|place| place.has_password())
    };
    let shown = store.filter(has_password);
    found.extend(shown.map(|store| (store.span().start, Problem::StorePassword)));
    found
}

/// Checks the keys, which would otherwise only fail when a webhook is set.
fn check_seal(keys: &[Spanned<SecretText>], found: &mut Found) {
    for key in keys {
        if let SecretText::Clear(secret) = key.get_ref()
            && let Err(why) = Seal::default().add(secret)
        {
            found.push((key.span().start, Problem::SealKey(why)));
        }
    }
}

fn secrets(agent: &mut AgentConfig) -> impl Iterator<Item = &mut Spanned<SecretText>> {
    let shown = agent.auth.as_mut().and_then(secret);
    let checks = agent.access.values_mut();
    shown.into_iter().chain(checks.flat_map(|check| check.secrets.values_mut()))
}

fn secret(auth: &mut Auth) -> Option<&mut Spanned<SecretText>> {
    match auth {
        Auth::ClientSecret(with) => Some(&mut with.secret),
        Auth::ManagedIdentity(identity) => identity.header_value.as_mut(),
        Auth::Anonymous | Auth::Issuer(_) | Auth::Federated(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use std::{fs, os::unix::fs::PermissionsExt as _, path::Path};

    use crate::config::{TEMPLATE, TurnPreset, parse, read};

    const BUILTINS: [&str; 1] = ["echo"];

    #[test]
    fn the_template_is_valid() {
        let config = parse(Path::new("a.toml"), TEMPLATE, &BUILTINS).unwrap();
        assert_eq!(config.agents.len(), 1);
        let turns = TurnPreset::explained();
        assert!(TEMPLATE.contains(&turns), "write this into the template:\n{turns}");
    }

    #[test]
    fn every_mistake_names_key_and_line() {
        let agent = "[[agents]]\nname = 'a'\nbuiltin = 'echo'\n";
        for (text, expected) in [
            (
                "",
                "1:1: expected at least one agent: add [[agents]] with name and bot, or name and builtin",
            ),
            ("x = [", "1:6: unclosed array, expected `]`"),
            (
                "listen = 'here'",
                "1:10: listen: expected an IP address and a port such as 127.0.0.1:3978 or [::1]:3978, found \"here\"",
            ),
            (
                "grpc.listen = 'localhost:1'",
                "1:15: grpc.listen: expected an IP address and a port such as 127.0.0.1:3978 or [::1]:3978, found \"localhost:1\"",
            ),
            (
                "cors.origins = ['app.example']",
                "1:16: cors.origins: expected the origin of pages such as https://app.example, or *, found \"app.example\"",
            ),
            (
                "limits.idle = 60",
                "1:15: limits.idle: invalid type: integer `60`, expected a span of time such as \"30s\", \"5m\" or \"2h\"",
            ),
            (
                "issuer.rotate_every = '24h'",
                "1:23: issuer.rotate_every: expected at least 48h, found 86400s: a key is published for a day before it signs",
            ),
            (
                "limits.body = 1000",
                "1:15: limits.body: invalid type: integer `1000`, expected a size such as \"16 MiB\" or \"500 kB\"",
            ),
            (
                "hosts = ['b.example', 'a b']",
                "1:9: hosts: expected a host name without a port, such as agents.example.com, found \"a b\"",
            ),
            (
                "hosts = ['b.example:80']",
                "1:9: hosts: expected a host name without a port, such as agents.example.com, found \"b.example:80\"",
            ),
            ("a = 1\n", "1:1: a: unknown key; known here: admin, agents, "),
            (
                "[[agents]]\nname = 'a b'",
                "2:8: agents[0].name: expected letters, digits, - and _, found \"a b\"",
            ),
            (
                "[[agents]]\nname = 'a'",
                "2:8: agents[0].name: expected either bot = URL or builtin = NAME",
            ),
            ("[[agents]]\nbuiltin = 'echo'", "1:1: agents[0]: missing field `name`"),
            (
                "[[agents]]\nname = 'a'\nbot = 'ftp://h'",
                "3:7: agents[0].bot: expected a URL that begins with http://",
            ),
            (
                "[[agents]]\nname = 'a'\nbuiltin = 'x'",
                "3:11: agents[0].builtin: expected one of echo, found \"x\"",
            ),
            (
                "[[agents]]\nname = 'a'\nbuiltin = 'echo'\nending = { quiet = '1s' }",
                "2:8: agents[0].name: expected ending beside bot = URL only: built-in agents have no use for it",
            ),
            (
                "[[agents]]\nname = 'a'\nbot = 'http://h'\nturns = 'dotnet'\nquestion_end = 'completed'",
                "2:8: agents[0].name: expected conversation = \"context\" beside question_end = \"completed\": the answer",
            ),
            (
                "[[agents]]\nname = 'a'\nbuiltin = 'echo'\n[agents.extended_card]\ndescription = 'more'",
                "2:8: agents[0].name: expected security_schemes in the card beside extended_card",
            ),
            (
                "[[agents]]\nname = 'a'\nbuiltin = 'echo'\nexpire_after = 'soon'",
                "4:16: agents[0].expire_after: expected a span of time such as 30s, 5m or 2h, found \"soon\"",
            ),
            (
                "[[agents]]\nname = 'a'\nbuiltin = 'echo'\n[agents.card.security_schemes.b]\nhttpAuthSecurityScheme = {}",
                "4:14: agents[0].card.security_schemes.b: httpAuthSecurityScheme.scheme: expected a string, found nothing",
            ),
            (
                "[[agents]]\nname = 'a'\nbuiltin = 'echo'\n[[agents.card.skills]]\nid = 's'\ndescription = 'd'\ninput_schema = { type = 7 }",
                "2:8: agents[0].name: expected a JSON Schema in input_schema of the skill \"s\": ",
            ),
            (
                "[[agents]]\nname = 'a'\nbuiltin = 'echo'\ncard_file = 'c'\n\
                 [[agents.extended_card.skills]]\nid = 's'\ndescription = 'd'\noutput_schema = { type = 7 }",
                "2:8: agents[0].name: expected a JSON Schema in output_schema of the skill \"s\": ",
            ),
            (
                "[[agents]]\nname = 'a'\nbuiltin = 'echo'\n[[agents.card.skills]]\nid = 's'\ndescription = 'd'\ninput_schema = {}\nparameters = {}",
                "2:8: agents[0].name: expected either input_schema or parameters in the skill \"s\"",
            ),
            (
                "[[agents]]\nname = 'a'\nbot = 'http://h'\n[agents.accept.token]\nissuer = 'i'\naudience = 'a'",
                "6:12: agents[0].accept.token.audience: invalid type: string \"a\", expected a list",
            ),
            (
                "[agents]\nassistant = 'http://h'",
                "1:1: agents: invalid type: table, expected a list; write [[agents]] before the settings of each agent",
            ),
            (
                "[agents.assistant]\nbot = 'http://h'",
                "1:2: agents.assistant: invalid type: table, expected a list; write [[agents]] before",
            ),
            (
                "[[agents]]\nname = 'a'\nbot = { url = 'http://h' }",
                "3:7: agents[0].bot: invalid type: table, expected ",
            ),
        ] {
            let error = parse(Path::new("a.toml"), text, &BUILTINS).unwrap_err().to_string();
            let found = error.strip_prefix("a.toml:").unwrap();
            assert!(found.starts_with(expected), "{text}\n{found}\n{expected}");
        }
        let twice = format!("store = 'redis'\n{agent}path = '/p'\n{agent}path = '/p'\n");
        let errors = parse(Path::new("a.toml"), &twice, &BUILTINS).unwrap_err().to_string();
        assert_eq!(
            errors,
            "a.toml:1:9: store: expected memory, sled:FOLDER or postgres://USER@HOST/DATABASE, found \"redis\"\n\
             a.toml:7:8: agents[1].name: \"a\" is taken by the agent of line 3; expected another one\n\
             a.toml:9:8: agents[1].path: \"/p\" is taken by the agent of line 5; expected another one"
        );
    }

    #[test]
    fn all_wrong_types_and_unknown_keys_are_told() {
        let text = "listne = 'x'\nstore = 7\nhosts = [\n  1,\n]\n[limits]\nbody = 'much'\n[grpc]\nenabled = 'yes'\n\
                    [[agents]]\nname = 'a'\nbuiltin = 'echo'\nqueue = 'é'\n[drain]\nturns = 1\n";
        let errors = parse(Path::new("a.toml"), text, &BUILTINS).unwrap_err();
        let lines: Vec<_> = errors.0.iter().map(|error| error.line).collect();
        let keys: Vec<_> = errors.0.iter().map(|error| error.key.as_str()).collect();
        assert_eq!(lines, [1, 2, 4, 7, 9, 13, 15], "{errors}");
        let expected = [
            "listne",
            "store",
            "hosts[0]",
            "limits.body",
            "grpc.enabled",
            "agents[0].queue",
            "drain.turns",
        ];
        assert_eq!(keys, expected, "{errors}");
        // What stands behind it is not TOML without its lines.
        let text = "listne = [\n  1,\n]\nstore = 7\n";
        let errors = parse(Path::new("a.toml"), text, &BUILTINS).unwrap_err();
        assert_eq!(errors.0.len(), 1, "{errors}");
    }

    #[test]
    fn the_password_of_a_database_wants_a_private_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("bridge.toml");
        let check = |store: &str, mode: u32| {
            let text = format!("store = '{store}'\n[[agents]]\nname = 'a'\nbuiltin = 'echo'\n");
            fs::write(&path, text).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
            let config = read(&path, &BUILTINS);
            let config = config.map_err(|error| error.0[0].to_string())?;
            Ok::<_, String>(format!("{config:?}"))
        };
        for (store, mode) in [
            ("postgres://me@db/d", 0o644),
            ("postgres://me:hunter2@db/d", 0o600),
            ("postgres://db/d?user=me&password=hunter2", 0o600),
        ] {
            let shown = check(store, mode).unwrap();
            assert!(!shown.contains("hunter2"), "{shown}");
        }
        for (store, expected) in [
            ("postgres://me:hunter2@db/d", "1:9: store: expected no password"),
            ("postgres://db/d?password=hunter2", "1:9: store: expected no password"),
            ("postgre://me:hunter2@db/d", "found \"postgre://...\""),
        ] {
            let error = check(store, 0o644).unwrap_err();
            assert!(error.contains(expected), "{error}");
            assert!(!error.contains("hunter2"), "{error}");
        }
    }

    #[test]
    fn an_unusable_seal_key_is_reported() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("bridge.toml");
        fs::write(folder.path().join("short"), "aHVudGVyMg==\n").unwrap();
        fs::write(folder.path().join("right"), "A".repeat(43) + "=\n").unwrap();
        let text = "[push]\nseal = [{ file = 'right' },\n{ file = 'short' }, { file = 'none' }]\n\
                    [[agents]]\nname = 'a'\nbuiltin = 'echo'\n";
        fs::write(&path, text).unwrap();
        let errors = read(&path, &BUILTINS).unwrap_err();
        let errors: Vec<_> = errors.0.iter().map(ToString::to_string).collect();
        assert_eq!(errors.len(), 2, "{errors:?}");
        let expected = "bridge.toml:3:1: push.seal[1]: expected 32 random bytes as base64, as openssl rand \
                        -base64 32 writes them, found 7 bytes";
        assert!(errors[0].ends_with(expected), "{errors:?}");
        assert!(errors[1].contains("push.seal[2]: expected the secret in "), "{errors:?}");
    }

    #[test]
    fn a_secret_in_clear_wants_a_private_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("bridge.toml");
        fs::write(folder.path().join("word"), "hunter2\n").unwrap();
        fs::write(folder.path().join("nothing"), "\n").unwrap();
        let check = |secret: &str, mode: u32| {
            let text = format!(
                "[[agents]]\nname = 'a'\nbot = 'http://h'\n[agents.auth.client_secret]\n\
                 app_id = 'a'\nclient_id = 'c'\nsecret = {secret}\n"
            );
            fs::write(&path, text).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
            let config = read(&path, &BUILTINS);
            let config = config.map_err(|error| error.0[0].problem.to_string())?;
            let Some(super::Auth::ClientSecret(with)) = &config.agents[0].auth else {
                panic!("another kind was read");
            };
            let shown = format!("{config:?}");
            assert!(!shown.contains("hunter2"), "{shown}");
            Ok::<_, String>(with.secret.get_ref().secret().expose().to_owned())
        };
        assert_eq!(check("'hunter2'", 0o600).unwrap(), "hunter2");
        assert_eq!(check("{ file = 'word' }", 0o644).unwrap(), "hunter2");
        for (secret, mode, expected) in [
            ("'hunter2'", 0o640, "others can read this file"),
            ("{ file = 'nowhere' }", 0o600, "nowhere: No such file"),
            ("{ env = 'BRIDGE_NO_SUCH_SECRET' }", 0o600, "BRIDGE_NO_SUCH_SECRET"),
            ("{ env = 'a', file = 'b' }", 0o600, ""),
            ("{ file = 'nothing' }", 0o600, "nothing: the file is empty"),
            ("70718", 0o600, "invalid type: a number, expected { env = \"NAME\" }"),
            ("18446744073709551615", 0o600, "invalid type: a number, expected"),
            ("170141183460469231731687303715884105727", 0o600, "invalid type: a number, expected"),
            ("340282366920938463463374607431768211455", 0o600, "invalid type: a number, expected"),
            ("70718.5", 0o600, "invalid type: a number, expected"),
        ] {
            let error = check(secret, mode).unwrap_err();
            assert!(error.contains(expected) && !error.contains("hunter2"), "{error}");
            assert!(!error.contains(secret), "{error}");
        }
    }
}
