//! The pages of which every file is written and every command is run, in their order, in one shell.

use std::{
    fs,
    io::{BufRead as _, BufReader, Write as _},
    net::TcpListener,
    path::Path,
    process::{Command, Stdio},
};

use crate::process::Place;

/// What the guide does next.
#[derive(Debug)]
enum Step {
    /// A file is written: a block of which the first line is its name in a comment.
    File { name: String, text: String },
    /// A command is run, shows this and ends well, or as a comment behind it says: `# exit 1`.
    Command { line: String, shows: Vec<String> },
}

fn steps(guide: &str) -> Vec<Step> {
    let mut steps = Vec::new();
    let mut lines = guide.lines();
    while let Some(line) = lines.next() {
        let Some(kind) = line.strip_prefix("```") else { continue };
        let block: Vec<&str> = lines.by_ref().take_while(|line| *line != "```").collect();
        match kind {
            "toml" => {
                // A block without a name is an excerpt, not a file.
                if let Some(name) = block[0].strip_prefix("# ") {
                    steps.push(Step::File { name: name.to_owned(), text: block.join("\n") + "\n" });
                }
            }
            "console" => {
                for line in block {
                    match (line.strip_prefix("$ "), steps.last_mut()) {
                        (Some(line), _) => steps.push(Step::Command { line: line.to_owned(), shows: Vec::new() }),
                        (None, Some(Step::Command { shows, .. })) => shows.push(line.to_owned()),
                        (None, _) => panic!("`{line}` is shown by no command"),
                    }
                }
            }
            _ => {}
        }
    }
    steps
}

/// Whether `line` is as `pattern` says, in which `…` is anything.
fn fits(pattern: &str, line: &str) -> bool {
    let mut parts = pattern.split('…');
    let Some(mut rest) = parts.next().and_then(|start| line.strip_prefix(start)) else { return false };
    let parts: Vec<&str> = parts.collect();
    for (at, part) in parts.iter().enumerate() {
        if at + 1 == parts.len() {
            return rest.ends_with(part);
        }
        let Some(found) = rest.find(part) else { return false };
        rest = &rest[found + part.len()..];
    }
    rest.is_empty()
}

/// Whether `shown` is as the guide says; a line that is `…` alone is any number of lines.
fn shows(patterns: &[String], shown: &[String]) -> bool {
    match (patterns.split_first(), shown.split_first()) {
        (None, None) => true,
        (Some((pattern, rest)), _) if pattern == "…" => {
            (0..=shown.len()).any(|skipped| shows(rest, &shown[skipped..]))
        }
        (Some((pattern, patterns)), Some((line, shown))) => fits(pattern, line) && shows(patterns, shown),
        (Some(_), None) | (None, Some(_)) => false,
    }
}

/// Does what a page says; how many commands it has. Where `id` is on the page, the id of the token is meant that is in the
/// file of tokens by then.
fn follow(page: &str, id: Option<&str>) -> usize {
    let guide = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs").join(page);
    // The port of the guide may be taken where the test runs.
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port().to_string();
    let guide = fs::read_to_string(guide).unwrap().replace("7717", &port);
    let place = tempfile::tempdir().unwrap();
    let real = || {
        let text = fs::read_to_string(place.path().join("tokens.json")).ok()?;
        let tokens: serde_json::Value = serde_json::from_str(&text).ok()?;
        tokens["tokens"][0]["id"].as_str().map(str::to_owned)
    };
    let binary = Path::new(env!("CARGO_BIN_EXE_redress")).parent().unwrap().display().to_string();
    let path = format!("{binary}:{}", std::env::var("PATH").unwrap());
    let mut shell = Command::new("bash");
    shell.current_dir(place.path()).env_clear().env("PATH", path).env("HOME", place.path());
    let mut shell = shell.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut input = shell.stdin.take().unwrap();
    let mut output = BufReader::new(shell.stdout.take().unwrap()).lines();
    // Whatever is wrong with a step, nothing of it outlives the test.
    writeln!(input, "exec 2>&1; trap 'kill $(jobs -p) 2>/dev/null; wait' EXIT").unwrap();
    let mut commands = 0;
    let mut last = None;
    for step in steps(&guide) {
        let (mut line, mut expected) = match step {
            Step::File { name, text } => {
                if let Err(refused) = redress_cli::check_config(&text) {
                    panic!("{name} of {page}: {}", refused.says);
                }
                fs::write(place.path().join(name), text).unwrap();
                continue;
            }
            Step::Command { line, shows } => (line, shows),
        };
        commands += 1;
        last = real().or(last);
        if let (Some(id), Some(real)) = (id, &last) {
            line = line.replace(id, real);
        }
        writeln!(input, "{line}\necho \"|ended $?\"").unwrap();
        let mut shown = Vec::new();
        let code = loop {
            let line =
                output.next().unwrap_or_else(|| panic!("the shell ended at `{line}`:\n{}", shown.join("\n"))).unwrap();
            match line.split_once("|ended ") {
                Some((rest, code)) => {
                    shown.extend((!rest.is_empty()).then(|| rest.to_owned()));
                    break code.to_owned();
                }
                None => shown.push(line),
            }
        };
        last = real().or(last);
        if let (Some(id), Some(real)) = (id, &last) {
            expected.iter_mut().for_each(|line| *line = line.replace(id, real));
        }
        let ends = line.rsplit_once("# exit ").map_or("0", |(_, code)| code);
        assert_eq!(code, ends, "`{line}` shows\n{}", shown.join("\n"));
        assert!(
            shows(&expected, &shown),
            "`{line}` shows\n{}\nand the guide says\n{}",
            shown.join("\n"),
            expected.join("\n")
        );
    }
    drop(input);
    assert!(shell.wait().unwrap().code().is_some());
    commands
}

#[test]
fn the_guide_to_production_does_what_it_says() {
    assert!(follow("production.md", None) >= 20);
}

#[test]
fn the_page_about_access_does_what_it_says() {
    assert!(follow("access.md", Some("3f9c1d2e4b5a6978")) >= 4);
}

#[test]
fn the_page_about_telemetry_does_what_it_says() {
    assert!(follow("telemetry.md", None) >= 2);
}

/// The operations of `redress` that stand in backticks on a page.
fn named(page: &str) -> impl Iterator<Item = &str> {
    page.split('`').skip(1).step_by(2).filter(|word| {
        let built_in = ["files.", "services.", "errors.", "consent."].iter().find_map(|of| word.strip_prefix(of));
        built_in.is_some_and(|name| !name.is_empty() && name.chars().all(|c| c.is_ascii_lowercase() || c == '_'))
    })
}

#[test]
fn every_operation_that_a_page_names_is_there() {
    // `services.extensions` is only where extensions are, and the others are names of files.
    const NO_OPERATIONS: [&str; 7] =
        ["services.extensions", "files.rs", "consent.rs", "errors.rs", "services.rs", "files.md", "consent.md"];
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
    let mut pages: Vec<_> = fs::read_dir(&docs).unwrap().map(|entry| entry.unwrap().path()).collect();
    pages.push(docs.join("../README.md"));
    pages.retain(|path| path.extension().is_some_and(|extension| extension == "md"));
    let text: String = pages.iter().map(|path| fs::read_to_string(path).unwrap()).collect();
    let mut names: Vec<&str> = named(&text).filter(|name| !NO_OPERATIONS.contains(name)).collect();
    names.sort_unstable();
    names.dedup();
    assert!(names.len() > 12, "{names:?}");
    let place = Place::new();
    // An input that nothing takes, so that nothing is done and no stream is opened.
    let wrong = r#"{"of_nobody":1}"#;
    let code = |name: &str| place.run(&["call", name, wrong, "--json", "--write"]).json()["code"].clone();
    for name in names {
        // Whoever may not make the call, or not with this input, is not told that there is none.
        assert_ne!(code(name), "NOT_FOUND", "the pages name `{name}`");
    }
    assert_eq!(code("files.reed"), "NOT_FOUND");
}

#[test]
fn what_is_shown_is_compared_line_by_line_with_gaps() {
    let lines = |text: &str| text.lines().map(str::to_owned).collect::<Vec<_>>();
    assert!(fits("a…c", "abc") && fits("…", "x") && fits("a", "a") && fits("a…b…", "a1b2") && !fits("a…c", "abd"));
    assert!(shows(&lines("a\n…\nd"), &lines("a\nb\nc\nd")) && shows(&lines("a\n…"), &lines("a")));
    assert!(!shows(&lines("a\nb"), &lines("a")) && !shows(&lines("a"), &lines("a\nb")));
}
