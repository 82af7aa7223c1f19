//! The prompts and documents of a registry, and the lists that callers see of them.

use std::borrow::Cow;

use redress_contract::{Caller, OperationDeclaration, Role};
use redress_core::{Registry, Shown};
use redress_wire::{
    jsonrpc::Id,
    mcp::{self, Capabilities, Era, ListKind, ListPages, ListParams, Spoken, ToolReader},
};

use crate::{McpOptions, RequestContext, builtin, mcp::McpInner, near, refusal::Unfit, reply::Reply};

/// The prompts and documents of a registry, each in the order of their names.
#[derive(Debug)]
pub(crate) struct PromptsAndResources {
    prompts: Vec<PromptOrResource>,
    documents: Vec<PromptOrResource>,
    templates: Vec<PromptOrResource>,
}

/// One prompt or document, and how a list shows it.
#[derive(Debug)]
pub(crate) struct PromptOrResource {
    pub(crate) operation: OperationDeclaration,
    /// Whether it is a document about the registry itself.
    pub(crate) builtin: bool,
    json: Vec<u8>,
}

impl PromptsAndResources {
    pub(crate) fn new(registry: &Registry, options: &McpOptions) -> PromptsAndResources {
        let declared = registry.contract().operations().iter();
        let held = declared.filter(|operation| options.shows(operation) == Shown::Listed);
        let mut prompts_and_resources =
            PromptsAndResources { prompts: Vec::new(), documents: Vec::new(), templates: Vec::new() };
        for operation in held {
            prompts_and_resources.put(operation, false);
        }
        for operation in &builtin::documents() {
            prompts_and_resources.put(operation, true);
        }
        for items in [
            &mut prompts_and_resources.prompts,
            &mut prompts_and_resources.documents,
            &mut prompts_and_resources.templates,
        ] {
            items.sort_by(|one, other| one.operation.name().cmp(other.operation.name()));
        }
        prompts_and_resources
    }

    fn put(&mut self, operation: &OperationDeclaration, builtin: bool) {
        let Some(json) = written(operation, ToolReader::ANYBODY) else { return };
        let item = PromptOrResource { operation: operation.clone(), builtin, json };
        match operation.uri() {
            None => self.prompts.push(item),
            Some(uri) if uri.is_template() => self.templates.push(item),
            Some(_) => self.documents.push(item),
        }
    }

    /// What there is, as capabilities.
    pub(crate) fn capabilities(&self) -> Capabilities {
        Capabilities {
            prompts: !self.prompts.is_empty(),
            resources: !self.documents.is_empty() || !self.templates.is_empty(),
            completions: !self.prompts.is_empty() || !self.templates.is_empty(),
            ..Capabilities::default()
        }
    }

    /// The prompt of this name, or of this operation.
    pub(crate) fn prompt(&self, name: &str) -> Option<&PromptOrResource> {
        let named =
            |item: &&PromptOrResource| item.operation.name().tool() == name || *item.operation.name().as_str() == *name;
        self.prompts.iter().find(named)
    }

    /// The document or template that is written like this.
    pub(crate) fn written(&self, uri: &str) -> Option<&PromptOrResource> {
        let all = self.documents.iter().chain(&self.templates);
        all.into_iter().find(|item| item.operation.uri().is_some_and(|known| known.as_str() == uri))
    }

    /// The document of this operation.
    pub(crate) fn of(&self, operation: &OperationDeclaration) -> Option<&PromptOrResource> {
        self.documents.iter().chain(&self.templates).find(|item| item.operation.name() == operation.name())
    }

    /// The document about the registry itself at this URI, and what its variables stand for.
    pub(crate) fn builtin(&self, uri: &str) -> Option<(&PromptOrResource, Option<String>)> {
        let about = self.documents.iter().chain(&self.templates).filter(|item| item.builtin);
        about.into_iter().find_map(|item| {
            let found = item.operation.uri()?.read(uri)?;
            Some((item, found.into_iter().next().map(|(_, value)| value)))
        })
    }

    fn items(&self, listed: ListKind) -> &[PromptOrResource] {
        match listed {
            ListKind::Prompts => &self.prompts,
            ListKind::Resources => &self.documents,
            ListKind::ResourceTemplates => &self.templates,
            ListKind::Tools => &[],
        }
    }
}

/// An operation as the list of its role holds it; nothing for one that is a tool.
fn written(operation: &OperationDeclaration, reader: ToolReader<'_>) -> Option<Vec<u8>> {
    match operation.role() {
        Role::Plain => None,
        Role::Prompt => Some(mcp::prompt(operation, reader)),
        Role::Resource { .. } => mcp::resource(operation, reader).or_else(|| mcp::resource_template(operation, reader)),
    }
}

impl PromptOrResource {
    /// How a list shows it to `caller`: it sends nobody to an operation that they cannot call.
    fn text(&self, registry: &Registry, caller: Option<&Caller>) -> Cow<'_, [u8]> {
        if self.operation.points_to().next().is_none() && mcp::mentions(&self.operation).next().is_none() {
            return Cow::Borrowed(&self.json);
        }
        let names = |name: &str| match registry.disclosed_operation(name, caller) {
            Some(told) => Spoken::Tool(told.tool_name()),
            None if registry.contract().operation(name).is_some() => Spoken::Closed,
            None => Spoken::Other,
        };
        let reader = ToolReader { names: &names, shared: &|_, _| false };
        let told = registry.disclosed_operation(self.operation.name().as_str(), caller);
        told.as_ref().and_then(|told| written(told, reader)).map_or(Cow::Borrowed(&self.json), Cow::Owned)
    }

    pub(crate) fn is_open(&self, registry: &Registry, caller: Option<&Caller>) -> bool {
        self.builtin
            || (self.operation.access().admit(caller).is_ok()
                && !registry.changes().is_hidden(self.operation.name().as_str()))
    }
}

impl McpInner {
    /// A page of a list: what this caller may use.
    pub(crate) fn list(
        &self,
        id: Id<'_>,
        listed: ListKind,
        params: &ListParams<'_>,
        era: Era,
        context: &RequestContext,
    ) -> Reply {
        let caller = context.caller();
        let write = |listing: &ListPages| match listing.page(params.cursor.as_deref()) {
            Some(page) => Reply::result(id, page),
            None => self.refuse(&Unfit::Cursor, id, context),
        };
        if listed == ListKind::Tools {
            return write(self.catalogue.visible(caller).listing(era));
        }
        if listed == ListKind::Prompts && self.prompts_and_resources.prompts.is_empty() {
            return self.refuse(&Unfit::NoPrompts, id, context);
        }
        let open = self.prompts_and_resources.items(listed).iter().filter(|item| item.is_open(&self.registry, caller));
        let texts: Vec<Cow<'_, [u8]>> = open.map(|item| item.text(&self.registry, caller)).collect();
        let texts: Vec<&[u8]> = texts.iter().map(AsRef::as_ref).collect();
        write(&ListPages::new(listed, &texts, self.options.page, era, self.options.caching(&self.registry)))
    }

    /// The prompts that are near `name` among those that the caller may use.
    pub(crate) fn near_prompts(&self, name: &str, context: &RequestContext) -> Vec<String> {
        let open =
            self.prompts_and_resources.prompts.iter().filter(|item| item.is_open(&self.registry, context.caller()));
        let names: Vec<String> = open.map(|item| item.operation.tool_name()).collect();
        near::near(name, names.iter().map(String::as_str))
    }
}
