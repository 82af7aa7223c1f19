//! `new`: a project of one's own, made from the example that the workspace itself builds and tests.

use std::{fs, path::Path};

use include_dir::{Dir, DirEntry, include_dir};
use serde_json::json;

use crate::{
    arguments,
    error::CliError,
    program::CommandEnd,
    terminal::{
        output::{NAME, Terminal},
        shell,
    },
};

/// The example, as it stands in the workspace: a link to each of its files.
static TEMPLATE: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/template");
/// What is called otherwise there. Cargo takes a folder that holds a `Cargo.toml` for another package, and would leave it
/// out of this one when it is published; git follows no link to its own files.
const RENAMED: [(&str, &str); 2] = [(TEMPLATE_MANIFEST, "Cargo.toml"), ("gitignore", ".gitignore")];
const TEMPLATE_MANIFEST: &str = "manifest.toml";
/// What the example is called, wherever that is the project's name.
const TEMPLATE_NAME: &str = "helpdesk";
/// How the example names redress, which a project of one's own finds elsewhere.
const TEMPLATE_PATH: &str = "path = \"../../crates/redress\"";
/// What is in the example for the workspace alone.
const OF_WORKSPACE: [&str; 2] = ["license = ", "publish = "];
/// Names that a package cannot have, or that would hide what the project uses.
const TAKEN: [&str; 14] = [
    "alloc",
    "core",
    "proc_macro",
    "redress",
    "serde_json",
    "sqlx",
    "std",
    "test",
    "tokio",
    "crate",
    "self",
    "super",
    "build",
    "deps",
];

pub(crate) fn run(args: &arguments::NewArgs, terminal: &mut Terminal<'_>) -> Result<CommandEnd, CliError> {
    let name = args.name.as_str();
    let usage = |says: String, tip: &str| {
        Err(CliError::Usage { says, tip: Some(tip.to_owned()), command: "redress new".to_owned() })
    };
    if !is_name(name) {
        let says = format!("`{name}` cannot be the name of a package");
        return usage(says, "Write lower-case letters, digits and hyphens, a letter first: `redress new my-desk`.");
    }
    let from = match (&args.path, &args.git) {
        (Some(path), _) => match found(path) {
            Some(path) => format!("path = {}", quoted(&path)),
            None => {
                let says = format!("there is no redress in {}", path.display());
                return usage(says, "Give the folder of a clone: the one that holds `crates/redress`.");
            }
        },
        (None, Some(url)) => format!("git = {}", quoted(url)),
        (None, None) => {
            let says = "redress is not published on crates.io yet, and nothing says where it is".to_owned();
            return usage(says, "Give `--path DIR` of a clone, or `--git URL`; Cargo.toml will name it.");
        }
    };
    let folder = Path::new(name);
    if folder.exists() {
        let cause = std::io::Error::new(std::io::ErrorKind::AlreadyExists, "it is there already");
        return Err(CliError::FileUnwritable { path: name.to_owned(), cause });
    }
    let mut files = Vec::new();
    write(&TEMPLATE, folder, name, &from, &mut files)?;
    files.sort();
    if terminal.is_json() {
        terminal.document(&json!({"folder": name, "files": files}))?;
        return Ok(CommandEnd::Well);
    }
    let out = terminal.out();
    for file in &files {
        out.line(format_args!("  {name}/{file}"))?;
    }
    let next = [shell::line(["cd", name]), "cargo test".to_owned(), "cargo run -- serve".to_owned()];
    out.line(format_args!("\n{} is there. Next: {}", out.paint(NAME, name), next.join(" && ")))?;
    Ok(CommandEnd::Well)
}

/// Whether Cargo takes it for the name of a package, and Rust for that of a crate.
fn is_name(name: &str) -> bool {
    name.starts_with(|first: char| first.is_ascii_lowercase())
        && name.len() <= 64
        && name.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-' || byte == b'_')
        && !TAKEN.contains(&name.replace('-', "_").as_str())
        && keyword(name).is_none()
}

/// The keyword that `name` is, if it is one.
fn keyword(name: &str) -> Option<&'static str> {
    const KEYWORDS: [&str; 36] = [
        "abstract", "as", "async", "await", "become", "box", "break", "const", "continue", "do", "dyn", "else", "enum",
        "extern", "false", "final", "fn", "for", "gen", "if", "impl", "in", "let", "loop", "macro", "match", "mod",
        "move", "mut", "override", "priv", "pub", "ref", "return", "static", "struct",
    ];
    const MORE: [&str; 13] = [
        "trait", "true", "try", "type", "typeof", "unsafe", "unsized", "use", "virtual", "where", "while", "yield",
        "main",
    ];
    KEYWORDS.into_iter().chain(MORE).find(|word| *word == name)
}

/// The folder of the façade in a clone, as the manifest has to name it from wherever it is read.
fn found(path: &Path) -> Option<String> {
    let facade = path.join("crates/redress");
    facade
        .join("Cargo.toml")
        .is_file()
        .then(|| fs::canonicalize(&facade).ok())
        .flatten()
        .map(|path| path.display().to_string())
}

/// A text as TOML has it.
fn quoted(text: &str) -> String {
    toml::Value::String(text.to_owned()).to_string()
}

fn write(dir: &Dir<'_>, folder: &Path, name: &str, from: &str, files: &mut Vec<String>) -> Result<(), CliError> {
    for entry in dir.entries() {
        match entry {
            DirEntry::Dir(inner) => write(inner, folder, name, from, files)?,
            DirEntry::File(file) => {
                let own_path = own_path(file.path());
                let path = folder.join(own_path);
                let unwritable = |cause| CliError::FileUnwritable { path: path.display().to_string(), cause };
                let text = file.contents_utf8().unwrap_or_default();
                if let Some(parent) = path.parent() {
                    fs::create_dir_all(parent).map_err(unwritable)?;
                }
                fs::write(&path, own(own_path, text, name, from)).map_err(unwritable)?;
                files.push(own_path.display().to_string());
            }
        }
    }
    Ok(())
}

/// Where a file of the template stands in the project.
fn own_path(path: &Path) -> &Path {
    RENAMED.into_iter().find_map(|(here, there)| (path == Path::new(here)).then_some(Path::new(there))).unwrap_or(path)
}

/// A file of the example as the project has it.
fn own(path: &Path, text: &str, name: &str, from: &str) -> String {
    let crate_path = format!("{}::", name.replace('-', "_"));
    let text = text.replace(&format!("{TEMPLATE_NAME}::"), &crate_path).replace(TEMPLATE_NAME, name);
    if path != Path::new("Cargo.toml") {
        return text;
    }
    let lines = text.lines().filter(|line| !OF_WORKSPACE.iter().any(|begins| line.starts_with(begins)));
    let mut manifest = lines.map(|line| format!("{line}\n")).collect::<String>().replace(TEMPLATE_PATH, from);
    // A project that is made inside of another workspace is not one of its members.
    manifest.push_str("\n[workspace]\n");
    manifest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_one_for_cargo_and_for_rust() {
        for good in ["helpdesk", "my-desk", "desk2", "a_b"] {
            assert!(is_name(good), "{good}");
        }
        for bad in ["", "2desk", "Desk", "my desk", "../x", "redress", "test", "match", "proc-macro", "-x", "ä"] {
            assert!(!is_name(bad), "{bad}");
        }
    }

    /// What the workspace builds and tests is what a project gets, but for its name and where redress is.
    #[test]
    fn a_project_is_the_example_under_its_own_name() {
        for file in ["src/main.rs", "src/lib.rs", "src/store.rs", "src/tickets.rs", "tests/contract.rs"] {
            let text = TEMPLATE.get_file(file).and_then(|file| file.contents_utf8()).expect("the example has it");
            assert_eq!(own(Path::new(file), text, TEMPLATE_NAME, ""), text, "{file}");
            let renamed = own(Path::new(file), text, "my-desk", "");
            assert!(!renamed.contains(TEMPLATE_NAME) && !renamed.contains("my-desk::"), "{file}");
        }
        for (here, there) in RENAMED {
            assert_eq!(own_path(Path::new(here)), Path::new(there));
        }
        let manifest = TEMPLATE.get_file(TEMPLATE_MANIFEST).and_then(|file| file.contents_utf8()).expect("it has one");
        let own = own(Path::new("Cargo.toml"), manifest, "my-desk", "git = \"https://example.org/redress\"");
        let (theirs, ours): (toml::Table, toml::Table) =
            (toml::from_str(manifest).unwrap(), toml::from_str(&own).unwrap());
        assert_eq!(ours["package"]["name"].as_str(), Some("my-desk"));
        assert!(ours["package"].get("license").is_none() && ours.contains_key("workspace"));
        for table in ["dependencies", "dev-dependencies"] {
            let names = |of: &toml::Table| of[table].as_table().unwrap().keys().cloned().collect::<Vec<_>>();
            assert_eq!(names(&theirs), names(&ours));
            let redress = &ours[table]["redress"];
            assert_eq!(redress["git"].as_str(), Some("https://example.org/redress"));
            assert_eq!(redress["features"], theirs[table]["redress"]["features"]);
        }
    }
}
