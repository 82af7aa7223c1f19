//! `import`: reading OpenAPI documents and the first list of their tools, beside FastMCP and rmcp-openapi.
//!
//! Every side is a process that reads one document and speaks MCP over its input and output. Its CPU time and the most
//! memory it held are taken when the whole list has come. What a process needs for a document without operations is
//! measured as well and taken off the time, so that no language pays here for how it starts.

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a bench tells its figures")]

use std::{
    fs,
    io::{self, BufRead as _, Write as _},
    path::Path,
    time::Instant,
};

use crate::{
    client::{Connection, post},
    documents::{self, KeptDocument},
    peers,
    process::Program,
    scripted,
    table::median,
};

const HELLO: &str = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"redress-bench","version":"1"}}}"#;
const READY: &str = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
const LIST: &str = r#"{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{}}"#;
const EMPTY: &str = r#"{"openapi":"3.1.0","info":{"title":"Nothing","version":"1"},"servers":[{"url":"http://127.0.0.1:9"}],"paths":{}}"#;
/// How often what is compiled is run; the least counts. What takes a minute is run once.
const RUNS: usize = 5;

/// What one process did with one document.
#[derive(Clone, Copy)]
struct Listed {
    tools: usize,
    bytes: usize,
    cpu_ms: f64,
    peak_mb: f64,
}

/// Measures the documents of these names, or all, and prints the tables.
pub fn run(names: &[&str]) -> io::Result<()> {
    let folder = tempfile::tempdir()?;
    let mut documents = documents::unpack(folder.path())?;
    let rmcp = peers::build_openapi()?;
    let scripts = scripted::install()?;
    let ours = std::env::current_exe()?;
    let ours = |document: &Path| Program {
        path: ours.clone(),
        arguments: vec!["document".to_owned(), document.display().to_string()],
    };
    let rmcp = |document: &Path| Program { path: rmcp.clone(), arguments: vec![document.display().to_string()] };
    let empty = folder.path().join("empty.json");
    fs::write(&empty, EMPTY)?;
    let (ours_empty, fastmcp_empty) = (least(&ours(&empty), RUNS)?, least(&scripts.fastmcp_of(&empty), 3)?);
    let rmcp_empty = least(&rmcp(&empty), RUNS)?;
    println!("\n| process without operations | CPU ms | peak RSS MB |\n|---|--:|--:|");
    for (name, listed) in [("redress", ours_empty), ("FastMCP", fastmcp_empty), ("rmcp-openapi", rmcp_empty)] {
        println!("| {name} | {} | {} |", told(listed, |one| one.cpu_ms), told(listed, |one| one.peak_mb));
    }
    if !names.is_empty() {
        documents.retain(|document| names.contains(&document.name.as_str()));
    }
    print_head();
    for document in &documents {
        eprintln!("{}", document.name);
        let from_yaml = match document.json == document.original {
            true => None,
            false => least(&ours(&document.original), RUNS)?,
        };
        let sides = [
            (least(&ours(&document.json), RUNS)?, ours_empty),
            (least(&scripts.fastmcp_of(&document.json), 1)?, fastmcp_empty),
            (least(&rmcp(&document.json), RUNS)?, rmcp_empty),
        ];
        print_row(document, sides, from_yaml, ours_empty);
    }
    if names.is_empty() {
        all_together(folder.path())?;
    }
    Ok(())
}

/// The least that `program` needed in so many runs; nothing where it refuses the document.
fn least(program: &Program, runs: usize) -> io::Result<Option<Listed>> {
    let mut least: Option<Listed> = None;
    for _ in 0..runs {
        let Some(listed) = listed(program)? else { return Ok(None) };
        least = Some(match least {
            Some(other) if other.cpu_ms <= listed.cpu_ms => other,
            Some(_) | None => listed,
        });
    }
    Ok(least)
}

fn listed(program: &Program) -> io::Result<Option<Listed>> {
    let mut piped = program.start_piped()?;
    let mut line = String::new();
    let mut ask = |message: &str, wants_answer: bool| -> io::Result<bool> {
        line.clear();
        // Who has refused the document reads nothing any more.
        if writeln!(piped.input, "{message}").is_err() {
            return Ok(false);
        }
        Ok(!wants_answer || piped.output.read_line(&mut line)? > 0)
    };
    if !(ask(HELLO, true)? && ask(READY, false)? && ask(LIST, true)?) {
        piped.end()?;
        return Ok(None);
    }
    let (cpu_ms, peak_mb) = (piped.cpu_seconds()? * 1e3, piped.peak_mb()?);
    piped.end()?;
    let tools = line.matches(r#""inputSchema":"#).count();
    Ok(Some(Listed { tools, bytes: line.trim_end().len(), cpu_ms, peak_mb }))
}

fn told(listed: Option<Listed>, figure: impl Fn(Listed) -> f64) -> String {
    listed.map_or_else(|| "refused".to_owned(), |listed| format!("{:.1}", figure(listed)))
}

fn print_head() {
    println!(
        "\n| document | bytes | tools | redress CPU ms | from YAML | peak MB | list bytes | FastMCP CPU ms | × | peak MB \
         | × | list bytes | rmcp-openapi CPU ms | × | peak MB | × | list bytes |\n\
         |---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|"
    );
}

/// Each side with what it needs for nothing.
type ImportSide = (Option<Listed>, Option<Listed>);

fn print_row(
    document: &KeptDocument,
    [ours, others @ ..]: [ImportSide; 3],
    from_yaml: Option<Listed>,
    empty: Option<Listed>,
) {
    let beyond = |(listed, empty): ImportSide| {
        let cpu_ms = listed?.cpu_ms - empty.map_or(0.0, |empty| empty.cpu_ms);
        Some(cpu_ms.max(0.1))
    };
    let shown = |figure: Option<f64>| figure.map(|figure| format!("{figure:.1}")).unwrap_or_default();
    let mut row = format!(
        "| {} | {} | {} | {} | {} | {} | {} |",
        document.name,
        document.bytes,
        ours.0.map_or(0, |listed| listed.tools),
        shown(beyond(ours)),
        shown(from_yaml.and_then(|listed| beyond((Some(listed), empty)))),
        shown(ours.0.map(|listed| listed.peak_mb)),
        ours.0.map_or(0, |listed| listed.bytes),
    );
    for other in others {
        let ratio = |theirs: Option<f64>, ours: Option<f64>| theirs.zip(ours).map(|(theirs, ours)| theirs / ours);
        let peak = |side: ImportSide| side.0.map(|listed| listed.peak_mb);
        match other.0 {
            None => row.push_str(" refused | | | | |"),
            Some(listed) => row.push_str(&format!(
                " {} | {} | {} | {} | {} |",
                shown(beyond(other)),
                shown(ratio(beyond(other), beyond(ours))),
                shown(peak(other)),
                shown(ratio(peak(other), peak(ours))),
                listed.bytes,
            )),
        }
    }
    println!("{row}");
}

/// All documents in one server: from the start of the process to the first call that is answered.
fn all_together(folder: &Path) -> io::Result<()> {
    let path = std::env::current_exe()?;
    let upstream = Program { path: path.clone(), arguments: vec!["upstream".to_owned()] }.start()?;
    let originals = folder.join("originals").display().to_string();
    let arguments = vec!["all-documents".to_owned(), originals, upstream.address.to_string()];
    let program = Program { path, arguments };
    let request = post("/ops/oai_3_0_petstore_expanded/pet/find_pets", "accept: application/json\r\n", "{}");
    let mut times = Vec::new();
    for _ in 0..RUNS {
        let since = Instant::now();
        let running = program.start()?;
        let answer = Connection::open(running.address)?.ask(&request)?;
        if answer.status != 200 {
            return Err(io::Error::other(format!("the first call was answered with {answer:?}")));
        }
        times.push((since.elapsed().as_secs_f64(), running.cpu_seconds()?, running.resident_mb()?));
    }
    let of = |figure: fn(&(f64, f64, f64)) -> f64| median(&mut times.iter().map(figure).collect::<Vec<_>>());
    println!(
        "\nall documents in one server, start to first answered call: {:.2} s, CPU {:.2} s, RSS {:.0} MB (goal 2 s)",
        of(|one| one.0),
        of(|one| one.1),
        of(|one| one.2)
    );
    Ok(())
}
