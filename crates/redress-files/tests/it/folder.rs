//! A folder to serve, with something beside it that nobody may reach.

use std::{fs, path::PathBuf};

use redress::{
    CONSENT_GRANT, Caller, Registry, Request, Subscription, consent_grant,
    testing::{CallAnswer, Harness, assert_ok},
};
use redress_files::{Files, FilesOptions};
use serde_json::{Value, json};
use tempfile::TempDir;

pub(crate) const SECRET: &str = "the secret that lies outside";

pub(crate) struct Folder {
    temp: TempDir,
    pub(crate) harness: Harness,
}

impl Folder {
    /// An empty folder that may be changed.
    pub(crate) fn new() -> Folder {
        Folder::named("served")
    }

    /// The same, with a name that can be searched for.
    pub(crate) fn named(name: &str) -> Folder {
        let temp = tempfile::Builder::new().prefix(name).tempdir().unwrap();
        fs::create_dir(temp.path().join("root")).unwrap();
        fs::create_dir(temp.path().join("outside")).unwrap();
        fs::write(temp.path().join("outside/secret.txt"), SECRET).unwrap();
        let harness = serve(temp.path().join("root"));
        Folder { temp, harness }
    }

    /// A folder with these files.
    pub(crate) fn with(files: &[(&str, &str)]) -> Folder {
        let folder = Folder::new();
        for (path, text) in files {
            folder.put(path, text);
        }
        folder
    }

    /// The path on the host.
    pub(crate) fn host(&self, path: &str) -> PathBuf {
        self.temp.path().join("root").join(path)
    }

    pub(crate) fn outside(&self) -> PathBuf {
        self.temp.path().join("outside")
    }

    pub(crate) fn put(&self, path: &str, text: impl AsRef<[u8]>) {
        let path = self.host(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    pub(crate) fn text(&self, path: &str) -> String {
        fs::read_to_string(self.host(path)).unwrap()
    }

    pub(crate) async fn call(&self, name: &str, input: Value) -> CallAnswer {
        self.harness.call(&format!("files.{name}"), input).await
    }

    pub(crate) async fn output(&self, name: &str, input: Value) -> Value {
        assert_ok!(self.call(name, input).await)
    }

    /// Lets the person agree to `files.remove`.
    pub(crate) async fn agree(&self) {
        assert_ok!(self.harness.call("consent.grant", json!({"operation": "files.remove"})).await);
    }

    /// Calls `files.remove`, to which the person agrees first.
    pub(crate) async fn remove(&self, input: Value) -> CallAnswer {
        self.agree().await;
        self.call("remove", input).await
    }

    pub(crate) async fn open(&self, name: &str, input: &Value) -> Subscription {
        let bytes = serde_json::to_vec(input).unwrap();
        let ada = caller();
        self.harness.open(&format!("files.{name}"), Request::new(&bytes).with_caller(ada)).await.unwrap()
    }

    /// That nothing outside has been read into `answer` or changed.
    #[track_caller]
    pub(crate) fn assert_outside_untouched(&self, answer: &CallAnswer) {
        assert!(!String::from_utf8_lossy(&answer.bytes()).contains(SECRET));
        self.assert_outside_unchanged();
    }

    #[track_caller]
    pub(crate) fn assert_outside_unchanged(&self) {
        let names: Vec<_> = fs::read_dir(self.outside()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(names, ["secret.txt"]);
        assert_eq!(fs::read_to_string(self.outside().join("secret.txt")).unwrap(), SECRET);
        let mut beside: Vec<_> =
            fs::read_dir(self.temp.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        beside.sort();
        assert_eq!(beside, ["outside", "root"]);
    }
}

pub(crate) fn caller() -> Caller {
    Caller::new("ada").scope("files:read").scope("files:write").scope(CONSENT_GRANT)
}

/// The operations over `root`, all of them.
pub(crate) fn serve(root: PathBuf) -> Harness {
    let files = Files::with_options(&FilesOptions { root, write: true }).unwrap();
    let registry = files.add_to(Registry::builder().add(consent_grant())).build();
    Harness::new(registry.unwrap_or_else(|error| panic!("{error}"))).as_caller(caller())
}

/// The paths of what was listed, found or told.
pub(crate) fn paths(items: &Value) -> Vec<&str> {
    items.as_array().unwrap().iter().map(|item| item["path"].as_str().unwrap()).collect()
}
