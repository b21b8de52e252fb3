//! Reads the configuration again and replaces what is served; on an error nothing changes.

use super::{
    Result, Serve,
    addresses::{self, Encryption},
    agent_factory::AgentFactory,
    print,
};
use crate::{
    config::{Config, RetentionConfig, StoreTable},
    host::HostedAgents,
};

/// The parts of the program that can be replaced while it runs.
pub(super) struct Reload {
    pub(super) flags: Serve,
    pub(super) config: Config,
    pub(super) agent_factory: AgentFactory,
    pub(super) hosted: HostedAgents,
    pub(super) encryption: Encryption,
}

impl Reload {
    /// Reads the file again and logs the result.
    pub(super) fn again(&mut self) {
        if !self.flags.has_file() {
            return print("there is no configuration to read again");
        }
        match self.replace() {
            Ok(()) => {
                let agents = self.config.agents.len();
                print(&format!("the configuration was read again, agents: {agents}"));
            }
            Err(error) => tracing::error!("the previous configuration stays in use: {error}"),
        }
    }

    /// Replaces what is served. Everything that can fail is done first, so that an error has no effects.
    fn replace(&mut self) -> Result<()> {
        let read = self.flags.config()?;
        addresses::check(&read)?;
        let renewed = addresses::encryption(&read)?;
        let served = self.served(&read);
        let unchanged = self.unchanged(&read, &served);
        if !unchanged.is_empty() {
            // The addresses in use may be open to others, although those in the file are not.
            addresses::check(&served)?;
        }
        let (host, notes) = self.agent_factory.host(&served)?;
        self.hosted.replace(host)?;
        notes.iter().for_each(|note| print(note));
        self.renew(&renewed);
        super::certificate::note(&served, self.hosted.metrics());
        for key in unchanged {
            tracing::warn!("{key} has changed, which needs a restart");
        }
        self.config.agents = served.agents;
        self.config.provider = served.provider;
        Ok(())
    }

    /// Returns the configuration that can be served without a restart: most keys stay as they are.
    fn served(&self, read: &Config) -> Config {
        Config {
            agents: read.agents.clone(),
            provider: read.provider.clone(),
            allow_plain_http: read.allow_plain_http,
            // Only its rules for keeping tasks are used here.
            store: read.store.clone(),
            tls: match (&self.config.tls, &read.tls) {
                (Some(_), Some(renewed)) => Some(renewed.clone()),
                (used, _) => used.clone(),
            },
            ..self.config.clone()
        }
    }

    #[cfg(feature = "tls")]
    fn renew(&self, renewed: &Encryption) {
        if let (Some(certificate), Some(renewed)) = (&self.encryption, renewed) {
            certificate.adopt(renewed);
        }
    }

    #[cfg(not(feature = "tls"))]
    fn renew(&self, _: &Encryption) {
        debug_assert!(self.encryption.is_none());
    }

    /// Returns the keys that are not served as they are in the file, because a change of them needs a restart.
    fn unchanged(&self, new: &Config, served: &Config) -> Vec<&'static str> {
        let old = &self.config;
        // The rules for keeping tasks are replaced.
        let store = |config: &Config| {
            let table = config.store.as_ref().map(|store| store.get_ref().0.clone());
            StoreTable { retention: RetentionConfig::default(), ..table.unwrap_or_default() }
        };
        let wants_listener =
            addresses::callback_listen(served, addresses::listen(served)).is_some();
        let changes = [
            ("listen", old.listen != new.listen),
            ("public_url", old.public_url != new.public_url),
            ("callback_url", old.callback_url != new.callback_url),
            (
                "callback_listen",
                old.callback_listen != new.callback_listen
                    || (wants_listener && self.agent_factory.place.local.is_none()),
            ),
            ("store", store(old) != store(new)),
            ("trusted_proxies", old.trusted_proxies != new.trusted_proxies),
            ("grpc", old.grpc != new.grpc),
            ("admin", old.admin != new.admin),
            ("drain", old.drain != new.drain),
            ("limits", old.limits != new.limits),
            ("cors", old.cors != new.cors),
            ("hosts", old.hosts != new.hosts),
            ("tls", old.tls.is_some() != new.tls.is_some()),
            ("issuer", old.issuer != new.issuer),
            ("push", old.push != new.push),
            ("card_key", old.card_key != new.card_key),
        ];
        changes.into_iter().filter(|(_, changed)| *changed).map(|(key, _)| key).collect()
    }
}

#[cfg(test)]
mod tests {
    use std::{
        path::Path,
        sync::{Arc, Mutex},
    };

    use axum::{
        Json, Router,
        body::{Body, to_bytes},
        http::{Request, StatusCode},
        routing::post,
    };
    use clap::Parser;
    use serde_json::{Value, json};
    use tokio::net::TcpListener;
    use tower::ServiceExt as _;

    use super::*;
    use crate::{
        bot::remote::{Channel, ChannelSettings},
        store::MemoryStore,
    };

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        serve: Serve,
    }

    type ReceivedActivities = Arc<Mutex<Vec<Value>>>;

    /// Returns a bot on a socket that records its requests.
    async fn bot() -> (String, ReceivedActivities) {
        let heard = ReceivedActivities::default();
        let noting = heard.clone();
        let take = async move |Json(activity): Json<Value>| {
            noting.lock().unwrap().push(activity);
            Json(json!({"activities": [{"type": "message", "text": "heard"}]}))
        };
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/api/messages", listener.local_addr().unwrap());
        let app = Router::new().route("/api/messages", post(take));
        tokio::spawn(async move { axum::serve(listener, app).await });
        (url, heard)
    }

    struct World {
        reload: Reload,
        app: Router,
        heard: ReceivedActivities,
        file: tempfile::NamedTempFile,
        bot: String,
    }

    impl World {
        /// Returns a bot that needs a token to call back.
        async fn new() -> Self {
            let (bot, heard) = bot().await;
            let file = tempfile::NamedTempFile::new().unwrap();
            std::fs::write(file.path(), agents(&bot, ACCEPT)).unwrap();
            let line = ["serve", "--config", file.path().to_str().unwrap()];
            let flags = Line::parse_from(line).serve;
            let config = flags.config().unwrap();
            let store = Arc::new(MemoryStore::new());
            let here = ChannelSettings::at("http://127.0.0.1:3978".parse().unwrap());
            let channel = Channel::new(store.clone(), here).unwrap();
            let here = "127.0.0.1:3978".parse().unwrap();
            let agent_factory = AgentFactory {
                place: crate::cli::serve::Addresses::of(&config, here, None).unwrap(),
                channel: channel.clone(),
                store,
                issuer: None,
            };
            let host = agent_factory.host(&config).unwrap().0.connector(channel);
            let hosted = host.start("http://127.0.0.1:3978").await.unwrap();
            let app = hosted.router();
            let reload = Reload { flags, config, agent_factory, hosted, encryption: None };
            Self { reload, app, heard, file, bot }
        }

        fn again(&mut self, config: &str) {
            std::fs::write(self.file.path(), config).unwrap();
            self.reload.again();
        }

        async fn ask(&self, request: Request<Body>) -> (StatusCode, Value) {
            let answer = self.app.clone().oneshot(request).await.unwrap();
            let status = answer.status();
            let body = to_bytes(answer.into_body(), 1 << 20).await.unwrap();
            (status, serde_json::from_slice(&body).unwrap_or_default())
        }

        async fn say(&self, id: &str) -> Value {
            let message = json!({"messageId": id, "role": "ROLE_USER", "parts": [{"text": "hi"}]});
            let body = json!({"jsonrpc": "2.0", "id": 1, "method": "SendMessage",
                "params": {"message": message}});
            let request = Request::post("/a2a/bot")
                .header("content-type", "application/json")
                .header("a2a-version", "1.0");
            let request = request.body(Body::from(body.to_string())).unwrap();
            self.ask(request).await.1
        }

        /// Returns the status of the answer to a bot that calls back without a token.
        async fn call_back(&self) -> StatusCode {
            let activity = self.heard.lock().unwrap()[0].clone();
            let service = activity["serviceUrl"].as_str().unwrap();
            let conversation = activity["conversation"]["id"].as_str().unwrap();
            let url = format!("{service}v3/conversations/{conversation}/members");
            let request = Request::get(url).body(Body::empty()).unwrap();
            self.ask(request).await.0
        }
    }

    const ACCEPT: &str =
        "[agents.accept.token]\nissuer = 'https://login.test'\naudience = ['me']\n";

    /// A mistake that is only found when the agents are created: credentials without a check.
    const BROKEN: &str = "[agents.card.security_schemes.token.httpAuthSecurityScheme]\nscheme = 'Bearer'\n\
        [[agents.card.security]]\ntoken = []\n";

    fn agents(bot: &str, more: &str) -> String {
        format!(
            "[[agents]]\nname = 'bot'\nbot = '{bot}'\ndelivery = 'expectReplies'\n{more}\
             [[agents]]\nname = 'echo'\nbuiltin = 'echo'\n"
        )
    }

    #[tokio::test]
    async fn a_refused_reload_allows_no_further_callers() {
        let mut world = World::new().await;
        world.say("m-1").await;
        assert_eq!(world.call_back().await, StatusCode::UNAUTHORIZED);
        world.again(&agents(&world.bot, BROKEN));
        assert_eq!(world.call_back().await, StatusCode::UNAUTHORIZED);
        world.again(&agents(&world.bot, ""));
        assert_eq!(world.call_back().await, StatusCode::OK);
    }

    #[tokio::test]
    async fn the_addresses_in_use_decide_what_a_bot_needs() {
        let mut world = World::new().await;
        world.reload.config.listen = Some("0.0.0.0:3978".parse().unwrap());
        world.reload.config.allow_plain_http = true;
        world.say("m-1").await;
        // The file has an address on loopback, which is not in use.
        world.again(&agents(&world.bot, ""));
        assert_eq!(world.call_back().await, StatusCode::UNAUTHORIZED);
        world.again(&format!(
            "allow_plain_http = true\n{}",
            agents(&world.bot, "accept = 'anyone'\n")
        ));
        assert_eq!(world.call_back().await, StatusCode::OK);
    }

    #[tokio::test]
    async fn the_keys_that_need_a_restart_are_named() {
        let mut world = World::new().await;
        let unchanged = |world: &World, top: &str| {
            std::fs::write(world.file.path(), format!("{top}\n{}", agents(&world.bot, ACCEPT)))
                .unwrap();
            let read = world.reload.flags.config().unwrap();
            world.reload.unchanged(&read, &world.reload.served(&read))
        };
        for (top, expected) in [
            ("", &[] as &[&str]),
            ("[store]\nretention.age = '1d'", &[]),
            ("[store]\nmessage_ids = 7", &["store"]),
            ("listen = '[::1]:1'\npublic_url = 'https://a.test'", &["listen", "public_url"]),
            ("tls = { certificate = 'c', key = 'k' }", &["tls"]),
        ] {
            assert_eq!(unchanged(&world, top), expected, "{top}");
        }
        // The first bot on this machine needs a listener of its own beside TLS.
        let tls = "tls = { certificate = 'c', key = 'k' }";
        world.reload.config.tls = crate::config::parse(
            "a".as_ref(),
            &format!("{tls}\n{}", agents(&world.bot, "")),
            &["echo"],
        )
        .unwrap()
        .tls;
        std::fs::write(world.file.path(), tls).unwrap();
        assert_eq!(unchanged(&world, tls), ["callback_listen"]);
    }

    #[tokio::test]
    async fn an_agent_that_was_removed_takes_no_calls_and_one_that_is_there_again_does() {
        let mut world = World::new().await;
        world.again(&agents(&world.bot, ""));
        world.say("m-1").await;
        assert_eq!(world.call_back().await, StatusCode::OK);
        world.again("[[agents]]\nname = 'echo'\nbuiltin = 'echo'\n");
        assert_eq!(world.call_back().await, StatusCode::NOT_FOUND);
        world.again(&agents(&world.bot, ""));
        assert_eq!(world.call_back().await, StatusCode::OK);
    }

    #[cfg(feature = "tls")]
    #[tokio::test]
    async fn a_reload_that_is_refused_keeps_the_certificate() {
        let mut world = World::new().await;
        let folder = tempfile::tempdir().unwrap();
        let certificate = |name: &str| {
            let made = rcgen::generate_simple_self_signed([name.to_owned()]).unwrap();
            let path = |end: &str| folder.path().join(end);
            std::fs::write(path("c.pem"), made.cert.pem()).unwrap();
            std::fs::write(path("k.pem"), made.signing_key.serialize_pem()).unwrap();
        };
        let with_tls = |agents: String, folder: &Path| {
            let folder = folder.display();
            format!("tls = {{ certificate = '{folder}/c.pem', key = '{folder}/k.pem' }}\n{agents}")
        };
        certificate("one.test");
        let config = with_tls(agents(&world.bot, ""), folder.path());
        std::fs::write(world.file.path(), &config).unwrap();
        let config = world.reload.flags.config().unwrap();
        world.reload.encryption = super::super::addresses::encryption(&config).unwrap();
        let used = world.reload.encryption.clone().unwrap();
        let before = used.in_use();
        certificate("two.test");
        world.again(&with_tls(agents(&world.bot, BROKEN), folder.path()));
        assert!(Arc::ptr_eq(&before, &used.in_use()));
        world.again(&with_tls(agents(&world.bot, ""), folder.path()));
        assert!(!Arc::ptr_eq(&before, &used.in_use()));
    }
}
