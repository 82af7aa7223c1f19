//! Documents of 2.0, brought to 3.0.

use crate::document::{Members, Node, pointer};

/// The methods of 2.0.
const METHODS: [&str; 7] = ["get", "put", "post", "delete", "options", "head", "patch"];
/// What a parameter of 2.0 says of its value beside its name.
const OF_VALUES: [&str; 20] = [
    "type",
    "format",
    "items",
    "default",
    "maximum",
    "exclusiveMaximum",
    "minimum",
    "exclusiveMinimum",
    "maxLength",
    "minLength",
    "pattern",
    "maxItems",
    "minItems",
    "uniqueItems",
    "enum",
    "multipleOf",
    "x-nullable",
    "x-example",
    "title",
    "allOf",
];

/// The document as one of 3.0.
pub(super) fn converted(root: Node) -> Node {
    let defaults = Media::of(&root, &Media { consumes: None, produces: None });
    let mut made = Members::new();
    made.insert("openapi", Node::string("3.0.3"));
    for name in ["info", "tags", "externalDocs", "security"] {
        if let Some(node) = root.get(name) {
            made.insert(name, node.clone());
        }
    }
    made.insert("servers", servers(&root));
    let mut paths = Members::new();
    for (path, item) in root.get("paths").and_then(Node::as_object).into_iter().flat_map(Members::iter) {
        paths.insert(path, path_item(&root, item, &defaults));
    }
    made.insert("paths", Node::Object(paths));
    made.insert("components", components(&root, &defaults));
    for (name, node) in root.as_object().into_iter().flat_map(Members::iter).filter(|(name, _)| name.starts_with("x-"))
    {
        made.insert(name, node.clone());
    }
    let mut made = Node::Object(made);
    redirect(&mut made);
    made
}

fn servers(root: &Node) -> Node {
    let base = root.text("basePath").unwrap_or_default();
    let schemes = root.get("schemes").and_then(Node::as_array).unwrap_or_default();
    let schemes: Vec<&str> =
        schemes.iter().filter_map(Node::as_str).filter(|scheme| scheme.starts_with("http")).collect();
    let address = |scheme: &str| match root.text("host") {
        Some(host) => format!("{scheme}://{host}{base}"),
        None => base.to_owned(),
    };
    let schemes = if schemes.is_empty() || root.text("host").is_none() { vec!["https"] } else { schemes };
    // Where both are named, nobody asks for the one without encryption first.
    let mut schemes = schemes;
    schemes.sort_by_key(|scheme| *scheme != "https");
    let one = |scheme: &str| {
        let url = address(scheme);
        let url = if url.is_empty() { "/".to_owned() } else { url };
        object([("url", Node::string(url))])
    };
    Node::Array(schemes.into_iter().map(one).collect())
}

fn object<const N: usize>(members: [(&str, Node); N]) -> Node {
    Node::Object(members.into_iter().map(|(name, node)| (Box::from(name), node)).collect())
}

/// The media types that are taken and given.
struct Media {
    consumes: Option<Vec<String>>,
    produces: Option<Vec<String>>,
}

impl Media {
    fn of(node: &Node, otherwise: &Media) -> Media {
        let listed = |name: &str| -> Option<Vec<String>> {
            let types = node.get(name)?.as_array()?.iter().filter_map(Node::as_str).map(str::to_owned);
            Some(types.collect()).filter(|types: &Vec<String>| !types.is_empty())
        };
        Media {
            consumes: listed("consumes").or_else(|| otherwise.consumes.clone()),
            produces: listed("produces").or_else(|| otherwise.produces.clone()),
        }
    }

    fn consumed(&self) -> Vec<String> {
        self.consumes.clone().unwrap_or_else(|| vec!["application/json".to_owned()])
    }

    fn produced(&self) -> Vec<String> {
        self.produces.clone().unwrap_or_else(|| vec!["application/json".to_owned()])
    }
}

fn path_item(root: &Node, item: &Node, defaults: &Media) -> Node {
    let Some(members) = item.as_object() else { return item.clone() };
    let shared = item.get("parameters").and_then(Node::as_array).unwrap_or_default();
    let mut made = Members::new();
    for (name, node) in members.iter() {
        match name {
            "parameters" => {
                let plain = shared.iter().filter(|one| is_plain(resolved(root, one))).map(|one| parameter(root, one));
                made.insert(name, Node::Array(plain.collect()));
            }
            _ if METHODS.contains(&name) => drop(made.insert(name, operation(root, node, shared, defaults))),
            _ => drop(made.insert(name, node.clone())),
        }
    }
    Node::Object(made)
}

/// What a reference to a shared parameter or response leads to.
fn resolved<'d>(root: &'d Node, node: &'d Node) -> &'d Node {
    let target = node.text("$ref").and_then(|reference| reference.strip_prefix('#'));
    target.and_then(|target| root.at(&pointer::from_fragment(target))).unwrap_or(node)
}

fn is_plain(parameter: &Node) -> bool {
    !matches!(parameter.text("in"), Some("body" | "formData"))
}

fn operation(root: &Node, node: &Node, shared: &[Node], defaults: &Media) -> Node {
    let Some(members) = node.as_object() else { return node.clone() };
    let media = Media::of(node, defaults);
    let own = node.get("parameters").and_then(Node::as_array).unwrap_or_default();
    let mut made = Members::new();
    for (name, node) in members.iter() {
        match name {
            "consumes" | "produces" | "schemes" => {}
            "parameters" => {
                let plain = own.iter().filter(|one| is_plain(resolved(root, one))).map(|one| parameter(root, one));
                made.insert(name, Node::Array(plain.collect()));
            }
            "responses" => drop(made.insert(name, responses(root, node, &media))),
            _ => drop(made.insert(name, node.clone())),
        }
    }
    let sent: Vec<&Node> =
        own.iter().chain(shared).map(|one| resolved(root, one)).filter(|one| !is_plain(one)).collect();
    if let Some(body) = request_body(&sent, &media) {
        made.insert("requestBody", body);
    }
    Node::Object(made)
}

/// The schema that a parameter of 2.0 spreads over itself.
fn schema_of(parameter: &Node) -> Node {
    if let Some(schema) = parameter.get("schema") {
        return schema.clone();
    }
    let mut schema = Members::new();
    for name in OF_VALUES {
        if let Some(node) = parameter.get(name) {
            schema.insert(name, node.clone());
        }
    }
    Node::Object(schema)
}

fn parameter(root: &Node, node: &Node) -> Node {
    let node = resolved(root, node);
    let Some(members) = node.as_object() else { return node.clone() };
    let mut made = Members::new();
    for (name, value) in members.iter() {
        if !OF_VALUES.contains(&name) && name != "collectionFormat" && name != "schema" {
            made.insert(name, value.clone());
        }
    }
    made.insert("schema", schema_of(node));
    let is_query = matches!(node.text("in"), Some("query"));
    if let Some((style, explode)) = style(node, is_query) {
        made.insert("style", Node::string(style));
        made.insert("explode", Node::Bool(explode));
    }
    Node::Object(made)
}

/// How a list is written; `csv` unless said otherwise.
fn style(node: &Node, is_form: bool) -> Option<(&'static str, bool)> {
    if node.text("type") != Some("array") {
        return None;
    }
    Some(match node.text("collectionFormat").unwrap_or("csv") {
        "multi" if is_form => ("form", true),
        "ssv" if is_form => ("spaceDelimited", false),
        "pipes" if is_form => ("pipeDelimited", false),
        _ if is_form => ("form", false),
        _ => ("simple", false),
    })
}

fn request_body(sent: &[&Node], media: &Media) -> Option<Node> {
    if let Some(body) = sent.iter().find(|one| one.text("in") == Some("body")) {
        let mut types = media.consumed();
        types.retain(|media_type| {
            !media_type.starts_with("multipart/") && media_type != "application/x-www-form-urlencoded"
        });
        if types.is_empty() {
            types.push("application/json".to_owned());
        }
        let content = types.into_iter().map(|media_type| (media_type.into(), object([("schema", schema_of(body))])));
        let mut made = Members::new();
        if let Some(text) = body.get("description") {
            made.insert("description", text.clone());
        }
        made.insert("required", Node::Bool(body.says("required")));
        made.insert("content", Node::Object(content.collect()));
        return Some(Node::Object(made));
    }
    let fields: Vec<&&Node> = sent.iter().filter(|one| one.text("in") == Some("formData")).collect();
    if fields.is_empty() {
        return None;
    }
    let has_file = fields.iter().any(|field| field.text("type") == Some("file"));
    let is_multipart = has_file || media.consumed().iter().any(|media_type| media_type.starts_with("multipart/"));
    let mut properties = Members::new();
    let mut required = Vec::new();
    let mut encoding = Members::new();
    for field in fields {
        let Some(name) = field.text("name") else { continue };
        let mut schema = schema_of(field);
        if let (Some(text), Node::Object(schema)) = (field.get("description"), &mut schema) {
            schema.insert("description", text.clone());
        }
        properties.insert(name, schema);
        if field.says("required") {
            required.push(Node::string(name));
        }
        if let (false, Some((style, explode))) = (is_multipart, style(field, true)) {
            encoding.insert(name, object([("style", Node::string(style)), ("explode", Node::Bool(explode))]));
        }
    }
    let is_required = !required.is_empty();
    let mut schema = Members::new();
    schema.insert("type", Node::string("object"));
    schema.insert("properties", Node::Object(properties));
    if is_required {
        schema.insert("required", Node::Array(required));
    }
    let mut content = Members::new();
    content.insert("schema", Node::Object(schema));
    if !encoding.is_empty() {
        content.insert("encoding", Node::Object(encoding));
    }
    let media_type = if is_multipart { "multipart/form-data" } else { "application/x-www-form-urlencoded" };
    Some(object([("required", Node::Bool(is_required)), ("content", object([(media_type, Node::Object(content))]))]))
}

fn responses(root: &Node, node: &Node, media: &Media) -> Node {
    let Some(members) = node.as_object() else { return node.clone() };
    let made = members.iter().map(|(status, node)| {
        let is_extension = status.starts_with("x-");
        (status.into(), if is_extension { node.clone() } else { response(resolved(root, node), media) })
    });
    Node::Object(made.collect())
}

fn response(node: &Node, media: &Media) -> Node {
    let Some(members) = node.as_object() else { return node.clone() };
    let mut made = Members::new();
    for (name, value) in members.iter() {
        match name {
            "schema" | "examples" => {}
            "headers" => {
                let headers = value.as_object().into_iter().flat_map(Members::iter).map(|(name, header)| {
                    let mut made = Members::new();
                    if let Some(text) = header.get("description") {
                        made.insert("description", text.clone());
                    }
                    made.insert("schema", schema_of(header));
                    (name.into(), Node::Object(made))
                });
                made.insert(name, Node::Object(headers.collect()));
            }
            _ => drop(made.insert(name, value.clone())),
        }
    }
    let examples = node.get("examples").and_then(Node::as_object);
    if node.get("schema").is_some() || examples.is_some_and(|examples| !examples.is_empty()) {
        let content = media.produced().into_iter().map(|media_type| {
            let mut made = Members::new();
            if let Some(schema) = node.get("schema") {
                made.insert("schema", schema.clone());
            }
            if let Some(example) = examples.and_then(|examples| examples.get(&media_type)) {
                made.insert("example", example.clone());
            }
            (media_type.into(), Node::Object(made))
        });
        made.insert("content", Node::Object(content.collect()));
    }
    Node::Object(made)
}

fn components(root: &Node, defaults: &Media) -> Node {
    let mut made = Members::new();
    if let Some(definitions) = root.get("definitions") {
        made.insert("schemas", definitions.clone());
    }
    let named = |name: &str| root.get(name).and_then(Node::as_object).into_iter().flat_map(Members::iter);
    let parameters: Members = named("parameters")
        .filter(|(_, node)| is_plain(node))
        .map(|(name, node)| (Box::from(name), parameter(root, node)))
        .collect();
    if !parameters.is_empty() {
        made.insert("parameters", Node::Object(parameters));
    }
    let responses: Members =
        named("responses").map(|(name, node)| (Box::from(name), response(node, defaults))).collect();
    if !responses.is_empty() {
        made.insert("responses", Node::Object(responses));
    }
    let schemes: Members =
        named("securityDefinitions").map(|(name, node)| (Box::from(name), security_scheme(node))).collect();
    if !schemes.is_empty() {
        made.insert("securitySchemes", Node::Object(schemes));
    }
    Node::Object(made)
}

fn security_scheme(node: &Node) -> Node {
    match node.text("type") {
        Some("basic") => object([("type", Node::string("http")), ("scheme", Node::string("basic"))]),
        Some("oauth2") => {
            let name = match node.text("flow") {
                Some("application") => "clientCredentials",
                Some("accessCode") => "authorizationCode",
                Some("password") => "password",
                Some(_) | None => "implicit",
            };
            let mut flow = Members::new();
            for (from, to) in [("authorizationUrl", "authorizationUrl"), ("tokenUrl", "tokenUrl"), ("scopes", "scopes")]
            {
                if let Some(value) = node.get(from) {
                    flow.insert(to, value.clone());
                }
            }
            if !flow.contains("scopes") {
                flow.insert("scopes", Node::Object(Members::new()));
            }
            object([("type", Node::string("oauth2")), ("flows", object([(name, Node::Object(flow))]))])
        }
        Some(_) | None => node.clone(),
    }
}

/// Makes references lead to where things stand in 3.0.
fn redirect(node: &mut Node) {
    const MOVED: [(&str, &str); 3] = [
        ("#/definitions/", "#/components/schemas/"),
        ("#/parameters/", "#/components/parameters/"),
        ("#/responses/", "#/components/responses/"),
    ];
    match node {
        Node::Object(members) => {
            if let Some(Node::String(reference)) = members.get_mut("$ref") {
                for (from, to) in MOVED {
                    if let Some(rest) = reference.strip_prefix(from) {
                        *reference = format!("{to}{rest}").into();
                        break;
                    }
                }
            }
            members.iter_mut().for_each(|(_, inner)| redirect(inner));
        }
        Node::Array(items) => items.iter_mut().for_each(redirect),
        Node::Null | Node::Bool(_) | Node::Number(_) | Node::String(_) => {}
    }
}
