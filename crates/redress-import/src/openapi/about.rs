//! What a document says of the service as a whole: where it is, and how it knows its callers.

use std::collections::BTreeMap;

use super::{schemas::Schemas, source::Source};
use crate::{
    ApiKeyPlace, OAuthFlow, SecurityRequirement, SecurityScheme, Server, ServerVariable,
    document::{Members, Node, pointer},
};

/// The servers that `node` names: the document, a path or an operation.
pub(super) fn servers(node: &Node) -> Vec<Server> {
    let listed = node.get("servers").and_then(Node::as_array).unwrap_or_default();
    listed.iter().filter_map(server).collect()
}

fn server(node: &Node) -> Option<Server> {
    let variables = node.get("variables").and_then(Node::as_object).into_iter().flat_map(Members::iter);
    let variables = variables.map(|(name, variable)| {
        let values = variable.get("enum").and_then(Node::as_array).unwrap_or_default();
        let values: Vec<String> = values.iter().filter_map(Node::as_str).map(str::to_owned).collect();
        let default = variable.scalar("default").or_else(|| values.first().cloned()).unwrap_or_default();
        (name.to_owned(), ServerVariable { default, values })
    });
    Some(Server {
        url: node.text("url")?.trim().to_owned(),
        description: node.text("description").map(str::to_owned),
        variables: variables.collect(),
    })
}

/// How the service knows its callers.
pub(super) fn security_schemes(source: &Source, schemas: &Schemas<'_>) -> Vec<SecurityScheme> {
    let place = "/components/securitySchemes";
    let declared = source.root.at(place).and_then(Node::as_object).into_iter().flat_map(Members::iter);
    let mut made = Vec::new();
    for (name, node) in declared {
        let place = pointer::joined(place, name);
        let read = source.follow(node, &place).map_err(|broken| broken.to_string());
        match read.and_then(|found| scheme(name, found.node)) {
            Ok(scheme) => made.push(scheme),
            Err(reason) => schemas.warn(&place, "bad-security-scheme", &reason),
        }
    }
    made
}

fn scheme(name: &str, node: &Node) -> Result<SecurityScheme, String> {
    let scheme = name.to_owned();
    let kind = node.text("type").unwrap_or_default();
    match kind.to_ascii_lowercase().as_str() {
        "apikey" => {
            let place = match node.text("in").unwrap_or("header") {
                "query" => ApiKeyPlace::Query,
                "cookie" => ApiKeyPlace::Cookie,
                _ => ApiKeyPlace::Header,
            };
            let name = node.text("name").ok_or("it does not say what the key is called")?.to_owned();
            Ok(SecurityScheme::ApiKey { scheme, place, name })
        }
        "http" => match node.text("scheme").unwrap_or("bearer").to_ascii_lowercase().as_str() {
            "basic" => Ok(SecurityScheme::Basic { scheme }),
            "bearer" => Ok(SecurityScheme::Bearer { scheme }),
            other => Ok(SecurityScheme::Http { scheme, name: other.to_owned() }),
        },
        "basic" => Ok(SecurityScheme::Basic { scheme }),
        "oauth2" => {
            let flows = node.get("flows").and_then(Node::as_object).into_iter().flat_map(Members::iter);
            let flows =
                flows.filter(|(_, flow)| flow.as_object().is_some()).map(|(name, node)| (name.to_owned(), flow(node)));
            let metadata_url = node.text("oauth2MetadataUrl").map(str::to_owned);
            Ok(SecurityScheme::Oauth2 { scheme, flows: flows.collect(), metadata_url })
        }
        "openidconnect" => {
            let url = node.text("openIdConnectUrl").ok_or("it does not say where the provider describes itself")?;
            Ok(SecurityScheme::OpenIdConnect { scheme, url: url.to_owned() })
        }
        "mutualtls" => Ok(SecurityScheme::MutualTls { scheme }),
        other => Err(format!("`{}` is no type of security scheme", other.chars().take(40).collect::<String>())),
    }
}

fn flow(node: &Node) -> OAuthFlow {
    let text = |name: &str| node.text(name).map(str::to_owned);
    let scopes = node.get("scopes").and_then(Node::as_object).into_iter().flat_map(Members::iter);
    OAuthFlow {
        authorization_url: text("authorizationUrl"),
        token_url: text("tokenUrl").or_else(|| text("deviceAuthorizationUrl")),
        refresh_url: text("refreshUrl"),
        scopes: scopes.map(|(name, says)| (name.to_owned(), says.as_str().unwrap_or_default().to_owned())).collect(),
    }
}

/// What `node` asks of callers; none where it says nothing, and an empty list where it asks for nothing.
pub(super) fn security(node: &Node) -> Option<Vec<SecurityRequirement>> {
    let listed = node.get("security")?.as_array()?;
    let requirement = |node: &Node| {
        let schemes = node.as_object().into_iter().flat_map(Members::iter).map(|(name, scopes)| {
            // `oauth2: null` is met, and means no scope.
            let scopes = scopes.as_array().unwrap_or_default().iter().filter_map(Node::as_str).map(str::to_owned);
            (name.to_owned(), scopes.collect())
        });
        SecurityRequirement { schemes: schemes.collect::<BTreeMap<_, _>>() }
    };
    Some(listed.iter().map(requirement).collect())
}
