//! Imports every OpenAPI document below a folder, and counts what came of it:
//! `cargo run --release -p redress-import --example corpus -- DIR [--reports] [--sizes]`.
#![expect(clippy::print_stdout, reason = "it is a program that tells what it counted")]

use std::{
    collections::BTreeMap,
    env, fs,
    path::{Path, PathBuf},
    time::Instant,
};

use redress_contract::Contract;
use redress_import::{Import, ReadOptions, Report, openapi};
use redress_wire::{
    http,
    mcp::{Era, OutputForm, Tool},
};

fn main() {
    let mut folders = Vec::new();
    let (mut reports, mut sizes) = (false, false);
    for argument in env::args().skip(1) {
        match argument.as_str() {
            "--reports" => reports = true,
            "--sizes" => sizes = true,
            folder => folders.push(PathBuf::from(folder)),
        }
    }
    let mut files = Vec::new();
    folders.iter().for_each(|folder| below(folder, &mut files));
    files.sort();
    let mut total = Total::default();
    for file in &files {
        one(file, reports, sizes, &mut total);
    }
    println!(
        "{} documents, {} imported, {} refused; {} operations imported, {} skipped; {} failures declared; {} warnings",
        files.len(),
        total.imported,
        files.len() - total.imported,
        total.operations,
        total.skipped,
        total.failures,
        total.warnings
    );
    for (rule, count) in total.rules {
        println!("  {rule}: {count}");
    }
}

#[derive(Default)]
struct Total {
    imported: usize,
    operations: usize,
    skipped: usize,
    failures: usize,
    warnings: usize,
    rules: BTreeMap<String, usize>,
}

fn below(folder: &Path, files: &mut Vec<PathBuf>) {
    if folder.is_file() {
        return files.push(folder.to_owned());
    }
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        let is_document = path.extension().is_some_and(|kind| kind == "json" || kind == "yaml" || kind == "yml");
        if path.is_dir() {
            below(&path, files);
        } else if is_document {
            files.push(path);
        }
    }
}

fn one(file: &Path, reports: bool, sizes: bool, total: &mut Total) {
    let Ok(bytes) = fs::read(file) else { return println!("{}: cannot be read", file.display()) };
    let begun = Instant::now();
    match openapi::read(&bytes, &ReadOptions::default()) {
        Ok(import) => {
            let took = begun.elapsed();
            let report = Report::of(&import);
            total.imported += 1;
            total.operations += report.operations.len();
            total.skipped += report.skipped.len();
            total.failures += report.failures;
            total.warnings += report.warnings.len();
            for warning in &report.warnings {
                *total.rules.entry(warning.rule.clone()).or_default() += 1;
            }
            if sizes {
                let name = file.file_name().unwrap_or_default().to_string_lossy();
                println!("| {name} | {} | {} | {} |", bytes.len(), tool_list(&import), own_document(&import));
            }
            if reports {
                println!("== {} ({} ms)\n{report}", file.display(), took.as_millis());
            }
        }
        Err(error) => {
            println!("{}: {error}", file.display());
        }
    }
}

/// How many bytes a list of all tools has.
fn tool_list(import: &Import) -> usize {
    let tools = import.operations.iter().map(|one| Tool::of(&one.operation, OutputForm::default()));
    tools.map(|tool| tool.text(Era::Modern).json().len() + 1).sum()
}

/// How many bytes our own document of the operations has.
fn own_document(import: &Import) -> usize {
    let contract = Contract::new(import.operations.iter().map(|one| one.operation.clone()));
    http::openapi(&contract, &http::Info::default()).to_string().len()
}
