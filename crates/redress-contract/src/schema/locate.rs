//! Where the parts of a schema stand and where its references lead: pointers, anchors and the `$id`s of
//! the resources that it holds.

use std::collections::{BTreeMap, HashMap};

use fluent_uri::{Uri, UriRef};
use serde_json::{Map, Value};

use super::{
    BundleError, DIALECT,
    keyword::{SubschemaName, below},
    pointer,
};

/// What the base of a schema without an `$id` is: no address, so that nothing outside is meant by chance.
const NOWHERE: &str = "json-schema:///";

/// The parts of a schema. Addresses stand for them: the schema is borrowed for as long as this is.
pub(super) struct SubschemaIndex<'s> {
    resources: Vec<SchemaResource<'s>>,
    by_uri: HashMap<String, usize>,
    known: HashMap<usize, SubschemaLocation>,
    scopes: Scopes<'s>,
}

/// A schema with an identifier of its own, or the whole.
struct SchemaResource<'s> {
    uri: Uri<String>,
    root: &'s Value,
    anchors: HashMap<&'s str, &'s Value>,
    dynamic: BTreeMap<&'s str, usize>,
}

/// Where a part stands.
pub(super) struct SubschemaLocation {
    /// The part around it.
    around: Option<usize>,
    /// The way from there, as a JSON Pointer.
    way: String,
    pub(super) resource: usize,
    /// The scope in which it is evaluated where it stands.
    pub(super) scope: usize,
}

/// What a reference leads to.
#[derive(Clone, Copy)]
pub(super) struct RefTarget<'s> {
    pub(super) schema: &'s Value,
    pub(super) resource: usize,
}

/// What a reference leads to, or where to.
pub(super) enum Led<'s> {
    Inside(RefTarget<'s>),
    /// A metaschema of the standard, which every reader of the dialect knows, by its whole URI.
    Outside(String),
}

pub(super) fn address(schema: &Value) -> usize {
    std::ptr::from_ref(schema).addr()
}

impl<'s> SubschemaIndex<'s> {
    pub(super) fn of(schema: &'s Value) -> Result<Self, BundleError> {
        let nowhere = Uri::parse(NOWHERE.to_owned()).map_err(|_| BundleError::unresolved(NOWHERE))?;
        let mut places =
            Self { resources: Vec::new(), by_uri: HashMap::new(), known: HashMap::new(), scopes: Scopes::default() };
        places.open(nowhere, schema)?;
        places.note_all(schema)?;
        places.note_scopes(schema);
        Ok(places)
    }

    /// Takes down every part with its way, its resource and its names.
    fn note_all(&mut self, schema: &'s Value) -> Result<(), BundleError> {
        let mut left = vec![(schema, None, String::new(), 0)];
        while let Some((schema, around, way, outer)) = left.pop() {
            let resource = match schema {
                Value::Object(keywords) => self.names(schema, keywords, outer)?,
                Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => outer,
            };
            let here = address(schema);
            self.known.insert(here, SubschemaLocation { around, way, resource, scope: 0 });
            if let Value::Object(keywords) = schema {
                below(keywords, |keyword, name, schema| {
                    let mut way = String::new();
                    pointer::push(&mut way, keyword);
                    match name {
                        Some(SubschemaName::Index(index)) => pointer::push(&mut way, &index.to_string()),
                        Some(SubschemaName::Text(name)) => pointer::push(&mut way, name),
                        None => {}
                    }
                    left.push((schema, Some(here), way, resource));
                });
            }
        }
        Ok(())
    }

    /// Takes down in which scope each part is evaluated where it stands. Which anchors a resource has is
    /// known only once all of it was seen.
    fn note_scopes(&mut self, schema: &'s Value) {
        if self.resources.iter().all(|resource| resource.dynamic.is_empty()) {
            return;
        }
        let mut left = vec![(schema, Scopes::EMPTY, usize::MAX)];
        while let Some((schema, outer, around)) = left.pop() {
            let Some(resource) = self.known.get(&address(schema)).map(|place| place.resource) else { continue };
            let scope = if resource == around { outer } else { self.enter(outer, resource) };
            if let Some(place) = self.known.get_mut(&address(schema)) {
                place.scope = scope;
            }
            if let Value::Object(keywords) = schema {
                below(keywords, |_, _, schema| left.push((schema, scope, resource)));
            }
        }
    }

    /// Takes down the names of a part; the resource that it belongs to.
    fn names(
        &mut self,
        schema: &'s Value,
        keywords: &'s Map<String, Value>,
        outer: usize,
    ) -> Result<usize, BundleError> {
        let text = |keyword: &str| keywords.get(keyword).and_then(Value::as_str);
        if let Some(dialect) = text("$schema").filter(|dialect| dialect.trim_end_matches('#') != DIALECT) {
            return Err(BundleError::Dialect { dialect: dialect.to_owned() });
        }
        let mut resource = outer;
        // An empty one names what is around it.
        if let Some(id) = text("$id").map(|id| id.trim_end_matches('#')).filter(|id| !id.is_empty()) {
            let uri = self.resolved(outer, id).ok_or_else(|| BundleError::unresolved(id))?;
            resource = self.open(uri, schema)?;
        }
        let Some(inside) = self.resources.get_mut(resource) else { return Ok(resource) };
        if let Some(name) = text("$dynamicAnchor") {
            inside.dynamic.insert(name, address(schema));
        }
        let (anchor, dynamic) = (text("$anchor"), text("$dynamicAnchor"));
        for name in anchor.into_iter().chain(dynamic.filter(|dynamic| Some(*dynamic) != anchor)) {
            if inside.anchors.insert(name, schema).is_some() {
                return Err(BundleError::Ambiguous { name: format!("#{name}") });
            }
        }
        Ok(resource)
    }

    fn open(&mut self, uri: Uri<String>, root: &'s Value) -> Result<usize, BundleError> {
        let resource = self.resources.len();
        if self.by_uri.insert(uri.as_str().to_owned(), resource).is_some() {
            return Err(BundleError::Ambiguous { name: uri.as_str().to_owned() });
        }
        self.resources.push(SchemaResource { uri, root, anchors: HashMap::new(), dynamic: BTreeMap::new() });
        Ok(resource)
    }

    /// `reference` against the base of a resource (RFC 3986, 5.2), as the validator resolves it.
    fn resolved(&self, resource: usize, reference: &str) -> Option<Uri<String>> {
        let base = &self.resources.get(resource)?.uri;
        Some(UriRef::parse(reference).ok()?.resolve_against(base).ok()?.normalize())
    }

    /// What a `$ref` in `resource` leads to.
    pub(super) fn find(&self, resource: usize, reference: &str) -> Result<Led<'s>, BundleError> {
        const METASCHEMAS: &str = "https://json-schema.org/draft/2020-12/";
        let nothing = || BundleError::unresolved(reference);
        let (uri, fragment) = reference.split_once('#').unwrap_or((reference, ""));
        let mut inside = resource;
        if !uri.is_empty() {
            let uri = self.resolved(resource, uri).ok_or_else(nothing)?;
            match self.by_uri.get(uri.as_str()) {
                Some(found) => inside = *found,
                None if uri.as_str().starts_with(METASCHEMAS) => {
                    if self.extends_metaschema() {
                        return Err(BundleError::Metaschema { reference: reference.to_owned() });
                    }
                    let fragment = reference.find('#').and_then(|start| reference.get(start..)).unwrap_or_default();
                    return Ok(Led::Outside(format!("{uri}{fragment}")));
                }
                None => return Err(nothing()),
            }
        }
        let root = self.resources.get(inside).ok_or_else(nothing)?;
        let fragment = pointer::decoded(fragment).ok_or_else(nothing)?;
        if fragment.is_empty() {
            return Ok(Led::Inside(RefTarget { schema: root.root, resource: inside }));
        }
        if !fragment.starts_with('/') {
            let schema = root.anchors.get(&*fragment).copied().ok_or_else(nothing)?;
            return Ok(Led::Inside(RefTarget { schema, resource: inside }));
        }
        let mut target = RefTarget { schema: root.root, resource: inside };
        for segment in pointer::segments(&fragment) {
            target.schema = pointer::step(target.schema, &segment).ok_or_else(nothing)?;
            if let Some(place) = self.known.get(&address(target.schema)) {
                target.resource = place.resource;
            }
        }
        Ok(Led::Inside(target))
    }

    /// What a `$dynamicRef` in `resource` leads to when it is met in `scope`: the outermost of what bears
    /// its name, provided that it leads to a dynamic anchor of that name in the first place.
    pub(super) fn find_dynamic(&self, resource: usize, scope: usize, reference: &str) -> Result<Led<'s>, BundleError> {
        let first = self.find(resource, reference)?;
        let Led::Inside(target) = first else { return Ok(first) };
        let name = reference.split_once('#').map(|(_, name)| name).unwrap_or_default();
        let is_dynamic = target.schema.get("$dynamicAnchor").and_then(Value::as_str) == Some(name);
        let outermost = self.scopes.bound(scope, name).filter(|_| is_dynamic);
        let Some(outermost) = outermost.and_then(|resource| self.resources.get(resource).map(|it| (resource, it)))
        else {
            return Ok(Led::Inside(target));
        };
        let (resource, inside) = outermost;
        let schema = inside.anchors.get(name).copied().unwrap_or(target.schema);
        Ok(Led::Inside(RefTarget { schema, resource }))
    }

    /// Whether the schema has a say in what a metaschema of the standard means.
    fn extends_metaschema(&self) -> bool {
        self.resources.iter().any(|resource| resource.dynamic.contains_key("meta"))
    }

    /// The scope once `resource` is entered.
    pub(super) fn enter(&mut self, scope: usize, resource: usize) -> usize {
        match self.resources.get(resource) {
            Some(entered) if !entered.dynamic.is_empty() => {
                self.scopes.entered(scope, resource, entered.dynamic.keys().copied())
            }
            Some(_) | None => scope,
        }
    }

    /// How many scopes were met.
    pub(super) fn scopes(&self) -> usize {
        self.scopes.all.len()
    }

    /// Where a part stands; nothing for what is no schema where it stands.
    pub(super) fn place(&self, schema: &Value) -> Option<&SubschemaLocation> {
        self.known.get(&address(schema))
    }

    /// The pointer to a part from the root.
    pub(super) fn pointer(&self, schema: &Value) -> Option<String> {
        let mut ways = Vec::new();
        let mut next = Some(address(schema));
        while let Some(place) = next {
            let place = self.known.get(&place)?;
            ways.push(place.way.as_str());
            next = place.around;
        }
        ways.reverse();
        Some(ways.concat())
    }
}

/// The scopes of dynamic references: for each name the outermost resource with an anchor of that name.
#[derive(Default)]
struct Scopes<'s> {
    /// All but the first, which is empty.
    all: Vec<BTreeMap<&'s str, usize>>,
    ids: HashMap<BTreeMap<&'s str, usize>, usize>,
    entered: HashMap<(usize, usize), usize>,
}

impl<'s> Scopes<'s> {
    const EMPTY: usize = 0;

    fn bound(&self, scope: usize, name: &str) -> Option<usize> {
        self.all.get(scope.checked_sub(1)?)?.get(name).copied()
    }

    fn entered(&mut self, scope: usize, resource: usize, names: impl Iterator<Item = &'s str>) -> usize {
        if let Some(known) = self.entered.get(&(scope, resource)) {
            return *known;
        }
        let outer = scope.checked_sub(1).and_then(|scope| self.all.get(scope));
        let mut bound = outer.cloned().unwrap_or_default();
        for name in names {
            bound.entry(name).or_insert(resource);
        }
        let next = self.all.len() + 1;
        let id = *self.ids.entry(bound.clone()).or_insert(next);
        if id == next {
            self.all.push(bound);
        }
        self.entered.insert((scope, resource), id);
        id
    }
}
