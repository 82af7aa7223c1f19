//! The peers' servers: a package of their own, built when it is first needed.

use std::{
    io,
    path::{Path, PathBuf},
    process::Command,
};

/// Builds the peers' servers, and gives the executable that holds them.
pub fn build() -> io::Result<PathBuf> {
    package("peers", "redress-bench-peers")
}

/// Builds the server of rmcp-openapi, and gives its executable.
pub fn build_openapi() -> io::Result<PathBuf> {
    package("peers-openapi", "redress-bench-peers-openapi")
}

#[expect(clippy::print_stderr, reason = "the first time this takes minutes")]
fn package(folder: &str, name: &str) -> io::Result<PathBuf> {
    eprintln!("building the peers' servers (the first time this takes some minutes)");
    let package = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
    let target = package.join("../../../target").join(folder);
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let built = Command::new(cargo)
        .args(["build", "--release", "--locked", "--manifest-path"])
        .arg(package.join("Cargo.toml"))
        .arg("--target-dir")
        .arg(&target)
        .status()?;
    if !built.success() {
        return Err(io::Error::other("the peers' servers did not build"));
    }
    Ok(target.join("release").join(name))
}
