//! The tools of a registry, and the lists that callers see of them.

use std::{
    collections::HashMap,
    sync::{Arc, OnceLock},
};

use parking_lot::Mutex;
use redress_contract::{Caller, Disclosure, Name, OperationDeclaration, Reach};
use redress_core::{OperationIndex, Registry, Shown};
use redress_wire::mcp::{
    self, Caching, Cost, Era, ListKind, ListPages, OutputForm, ServerInfo, SharedFailures, Spoken, Tool, ToolReader,
};

use crate::{McpError, McpOptions, arguments::Tidy, discovery, near};

/// How many sets of visible tools are kept ready. There may be as many as there are sets of
/// scopes; past this, lists are made anew.
const MAX_SETS: usize = 64;

/// The tools of a registry.
#[derive(Debug)]
pub(crate) struct Catalogue {
    tools: Arc<[ToolEntry]>,
    /// Tool names, and the names and aliases of operations, to their place in `tools`.
    by_name: HashMap<Box<str>, usize, foldhash::fast::RandomState>,
    /// The prompts and documents that everybody may see, by the names of their operations, as lists name them.
    listed: HashMap<Box<str>, String>,
    shared: SharedFailures,
    info: ServerInfo,
    sets: Mutex<HashMap<ToolSet, Arc<Visible>>>,
    settings: CatalogueOptions,
    registry: Registry,
}

#[derive(Clone, Copy, Debug)]
struct CatalogueOptions {
    form: OutputForm,
    discovery_above: usize,
    page: usize,
    caching: Caching,
}

/// One tool, and who may call it.
#[derive(Debug)]
pub(crate) struct ToolEntry {
    /// The tool, for callers who may call every tool that it sends them to.
    pub(crate) tool: Tool,
    pub(crate) declaration: OperationDeclaration,
    pub(crate) tidy: Tidy,
}

/// Which tools a caller sees: a bit for each.
type ToolSet = Vec<u64>;

/// What callers see who may call the same tools.
#[derive(Debug)]
pub(crate) struct Visible {
    tools: Arc<[ToolEntry]>,
    places: Vec<usize>,
    /// The tools that would send these callers to one which they cannot call, written without it.
    rewritten: HashMap<usize, Tool>,
    settings: CatalogueOptions,
    legacy: OnceLock<ListPages>,
    modern: OnceLock<ListPages>,
    index: OnceLock<OperationIndex>,
    instructions: OnceLock<String>,
}

impl Catalogue {
    pub(crate) fn new(registry: &Registry, options: &McpOptions) -> Result<Catalogue, McpError> {
        let external = registry.contract().operations().iter().filter(|operation| operation.is_external());
        let external = external.filter(|operation| !operation.access().is_for_persons());
        if let Some(profile) = &options.profile
            && let Some(pattern) = profile.idle(external.clone().map(OperationDeclaration::name))
        {
            return Err(McpError::ProfileIdle { profile: profile.name().to_owned(), pattern: pattern.to_owned() });
        }
        let held = external.filter(|operation| options.shows(operation) == Shown::Callable);
        let mut held: Vec<&OperationDeclaration> = held.collect();
        // The order of declarations may change with a line of code, and lists are kept by clients.
        held.sort_by_key(|operation| operation.tool_name());
        let mut by_name = HashMap::default();
        for (place, operation) in held.iter().enumerate() {
            by_name.insert(operation.tool_name().into(), place);
            by_name.insert(operation.name().as_str().into(), place);
        }
        for (place, operation) in held.iter().enumerate() {
            for alias in operation.aliases() {
                by_name.entry(alias.tool().into()).or_insert(place);
                by_name.entry(alias.as_str().into()).or_insert(place);
            }
        }
        let everybody = |operation: &&OperationDeclaration| operation.access().admit(None).is_ok();
        let listed =
            registry.contract().operations().iter().filter(|operation| options.shows(operation) == Shown::Listed);
        let listed =
            listed.filter(everybody).map(|operation| (operation.name().as_str().into(), operation.tool_name()));
        let mut catalogue = Catalogue {
            tools: Arc::default(),
            by_name,
            listed: listed.collect(),
            shared: SharedFailures::of(held.iter().copied()),
            info: options.info(),
            sets: Mutex::default(),
            settings: CatalogueOptions {
                form: options.form,
                discovery_above: options.discovery_above,
                page: options.page,
                caching: options.caching(registry),
            },
            registry: registry.clone(),
        };
        let names = |name: &str| catalogue.spoken(name, |place| held.get(place).map(|operation| operation.tool_name()));
        let reader =
            ToolReader { names: &names, shared: &|operation, failure| catalogue.shared.tells(operation, failure) };
        let entry = |operation: &&OperationDeclaration| ToolEntry {
            tool: Tool::told(operation, options.form, reader),
            declaration: OperationDeclaration::clone(operation),
            tidy: Tidy::of(operation.input(), &options.host_fields),
        };
        let tools: Arc<[ToolEntry]> = held.iter().map(entry).collect();
        catalogue.tools = tools;
        Ok(catalogue)
    }

    /// What a name in a text is to somebody to whom the tools have these names, if they see them.
    fn spoken(&self, name: &str, tool: impl Fn(usize) -> Option<String>) -> Spoken {
        match (self.place(name), self.listed.get(name)) {
            (Some(place), _) => tool(place).map_or(Spoken::Closed, Spoken::Tool),
            (None, Some(listed)) => Spoken::Tool(listed.clone()),
            (None, None) if self.registry.contract().operation(name).is_some() => Spoken::Closed,
            (None, None) => Spoken::Other,
        }
    }

    /// What a name in a text is to `caller`.
    pub(crate) fn spoken_to(&self, name: &str, caller: Option<&Caller>) -> Spoken {
        let hidden = |name: &str| self.registry.changes().is_hidden(name);
        self.spoken(name, |place| {
            let ToolEntry { tool, declaration, .. } = self.tools.get(place)?;
            let is_open = declaration.access().admit(caller).is_ok() && !hidden(declaration.name().as_str());
            is_open.then(|| tool.name().to_owned())
        })
    }

    /// What the server says to those who see these tools before they call any.
    pub(crate) fn instructions<'a>(&self, visible: &'a Visible) -> &'a str {
        visible.instructions.get_or_init(|| {
            let names = |name: &str| self.spoken(name, |place| Some(visible.tool(place)?.name().to_owned()));
            let is_seen =
                |namespace: &str| visible.entries().any(|entry| entry.declaration.name().namespace() == namespace);
            mcp::instructions(&self.info, &self.shared, &is_seen, &names)
        })
    }

    pub(crate) fn info(&self) -> &ServerInfo {
        &self.info
    }

    /// The tool of this name, or of this operation, whoever may call it.
    pub(crate) fn find(&self, name: &str) -> Option<&ToolEntry> {
        self.place(name).and_then(|place| self.tools.get(place))
    }

    /// The place of the tool of this name, or of this operation.
    pub(crate) fn place(&self, name: &str) -> Option<usize> {
        self.by_name.get(name).copied()
    }

    /// What the operation of this name is to callers who see the tools at `places`, which are in order.
    fn reach(&self, name: &str, places: &[usize]) -> Reach {
        match self.place(&Name::from_wire(name)) {
            Some(place) if places.binary_search(&place).is_ok() => Reach::Open,
            Some(_) => Reach::Closed,
            None if self.registry.contract().operation(name).is_some() => Reach::Closed,
            None => Reach::Unknown,
        }
    }

    /// The tools at `places` whose text has to be another for callers who see only those.
    fn rewritten(&self, places: &[usize]) -> HashMap<usize, Tool> {
        let reach = |name: &str| self.reach(name, places);
        let disclosure = Disclosure::to(None, &reach);
        let sees = |place: usize| places.binary_search(&place).ok().and_then(|_| self.tools.get(place));
        let names = |name: &str| self.spoken(name, |place| Some(sees(place)?.tool.name().to_owned()));
        let reader = ToolReader { names: &names, shared: &|operation, failure| self.shared.tells(operation, failure) };
        let mut rewritten = HashMap::new();
        for place in places {
            let Some(ToolEntry { declaration, .. }) = self.tools.get(*place) else { continue };
            let mut mentioned = mcp::mentions(declaration);
            if declaration.points_to().any(|name| reach(name) != Reach::Open)
                || mentioned.any(|name| names(name) == Spoken::Closed)
            {
                let told = Tool::told(&declaration.disclosed(&disclosure), self.settings.form, reader);
                rewritten.insert(*place, told);
            }
        }
        rewritten
    }

    /// What `caller` sees.
    pub(crate) fn visible(&self, caller: Option<&Caller>) -> Arc<Visible> {
        let changes = self.registry.changes();
        // As long as nothing has changed nothing can be hidden.
        let changed = changes.version() > 0;
        let mut set: ToolSet = vec![0; self.tools.len().div_ceil(64)];
        let mut places = Vec::with_capacity(self.tools.len());
        for (place, entry) in self.tools.iter().enumerate() {
            let hidden = changed && changes.is_hidden(entry.tool.operation().as_str());
            if !hidden
                && entry.declaration.access().admit(caller).is_ok()
                && let Some(word) = set.get_mut(place / 64)
            {
                *word |= 1 << (place % 64);
                places.push(place);
            }
        }
        let mut sets = self.sets.lock();
        if let Some(visible) = sets.get(&set) {
            return Arc::clone(visible);
        }
        let visible = Arc::new(Visible {
            tools: Arc::clone(&self.tools),
            rewritten: self.rewritten(&places),
            places,
            settings: self.settings,
            legacy: OnceLock::new(),
            modern: OnceLock::new(),
            index: OnceLock::new(),
            instructions: OnceLock::new(),
        });
        if sets.len() < MAX_SETS {
            sets.insert(set, Arc::clone(&visible));
        }
        visible
    }

    /// What each tool costs that `caller` is listed.
    pub(crate) fn costs(&self, caller: Option<&Caller>) -> Vec<Cost> {
        let visible = self.visible(caller);
        let mut costs: Vec<Cost> = if visible.is_discovered() {
            discovery::tools(self.settings.form).iter().map(mcp::cost).collect()
        } else {
            visible.tools().map(mcp::cost).collect()
        };
        costs.sort_by(|one, other| other.bytes.cmp(&one.bytes).then_with(|| one.tool.cmp(&other.tool)));
        costs
    }
}

impl Visible {
    /// The tools, in the order of their names.
    pub(crate) fn entries(&self) -> impl Iterator<Item = &ToolEntry> {
        self.places.iter().filter_map(|place| self.tools.get(*place))
    }

    /// The tools as these callers see them, in the order of their names.
    fn tools(&self) -> impl Iterator<Item = &Tool> {
        self.places.iter().filter_map(|place| self.tool(*place))
    }

    /// The tool at this place as these callers see it, if they do.
    pub(crate) fn tool(&self, place: usize) -> Option<&Tool> {
        self.places.binary_search(&place).ok()?;
        self.rewritten.get(&place).or_else(|| Some(&self.tools.get(place)?.tool))
    }

    /// Whether four tools stand in the place of all.
    pub(crate) fn is_discovered(&self) -> bool {
        self.places.len() > self.settings.discovery_above
    }

    /// The list of this era, written when it is first asked for.
    pub(crate) fn listing(&self, era: Era) -> &ListPages {
        let kept = match era {
            Era::Legacy => &self.legacy,
            Era::Modern => &self.modern,
        };
        kept.get_or_init(|| {
            let CatalogueOptions { form, page, caching, .. } = self.settings;
            if self.is_discovered() {
                let four = discovery::tools(form);
                let texts: Vec<&[u8]> = four.iter().map(|tool| tool.text(era).json()).collect();
                return ListPages::new(ListKind::Tools, &texts, page, era, caching);
            }
            let texts: Vec<&[u8]> = self.tools().map(|tool| tool.text(era).json()).collect();
            ListPages::new(ListKind::Tools, &texts, page, era, caching)
        })
    }

    /// The tools that fit a question, the best first, in [`entries`](Visible::entries)' places. The first question reads
    /// all declarations, so it is asked on a thread for large work.
    pub(crate) fn search(&self, question: &str) -> Vec<usize> {
        let index = self.index.get_or_init(|| OperationIndex::of(self.entries().map(|entry| &entry.declaration)));
        index.search(question).into_iter().map(|(place, _)| place).collect()
    }

    /// The names nearest to a wrong one, the nearest first.
    pub(crate) fn near(&self, name: &str) -> Vec<String> {
        near::near(name, self.entries().map(|entry| entry.tool.name()))
    }
}
