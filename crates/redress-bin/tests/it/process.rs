//! Runs the binary in a folder of its own.

use std::{
    fs,
    path::Path,
    process::{Command, Stdio},
};

use serde_json::Value;
use tempfile::TempDir;

/// A folder with two files, in which the command is run.
pub(crate) struct Place(TempDir);

/// What a run wrote, and its exit code.
pub(crate) struct Ran {
    pub(crate) out: String,
    pub(crate) err: String,
    pub(crate) code: i32,
}

impl Place {
    pub(crate) fn new() -> Place {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("notes.md"), "Say how it fails.\n").unwrap();
        Place(folder)
    }

    pub(crate) fn path(&self) -> &Path {
        self.0.path()
    }

    pub(crate) fn with(self, name: &str, text: &str) -> Place {
        fs::write(self.0.path().join(name), text).unwrap();
        self
    }

    /// The command, with nothing of the environment that could change what it does.
    pub(crate) fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_redress"));
        command.args(words).current_dir(self.path()).env_clear().stdin(Stdio::null());
        command
    }

    pub(crate) fn run(&self, words: &[&str]) -> Ran {
        Ran::of(&mut self.command(words))
    }
}

impl Ran {
    pub(crate) fn of(command: &mut Command) -> Ran {
        let output = command.output().unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        Ran { code: output.status.code().unwrap_or(-1), out: text(output.stdout), err: text(output.stderr) }
    }

    /// The one document on the output.
    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.out).unwrap_or_else(|_| panic!("{}{}", self.out, self.err))
    }

    /// All that a person sees.
    pub(crate) fn seen(&self) -> String {
        format!("{}{}exit {}", self.out, self.err, self.code)
    }
}
