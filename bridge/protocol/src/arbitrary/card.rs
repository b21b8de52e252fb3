//! Agent cards of 1.0.

use alloc::{collections::BTreeMap, string::String, vec::Vec};

use proptest::{
    collection::{btree_map, vec},
    prelude::*,
    sample::select,
};

use super::{maybe, metadata, text, texts, unknown};
use crate::a2a::*;

fn extra() -> BoxedStrategy<Metadata> {
    unknown(&["kind", "transport", "stateTransitionHistory"])
}

fn interface() -> impl Strategy<Value = AgentInterface> {
    let binding = select(&["JSONRPC", "HTTP+JSON", "GRPC"]).prop_map(String::from);
    let version = prop_oneof![4 => Just("0.3"), 1 => Just("1.0")].prop_map(String::from);
    let tenant = proptest::option::weighted(0.1, text());
    // Few addresses, so that some are named twice.
    let url = select(&["http://a/", "http://b/"]).prop_map(String::from);
    (url, binding, tenant, version, extra()).prop_map(
        |(url, protocol_binding, tenant, protocol_version, extra)| AgentInterface {
            url,
            protocol_binding,
            tenant,
            protocol_version,
            extra,
        },
    )
}

fn scopes() -> impl Strategy<Value = BTreeMap<String, String>> {
    btree_map(text(), text(), 0..3)
}

fn flows() -> impl Strategy<Value = OAuthFlows> {
    let urls = || (text(), text(), maybe(text()));
    let code = (urls(), scopes(), any::<bool>(), extra()).prop_map(
        |(urls, scopes, pkce_required, extra)| AuthorizationCodeOAuthFlow {
            authorization_url: urls.0,
            token_url: urls.1,
            refresh_url: urls.2,
            scopes,
            pkce_required,
            extra,
        },
    );
    let device =
        (urls(), scopes(), extra()).prop_map(|(urls, scopes, extra)| DeviceCodeOAuthFlow {
            device_authorization_url: urls.0,
            token_url: urls.1,
            refresh_url: urls.2,
            scopes,
            extra,
        });
    let client = (text(), maybe(text()), scopes(), extra()).prop_map(
        |(token_url, refresh_url, scopes, extra)| ClientCredentialsOAuthFlow {
            token_url,
            refresh_url,
            scopes,
            extra,
        },
    );
    (maybe(code), maybe(client), maybe(device), extra()).prop_map(
        |(authorization_code, client_credentials, device_code, extra)| OAuthFlows {
            authorization_code,
            client_credentials,
            implicit: None,
            password: None,
            device_code,
            extra,
        },
    )
}

fn scheme() -> impl Strategy<Value = SecurityScheme> {
    let described = || (maybe(text()), text(), maybe(text()), extra());
    prop_oneof![
        (maybe(text()), text(), text(), extra()).prop_map(
            |(description, location, name, extra)| SecurityScheme::ApiKey(ApiKeySecurityScheme {
                description,
                location,
                name,
                extra,
            })
        ),
        described().prop_map(|(description, scheme, bearer_format, extra)| {
            SecurityScheme::HttpAuth(HttpAuthSecurityScheme {
                description,
                scheme,
                bearer_format,
                extra,
            })
        }),
        (maybe(text()), flows(), maybe(text()), extra()).prop_map(
            |(description, flows, oauth2_metadata_url, extra)| {
                SecurityScheme::OAuth2(OAuth2SecurityScheme {
                    description,
                    flows,
                    oauth2_metadata_url,
                    extra,
                })
            }
        ),
        described().prop_map(|(description, open_id_connect_url, _, extra)| {
            SecurityScheme::OpenIdConnect(OpenIdConnectSecurityScheme {
                description,
                open_id_connect_url,
                extra,
            })
        }),
        (maybe(text()), extra()).prop_map(|(description, extra)| {
            SecurityScheme::MutualTls(MutualTlsSecurityScheme { description, extra })
        }),
    ]
}

fn requirements() -> impl Strategy<Value = Vec<SecurityRequirement>> {
    let scopes = texts().prop_map(|list| StringList { list, extra: Metadata::new() });
    let requirement = btree_map(text(), scopes, 0..2)
        .prop_map(|schemes| SecurityRequirement { schemes, extra: Metadata::new() });
    vec(requirement, 0..2)
}

fn skill() -> impl Strategy<Value = AgentSkill> {
    let names = (text(), text(), text());
    let lists = (texts(), texts(), texts(), texts());
    (names, lists, requirements(), extra()).prop_map(
        |(names, lists, security_requirements, extra)| AgentSkill {
            id: names.0,
            name: names.1,
            description: names.2,
            tags: lists.0,
            examples: lists.1,
            input_modes: lists.2,
            output_modes: lists.3,
            security_requirements,
            extra,
        },
    )
}

fn capabilities() -> impl Strategy<Value = AgentCapabilities> {
    let flag = || maybe(any::<bool>());
    let extension = (text(), maybe(text()), any::<bool>(), metadata(), extra()).prop_map(
        |(uri, description, required, params, extra)| AgentExtension {
            uri,
            description,
            required,
            params,
            extra,
        },
    );
    (flag(), flag(), vec(extension, 0..2), flag(), extra()).prop_map(
        |(streaming, push_notifications, extensions, extended_agent_card, extra)| {
            AgentCapabilities {
                streaming,
                push_notifications,
                extensions,
                extended_agent_card,
                extra,
            }
        },
    )
}

/// Returns a card with at least one interface.
pub(crate) fn card() -> BoxedStrategy<AgentCard> {
    let signature =
        (text(), text(), metadata(), extra()).prop_map(|(protected, signature, header, extra)| {
            AgentCardSignature { protected, signature, header, extra }
        });
    let provider = (text(), text(), extra()).prop_map(|(url, organization, extra)| AgentProvider {
        url,
        organization,
        extra,
    });
    let names = (text(), text(), text(), maybe(text()), maybe(text()));
    let reach = (vec(interface(), 1..4), maybe(provider), capabilities());
    let security = (btree_map(text(), scheme(), 0..2), requirements());
    let abilities = (texts(), texts(), vec(skill(), 0..2), vec(signature, 0..2));
    (names, reach, security, abilities, extra())
        .prop_map(|(names, reach, security, abilities, extra)| AgentCard {
            name: names.0,
            description: names.1,
            supported_interfaces: reach.0,
            provider: reach.1,
            version: names.2,
            documentation_url: names.3,
            capabilities: reach.2,
            security_schemes: security.0,
            security_requirements: security.1,
            default_input_modes: abilities.0,
            default_output_modes: abilities.1,
            skills: abilities.2,
            signatures: abilities.3,
            icon_url: names.4,
            extra,
        })
        .boxed()
}
