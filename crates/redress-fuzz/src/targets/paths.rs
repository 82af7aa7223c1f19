//! Paths in the folder of the file operations: a line with the path, and what is written there.

use std::{fs, path::PathBuf, sync::LazyLock};

use redress::{Caller, Registry, Request};
use redress_files::{Files, FilesOptions};
use serde_json::{Value, json};
use tempfile::TempDir;

use super::cut;
use crate::{
    operations::SECRET,
    oracle::{self, Ending},
    service,
};

/// The folder, and what lies beside it and must stay as it is.
struct SandboxFolder {
    folder: TempDir,
    registry: Registry,
}

impl SandboxFolder {
    fn beside(&self) -> PathBuf {
        self.folder.path().join("beside")
    }
}

pub(super) static PLACE: LazyLock<(TempDir, Registry)> = LazyLock::new(|| {
    let place = SandboxFolder::new();
    (place.folder, place.registry)
});

impl SandboxFolder {
    fn new() -> SandboxFolder {
        let folder = tempfile::tempdir().expect("the machine has a folder for this");
        let (inside, beside) = (folder.path().join("inside"), folder.path().join("beside"));
        for made in [inside.join("sub"), beside.clone()] {
            fs::create_dir_all(made).expect("a new folder is empty");
        }
        fs::write(inside.join("a.md"), "one\ntwo (three)\nfour\n").expect("it can be written");
        fs::write(inside.join("sub/b.txt"), "five\nsix.*\n").expect("it can be written");
        fs::write(beside.join("secret"), SECRET).expect("it can be written");
        #[cfg(unix)]
        for (target, link) in [("../beside", "out"), ("../beside/secret", "leak"), ("sub", "in")] {
            std::os::unix::fs::symlink(target, inside.join(link)).expect("it can be linked");
        }
        let options = FilesOptions { root: inside, write: true };
        let files = Files::with_options(&options).expect("the folder is there");
        let registry = files.add_to(Registry::builder()).build().expect("the declarations are sound");
        let place = SandboxFolder { folder, registry };
        assert!(place.beside().is_dir());
        place
    }
}

/// One call of a file operation, as somebody who may do everything.
pub(super) async fn call(registry: &Registry, operation: &str, input: &Value) -> Ending {
    let input = input.to_string();
    let request = Request::new(input.as_bytes()).with_caller(Caller::local());
    let answer = registry.call(operation, request).await.into_bytes();
    oracle::bounded(&answer, input.as_bytes());
    oracle::envelope(registry, &oracle::json(&answer))
}

pub(super) fn target(data: &[u8]) {
    let (path, content) = cut(data);
    let Ok(path) = std::str::from_utf8(path) else { return };
    let content = String::from_utf8_lossy(content);
    let (folder, registry) = &*PLACE;
    service::alone(async {
        for operation in ["files.stat", "files.list", "files.read"] {
            if let Ending::Well(output) = call(registry, operation, &json!({"path": path})).await {
                assert!(!path.split(['/', '\\']).any(|name| name == ".."), "{operation} went up by {path}");
                let own = output["path"].as_str().unwrap_or(".");
                assert!(!own.starts_with('/') && !own.contains('\\'), "{output}");
            }
        }
        // What is there by itself stays there; what is new is written, read and taken away.
        let write = json!({"path": path, "content": content, "mode": "create", "make_folders": true});
        if let Ending::Well(written) = call(registry, "files.write", &write).await {
            let own = written["path"].as_str().expect("what was written has a path").to_owned();
            let read = call(registry, "files.read", &json!({"path": own, "encoding": "text"})).await;
            if let Ending::Well(read) = read {
                assert_eq!(read["content"].as_str(), Some(&*content), "{own}");
            }
            let top = own.split('/').next().unwrap_or_default();
            // To take a file away needs the caller's consent, which nobody gives here.
            let removed = call(registry, "files.remove", &json!({"path": own})).await;
            assert_eq!(removed.code(), Some("CONSENT_REQUIRED"), "{own}: {removed:?}");
            fs::remove_file(folder.path().join("inside").join(&own)).expect("it was made just now");
            let empty = folder.path().join("inside").join(top);
            if empty.is_dir() && !["sub", "in", "out"].contains(&top) {
                fs::remove_dir_all(empty).expect("it was made just now");
            }
        }
    });
    let beside = folder.path().join("beside");
    let there: Vec<_> = fs::read_dir(&beside).expect("it is there").flatten().map(|entry| entry.file_name()).collect();
    assert_eq!(there, ["secret"], "something changed outside of the folder");
    assert_eq!(fs::read_to_string(beside.join("secret")).ok().as_deref(), Some(SECRET));
}
