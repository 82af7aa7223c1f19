//! The groups of the suite: a schema, and values that it accepts or refuses.

use std::{fs, path::Path};

use serde::Deserialize;
use serde_json::{Value, json};

const DIALECT: &str = "https://json-schema.org/draft/2020-12/schema";

/// What the suite leaves out: schemas that documents and explanations have got wrong, or easily could.
const OWN: &str = "own.json";

/// A schema and its tests.
#[derive(Clone, Deserialize)]
pub(super) struct Group {
    #[serde(skip)]
    pub(super) file: String,
    pub(super) description: String,
    schema: Value,
    pub(super) tests: Vec<Test>,
}

#[derive(Clone, Deserialize)]
pub(super) struct Test {
    pub(super) description: String,
    pub(super) data: Value,
    pub(super) valid: bool,
}

/// Where the schema of a group stands in the input of its operation.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Mode {
    /// It is the input's.
    Whole,
    /// It is that of the member `v`.
    Member,
}

impl Mode {
    pub(super) fn name(self) -> &'static str {
        match self {
            Mode::Whole => "whole",
            Mode::Member => "member",
        }
    }

    pub(super) fn input(self, data: &Value) -> Value {
        match self {
            Mode::Whole => data.clone(),
            Mode::Member => json!({"v": data}),
        }
    }
}

impl Group {
    pub(super) fn title(&self) -> String {
        format!("{}: {}", self.file, self.description)
    }

    pub(super) fn schema(&self, mode: Mode) -> Value {
        let mut schema = self.schema.clone();
        if mode == Mode::Whole {
            return schema;
        }
        // Where it stands lower, an identifier keeps its references its own.
        let refers = self.refers();
        if let Value::Object(keywords) = &mut schema {
            keywords
                .remove("$schema")
                .filter(|dialect| dialect != DIALECT)
                .map(|own| keywords.insert("$schema".into(), own));
            if refers {
                keywords.entry("$id").or_insert_with(|| json!("https://suite.test/member"));
            }
        }
        json!({"type": "object", "properties": {"v": schema}, "required": ["v"], "additionalProperties": false})
    }

    /// Whether it is one of ours.
    pub(super) fn is_own(&self) -> bool {
        self.file == OWN
    }

    /// Whether there is a reference in the schema.
    pub(super) fn refers(&self) -> bool {
        let text = self.schema.to_string();
        text.contains("$ref\":") || text.contains("$dynamicRef\":")
    }

    /// A reader of the schema as it is written.
    pub(super) fn judge(&self, mode: Mode) -> jsonschema::Validator {
        super::advertised::judge(&self.schema(mode), jsonschema::Draft::Draft202012)
    }
}

/// Every group, file by file.
pub(super) fn groups() -> Vec<Group> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/json-schema-suite");
    let mut groups = Vec::new();
    for folder in ["", "optional", "optional/format"] {
        let mut files: Vec<_> = fs::read_dir(root.join(folder)).unwrap().map(|entry| entry.unwrap().path()).collect();
        files.sort();
        for path in files.iter().filter(|path| path.extension().is_some_and(|ending| ending == "json")) {
            let file = path.strip_prefix(&root).unwrap().to_str().unwrap().replace('\\', "/");
            let read: Vec<Group> = serde_json::from_slice(&fs::read(path).unwrap()).unwrap();
            groups.extend(read.into_iter().map(|group| Group { file: file.clone(), ..group }));
        }
    }
    assert!(groups.len() > 400, "the suite is not there");
    let own: Vec<Group> = serde_json::from_str(include_str!("own.json")).unwrap();
    groups.extend(own.into_iter().map(|group| Group { file: OWN.to_owned(), ..group }));
    groups
}

/// A document with a patch (RFC 6902) applied, as far as a fix goes.
pub(super) fn patched(mut document: Value, patch: &Value) -> Value {
    for change in patch.as_array().unwrap() {
        let path = change["path"].as_str().unwrap();
        let value = match change["op"].as_str().unwrap() {
            "replace" => change["value"].clone(),
            "move" => {
                let (around, name) = change["from"].as_str().unwrap().rsplit_once('/').unwrap();
                let name = name.replace("~1", "/").replace("~0", "~");
                document.pointer_mut(around).unwrap().as_object_mut().unwrap().remove(&name).unwrap()
            }
            other => panic!("{other} is no change that a fix has"),
        };
        match path.rsplit_once('/') {
            Some((around, name)) if change["op"] == "move" => {
                let name = name.replace("~1", "/").replace("~0", "~");
                document.pointer_mut(around).unwrap().as_object_mut().unwrap().insert(name, value);
            }
            _ => *document.pointer_mut(path).unwrap() = value,
        }
    }
    document
}
