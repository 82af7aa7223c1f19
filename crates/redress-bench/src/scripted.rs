//! The peers that are scripts: FastMCP and the TypeScript SDK, installed when first needed.

use std::{
    io,
    path::{Path, PathBuf},
    process::Command,
};

use crate::process::Program;

/// Where the scripts and what they need are.
pub struct Scripts {
    sources: PathBuf,
    tools: PathBuf,
}

/// Installs what the scripts need: a Python environment and Node packages, at fixed versions.
#[expect(clippy::print_stderr, reason = "the first time this takes minutes")]
pub fn install() -> io::Result<Scripts> {
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("peers/scripts");
    let tools = sources.join("../../../../target/tools/bench");
    std::fs::create_dir_all(&tools)?;
    let tools = tools.canonicalize()?;
    let scripts = Scripts { sources, tools };
    let ready = scripts.tools.join("ready");
    if !ready.exists() {
        eprintln!("installing FastMCP and the TypeScript SDK");
        run(Command::new("python3").args(["-m", "venv"]).arg(scripts.tools.join("python")))?;
        run(Command::new(scripts.tools.join("python/bin/pip"))
            .args(["install", "--quiet", "--requirement"])
            .arg(scripts.sources.join("requirements.txt")))?;
        for file in ["package.json", "server.mjs"] {
            std::fs::copy(scripts.sources.join(file), scripts.tools.join(file))?;
        }
        run(Command::new("npm")
            .args(["install", "--no-audit", "--no-fund", "--silent", "--prefix"])
            .arg(&scripts.tools))?;
        std::fs::write(ready, "")?;
    }
    Ok(scripts)
}

fn run(command: &mut Command) -> io::Result<()> {
    let status = command.status()?;
    if status.success() { Ok(()) } else { Err(io::Error::other(format!("{command:?} ended with {status}"))) }
}

impl Scripts {
    /// FastMCP with so many tools.
    pub fn fastmcp(&self, tools: usize) -> Program {
        let script = self.sources.join("server.py").display().to_string();
        Program { path: self.tools.join("python/bin/python"), arguments: vec![script, tools.to_string()] }
    }

    /// FastMCP with the operations of this document, over its input and output.
    pub fn fastmcp_of(&self, document: &Path) -> Program {
        let script = self.sources.join("openapi.py").display().to_string();
        Program { path: self.tools.join("python/bin/python"), arguments: vec![script, document.display().to_string()] }
    }

    /// The TypeScript SDK with so many tools.
    pub fn typescript(&self, tools: usize) -> Program {
        let script = self.tools.join("server.mjs").display().to_string();
        Program { path: self.tools.join("node_modules/.bin/node"), arguments: vec![script, tools.to_string()] }
    }
}
