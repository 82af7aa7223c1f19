//! From bytes to operations.

use std::sync::Arc;

use super::{
    about, files,
    names::{self, Named},
    next_calls,
    operation::{self, Found, Shared},
    schemas::Schemas,
    source::{Generation, Source, version},
    swagger,
};
use crate::{
    Import, ImportedOperation, ReadError, ReadOptions, Skipped, Warning,
    document::{Members, Node, parse, pointer},
};

/// The methods that a path may have.
const METHODS: [&str; 9] = ["get", "put", "post", "delete", "options", "head", "patch", "trace", "query"];
/// The longest path that is imported.
const LONGEST_PATH: usize = 2_048;

/// Reads a document into operations.
///
/// # Errors
///
/// Where nothing can be read at all: it is too large, neither JSON nor YAML, or no OpenAPI document.
pub fn read(document: &[u8], options: &ReadOptions) -> Result<Import, ReadError> {
    let document_bytes = document.len() + options.files.values().map(Vec::len).sum::<usize>();
    if document_bytes > options.limits.bytes {
        return Err(ReadError::TooLarge { size: document_bytes, max: options.limits.bytes });
    }
    let parsed = parse(document, options.limits)?;
    let mut root = parsed.node;
    let mut noted: Vec<Warning> = Vec::new();
    for name in &parsed.twice {
        noted.push(note("duplicate-member", format!("`{name}` stands twice in one object; the last one counts")));
    }
    for overlay in &options.overlays {
        let idle = overlay.apply(&mut root)?;
        noted.extend(
            idle.into_iter().map(|path| note("idle-overlay", format!("an overlay's path `{path}` finds nothing"))),
        );
    }
    let (generation, version) = version(&root)?;
    files::join(&mut root, &options.files, options.limits)?;
    if generation == Generation::Two {
        root = swagger::converted(root);
    }
    let source = Source::new(root, version);
    let schemas = Schemas::new(&source);
    let mut walk = Walk { source: &source, schemas: &schemas, found: Vec::new(), skipped: Vec::new() };
    walk.document(options.limits.operations)?;
    let Walk { found, skipped, .. } = walk;

    let info = source.root.get("info");
    let told = |name: &str| info.and_then(|info| info.scalar(name));
    let title = told("title").unwrap_or_else(|| "untitled service".to_owned());
    let api_version = told("version").unwrap_or_else(|| "0".to_owned());
    let security_schemes = about::security_schemes(&source, &schemas);
    let security = about::security(&source.root).unwrap_or_default();
    let shared = Shared { version: &api_version, schemes: &security_schemes, security: &security };
    let operations = operations(&source, &schemas, &found, &shared, options);
    let mut warnings = schemas.into_warnings();
    warnings.splice(0..0, noted);
    Ok(Import {
        title,
        version: api_version,
        description: told("description"),
        openapi: source.version.clone(),
        document_bytes,
        servers: about::servers(&source.root),
        security_schemes,
        operations,
        skipped,
        warnings,
        source: Arc::new(source),
    })
}

/// A warning about the document as a whole.
fn note(rule: &str, message: String) -> Warning {
    Warning { pointer: String::new(), rule: rule.to_owned(), message }
}

fn operations(
    source: &Source,
    schemas: &Schemas<'_>,
    found: &[Found<'_>],
    shared: &Shared<'_>,
    options: &ReadOptions,
) -> Vec<ImportedOperation> {
    let named: Vec<Named<'_>> = found
        .iter()
        .map(|found| Named {
            method: &found.method,
            path: found.path,
            id: found.node.text("operationId").filter(|id| !id.trim().is_empty()),
            tag: found.node.get("tags").and_then(Node::as_array).and_then(|tags| tags.first()?.as_str()),
        })
        .collect();
    let names = names::names(&named, options.prefix.as_deref(), &options.reserved);
    let mut made: Vec<ImportedOperation> = found
        .iter()
        .zip(&names)
        .map(|(found, name)| operation::imported(source, schemas, found, name, shared, options))
        .collect();
    next_calls::propose(source, &mut made);
    made.iter_mut().for_each(without_idle_failures);
    next_calls::apply(&mut made);
    made
}

/// A missing thing is told apart from other failures where something helps then, and only there.
fn without_idle_failures(imported: &mut ImportedOperation) {
    let helped = |code: &str| imported.next_calls.iter().any(|call| call.codes.iter().any(|known| *known == *code));
    let is_idle = imported
        .responses
        .iter()
        .any(|plan| plan.derived && plan.code.as_ref().is_some_and(|code| *code == *"HTTP_404") && !helped("HTTP_404"));
    if !is_idle {
        return;
    }
    imported.responses.retain(|plan| plan.code.as_ref().is_none_or(|code| *code != *"HTTP_404"));
    let failures: Vec<_> =
        imported.operation.failures().iter().filter(|failure| *failure.code() != *"HTTP_404").cloned().collect();
    imported.operation = imported.operation.clone().without_failures().with_failures(failures);
}

/// Finds the operations of a document.
struct Walk<'d, 's> {
    source: &'d Source,
    schemas: &'s Schemas<'d>,
    found: Vec<Found<'d>>,
    skipped: Vec<Skipped>,
}

impl<'d> Walk<'d, '_> {
    fn document(&mut self, max: usize) -> Result<(), ReadError> {
        let root = &self.source.root;
        match root.get("paths") {
            Some(Node::Object(paths)) => {
                for (path, item) in paths.iter().filter(|(path, _)| !path.starts_with("x-")) {
                    self.path(path, item);
                    if self.found.len() + self.skipped.len() > max {
                        return Err(ReadError::TooManyOperations { max });
                    }
                }
            }
            Some(Node::Null) | None => {}
            Some(_) => return Err(ReadError::NotOpenapi { reason: "`paths` is no object".to_owned() }),
        }
        let webhooks = root.get("webhooks").and_then(Node::as_object).map_or(0, Members::len);
        if webhooks > 0 {
            let told = format!("{webhooks} webhooks are calls that the service makes; they are not imported");
            self.schemas.warn("/webhooks", "webhooks", &told);
        }
        Ok(())
    }

    fn path(&mut self, path: &'d str, item: &'d Node) {
        let place = pointer::joined("/paths", path);
        let skip = |method: &str, reason: String| Skipped {
            pointer: pointer::joined(&place, &method.to_ascii_lowercase()),
            method: method.to_ascii_uppercase(),
            path: path.chars().take(LONGEST_PATH).collect(),
            reason,
        };
        if !path.starts_with('/') {
            self.schemas.warn(&place, "bad-path", "a path begins with a slash; it is asked for with one");
        }
        let (item, item_pointer) = match self.source.follow(item, &place) {
            Ok(found) => (found.node, found.pointer),
            Err(broken) => {
                return self.skipped.push(Skipped { pointer: place.clone(), ..skip("*", broken.to_string()) });
            }
        };
        let Some(members) = item.as_object() else {
            if *item != Node::Null {
                self.skipped.push(Skipped { pointer: place.clone(), ..skip("*", "the path is no object".to_owned()) });
            }
            return;
        };
        let plain = members.iter().filter(|(name, _)| METHODS.contains(&name.to_ascii_lowercase().as_str()));
        let plain = plain.map(|(name, node)| (name, node, pointer::joined(&item_pointer, name)));
        let more = item.get("additionalOperations").and_then(Node::as_object).into_iter().flat_map(Members::iter);
        let more_pointer = pointer::joined(&item_pointer, "additionalOperations");
        let more = more.map(|(name, node)| (name, node, pointer::joined(&more_pointer, name)));
        for (method, node, pointer) in plain.chain(more) {
            if let Some(reason) = unusable(method, path, node) {
                self.skipped.push(Skipped { pointer, ..skip(method, reason) });
                continue;
            }
            self.found.push(Found {
                method: method.to_ascii_uppercase(),
                path,
                node,
                pointer,
                item,
                item_pointer: item_pointer.clone(),
            });
        }
    }
}

/// Why an operation cannot be imported.
fn unusable(method: &str, path: &str, node: &Node) -> Option<String> {
    let is_token = |text: &str| {
        !text.is_empty()
            && text.len() <= 40
            && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte))
    };
    if node.as_object().is_none() {
        return Some("the operation is no object".to_owned());
    }
    if !is_token(method) {
        return Some("this is no method of HTTP".to_owned());
    }
    if path.len() > LONGEST_PATH {
        return Some(format!("its path has {} bytes, and at most {LONGEST_PATH} are taken", path.len()));
    }
    if path.chars().any(char::is_control) {
        return Some("its path holds control characters".to_owned());
    }
    None
}
