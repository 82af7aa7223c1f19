//! The kept OpenAPI documents, and our servers of what they describe.

use std::{
    fs::{self, File},
    io::{self, Read as _},
    path::{Path, PathBuf},
    sync::Arc,
};

use flate2::read::GzDecoder;
use redress::{Caller, Registry, mcp::RequestContext};
use redress_import::{ReadOptions, openapi};
use redress_upstream::{Upstream, UpstreamConfig};

use crate::ours;

/// A kept document.
pub struct KeptDocument {
    /// What its file is called.
    pub name: String,
    /// As it is kept, JSON or YAML.
    pub original: PathBuf,
    /// As JSON, which every peer reads.
    pub json: PathBuf,
    /// How many bytes it has.
    pub bytes: usize,
}

/// Unpacks the kept documents into `folder`.
pub fn unpack(folder: &Path) -> io::Result<Vec<KeptDocument>> {
    let kept = Path::new(env!("CARGO_MANIFEST_DIR")).join("../redress-import/tests/documents");
    let (originals, jsons) = (folder.join("originals"), folder.join("json"));
    fs::create_dir_all(&originals)?;
    fs::create_dir_all(&jsons)?;
    let mut documents = Vec::new();
    for entry in fs::read_dir(kept)? {
        let path = entry?.path();
        if path.extension().is_none_or(|kind| kind != "gz") {
            continue;
        }
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let mut bytes = Vec::new();
        GzDecoder::new(File::open(&path)?).read_to_end(&mut bytes)?;
        let original = originals.join(&name);
        fs::write(&original, &bytes)?;
        let json = if name.ends_with(".json") {
            original.clone()
        } else {
            let import = openapi::read(&bytes, &ReadOptions::default()).map_err(io::Error::other)?;
            let json = jsons.join(&name).with_extension("json");
            fs::write(&json, openapi::to_openapi(&import).to_json())?;
            json
        };
        documents.push(KeptDocument { name, original, json, bytes: bytes.len() });
    }
    documents.sort_by_key(|document| std::cmp::Reverse(document.bytes));
    Ok(documents)
}

fn upstream(path: &Path, prefix: Option<String>, base_url: &str) -> io::Result<Upstream> {
    let name = prefix.clone().unwrap_or_else(|| "service".to_owned());
    let options = ReadOptions { prefix, ..ReadOptions::default() };
    let import = openapi::read(&fs::read(path)?, &options).map_err(io::Error::other)?;
    let mut config = UpstreamConfig::new(name);
    config.base_url = Some(base_url.to_owned());
    Upstream::new(import, config).map_err(io::Error::other)
}

fn registry(upstreams: &[Upstream]) -> io::Result<Registry> {
    let operations = upstreams.iter().flat_map(Upstream::operations);
    operations.fold(Registry::builder(), |builder, one| builder.add(one)).build().map_err(io::Error::other)
}

/// Speaks MCP over its input and output, with the operations of the document at `path`.
pub fn stdio(path: &Path) -> io::Result<()> {
    let registry = registry(&[upstream(path, None, "http://127.0.0.1:9")?])?;
    ours::runtime().block_on(async {
        let asking = RequestContext { caller: Some(Arc::new(Caller::local())), ..RequestContext::default() };
        ours::mcp(registry).standard_io(asking).await
    })
}

/// Serves the operations of all documents in `folder`, each below its own name, which `service` carries out.
pub fn serve(folder: &Path, service: &str) -> io::Result<()> {
    ours::end_with_input();
    let mut upstreams = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let stem = path.file_stem().unwrap_or_default().to_string_lossy().to_lowercase();
        let name: String = stem.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
        upstreams.push(upstream(&path, Some(name), &format!("http://{service}"))?);
    }
    let registry = registry(&upstreams)?;
    ours::runtime().block_on(ours::serve_all(registry));
    Ok(())
}
