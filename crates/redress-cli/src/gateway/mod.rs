//! Services behind the gateway: their documents read, made into operations as the settings say, and read again when they have
//! changed.
//!
//! Why so: docs/decisions/0141-documents-are-swapped-whole.md.

mod source;
mod table;
mod watch;

use std::{
    collections::BTreeMap,
    hash::{DefaultHasher, Hash as _, Hasher as _},
    path::Path,
};

use redress_core::Operation;
use redress_import::Import;
use redress_upstream::Upstream;

pub(crate) use source::SourceDocument;
pub(crate) use watch::{ChangedDocuments, DocumentWatch};

use self::source::KeptDocuments;
use crate::{
    config::{ServeSettings, UpstreamTable},
    error::CliError,
};

/// The services behind the gateway, as they are served.
#[derive(Clone, Debug, Default)]
pub(crate) struct Gateway {
    served: Vec<ServedUpstream>,
    kept: KeptDocuments,
}

/// One of them.
#[derive(Clone, Debug)]
pub(crate) struct ServedUpstream {
    pub(crate) table: UpstreamTable,
    /// Nothing while there is no document.
    pub(crate) upstream: Option<Upstream>,
    document: Option<SourceDocument>,
    /// Every operation, with what tells two declarations of it apart.
    operations: BTreeMap<String, u64>,
}

/// What is another in a document, by the names of operations.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct DocumentDifference {
    pub(crate) upstream: String,
    pub(crate) added: Vec<String>,
    pub(crate) removed: Vec<String>,
    pub(crate) changed: Vec<String>,
}

/// What the document at `path` says, with `name` before the names of its operations.
pub(crate) fn read(path: &Path, name: &str) -> Result<Import, CliError> {
    SourceDocument::read(path)?.import(path, name)
}

impl Gateway {
    /// The services that `settings` name. Nothing but documents is connected to.
    pub(crate) fn open(settings: &ServeSettings) -> Result<Gateway, CliError> {
        let folder = settings.state.table().and_then(|table| table.folder.as_ref());
        let kept = KeptDocuments(folder.map(|folder| folder.join("documents")));
        let served = settings.upstreams.iter().map(|table| ServedUpstream::open(table, &kept));
        Ok(Gateway { served: served.collect::<Result<_, _>>()?, kept })
    }

    /// Their operations.
    pub(crate) fn operations(&self) -> Vec<Operation> {
        self.served.iter().filter_map(|one| one.upstream.as_ref()).flat_map(Upstream::operations).collect()
    }

    /// Each of them by its name; nothing in the place of one that has no document yet.
    pub(crate) fn upstreams(&self) -> Vec<(String, Option<Upstream>)> {
        self.served.iter().map(|one| (one.table.name.clone(), one.upstream.clone())).collect()
    }

    /// The same services with the documents that have changed, and what is another in them; nothing where none is. Nothing
    /// of it holds yet.
    pub(crate) fn renewed(
        &self,
        changed: ChangedDocuments,
    ) -> Result<Option<(Gateway, Vec<DocumentDifference>)>, CliError> {
        if changed.0.is_empty() {
            return Ok(None);
        }
        let (mut next, mut differences) = (self.clone(), Vec::new());
        for (place, document) in changed.0 {
            let Some(one) = next.served.get_mut(place) else { continue };
            let document = match document {
                Some(document) => document,
                None => SourceDocument::read(&one.table.openapi)?,
            };
            let document = document.with_overlays(&one.table.overlays)?;
            let is_same = one.document.as_ref().is_some_and(|old| old.digest() == document.digest());
            let made = if is_same { None } else { Some(one.with(&document)?) };
            one.document = Some(document);
            if let Some((upstream, operations)) = made {
                differences.push(DocumentDifference::of(&one.table.name, &one.operations, &operations));
                (one.upstream, one.operations) = (Some(upstream), operations);
            }
        }
        Ok((!differences.is_empty()).then_some((next, differences)))
    }

    /// Keeps the documents that were got and are served: they are good.
    pub(crate) fn keep(&self) {
        for one in &self.served {
            if let (Some(url), Some(document)) = (one.table.document_url(), &one.document)
                && document.is_fresh
            {
                self.kept.keep(&one.table.name, url, document);
            }
        }
    }
}

impl ServedUpstream {
    /// The service of one table. Where its document cannot be got, or is no good, the last one that was counts; where there
    /// is none, it has no operations until there is.
    pub(crate) fn open(table: &UpstreamTable, kept: &KeptDocuments) -> Result<ServedUpstream, CliError> {
        let mut one =
            ServedUpstream { table: table.clone(), upstream: None, document: None, operations: BTreeMap::new() };
        let whole = |document: SourceDocument| {
            let document = document.with_overlays(&table.overlays)?;
            Ok::<_, CliError>((one.with(&document)?, document))
        };
        let read = SourceDocument::read(&table.openapi).and_then(whole);
        let Some(url) = table.document_url() else {
            let ((upstream, operations), document) = read?;
            return Ok(ServedUpstream { upstream: Some(upstream), operations, document: Some(document), ..one });
        };
        let ((upstream, operations), document) = match read {
            Ok(good) => good,
            Err(trouble) => {
                let Some(document) = kept.read(&table.name, url) else {
                    // What is wrong with the table itself will be wrong with every document.
                    if matches!(trouble, CliError::UpstreamUnusable { .. }) {
                        return Err(trouble);
                    }
                    tracing::error!(upstream = table.name, cause = %trouble, "there is no document yet, and none of its operations");
                    return Ok(one);
                };
                tracing::warn!(upstream = table.name, cause = %trouble, "the last good document is used");
                whole(document)?
            }
        };
        (one.upstream, one.operations, one.document) = (Some(upstream), operations, Some(document));
        Ok(one)
    }

    /// What the service is with this document, whose operations are listed.
    fn with(&self, document: &SourceDocument) -> Result<(Upstream, BTreeMap<String, u64>), CliError> {
        let import = document.import(&self.table.openapi, &self.table.name)?;
        let upstream = table::upstream(&self.table, import, self.upstream.as_ref())?;
        let mut operations = BTreeMap::new();
        for operation in upstream.operations() {
            let declaration = operation.declaration();
            let mut hasher = DefaultHasher::new();
            serde_json::to_string(declaration).unwrap_or_default().hash(&mut hasher);
            operations.insert(declaration.name().as_str().to_owned(), hasher.finish());
        }
        Ok((upstream, operations))
    }
}

impl DocumentDifference {
    fn of(upstream: &str, old: &BTreeMap<String, u64>, new: &BTreeMap<String, u64>) -> DocumentDifference {
        let names = |some: &BTreeMap<String, u64>, is_meant: &dyn Fn(&str, u64) -> bool| -> Vec<String> {
            some.iter().filter(|(name, digest)| is_meant(name, **digest)).map(|(name, _)| name.clone()).collect()
        };
        DocumentDifference {
            upstream: upstream.to_owned(),
            added: names(new, &|name, _| !old.contains_key(name)),
            removed: names(old, &|name, _| !new.contains_key(name)),
            changed: names(new, &|name, digest| old.get(name).is_some_and(|was| *was != digest)),
        }
    }

    /// Says it in the log.
    pub(crate) fn log(&self) {
        let DocumentDifference { upstream, added, removed, changed } = self;
        let (added, removed, changed) = (added.join(" "), removed.join(" "), changed.join(" "));
        tracing::info!(upstream, added, removed, changed, "the document of a service has changed, and holds");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_difference_names_what_came_went_and_changed() {
        let of = |pairs: &[(&str, u64)]| pairs.iter().map(|(name, digest)| ((*name).to_owned(), *digest)).collect();
        let difference =
            DocumentDifference::of("shop", &of(&[("a", 1), ("b", 1), ("c", 1)]), &of(&[("b", 1), ("c", 2), ("d", 1)]));
        let named = (difference.added, difference.removed, difference.changed);
        assert_eq!(named, (vec!["d".to_owned()], vec!["a".to_owned()], vec!["c".to_owned()]));
    }
}
