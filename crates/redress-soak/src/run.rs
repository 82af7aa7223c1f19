//! The driver: every scenario in its turn, and a table at the end.

use std::{
    env, io,
    path::{Path, PathBuf},
    process::ExitCode,
    time::{Duration, Instant},
};

use clap::Parser;

use crate::{
    disk,
    measure::ms,
    report::Report,
    scenarios::{ALL, Scenario},
    stage::Stage,
};

/// Below this many minutes, promises about time are measured and told, and only a generous bound fails.
const STRICT_FROM_MINUTES: f64 = 5.0;

/// Soaks redress in load and faults, on this machine alone.
#[derive(Debug, Parser)]
#[command(bin_name = "scripts/soak")]
struct Arguments {
    /// The driver; everything else is the server.
    #[arg(hide = true)]
    run: String,
    /// About how long it takes in all.
    #[arg(long, default_value_t = 10.0)]
    minutes: f64,
    /// What decides every plan.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Only these scenarios, with the whole time for them.
    #[arg(long, value_delimiter = ',')]
    only: Vec<String>,
    /// Where the servers keep their state [default: in memory, where there is /dev/shm; else where temporary files are].
    #[arg(long)]
    folder: Option<PathBuf>,
}

/// Where memory is a file system. A call is answered once its record is written, so a disk that is shared, and slow now
/// and then, would be what a soak measures there. Nothing in it needs more than a process can lose.
const MEMORY: &str = "/dev/shm";

impl Arguments {
    fn folder(&self) -> PathBuf {
        let memory = || Some(PathBuf::from(MEMORY)).filter(|memory| memory.is_dir());
        self.folder.clone().or_else(memory).unwrap_or_else(env::temp_dir)
    }
}

/// Lets every server keep its state in `folder`, and tells how long it takes there to write something for good.
fn settle(folder: &Path) -> io::Result<String> {
    let written = disk::syncs(folder)?;
    // Only the first to choose has a say, and nobody chose before.
    let _ = tempfile::env::override_temp_dir(folder);
    let (p50, p99, max) = (written.p50(), written.p99(), written.per_mille(1000));
    Ok(format!(
        "state in {}, where fdatasync takes {} (p99 {}, at most {})",
        folder.display(),
        ms(p50),
        ms(p99),
        ms(max)
    ))
}

#[expect(clippy::print_stdout, reason = "a soak tells what it found")]
pub(crate) fn main() -> ExitCode {
    let arguments = Arguments::parse();
    if let Some(unknown) = arguments.only.iter().find(|name| ALL.iter().all(|scenario| scenario.name != **name)) {
        let known: Vec<&str> = ALL.iter().map(|scenario| scenario.name).collect();
        println!("there is no scenario `{unknown}`; known: {}", known.join(", "));
        return ExitCode::from(2);
    }
    let chosen: Vec<&Scenario> = ALL
        .iter()
        .filter(|scenario| arguments.only.is_empty() || arguments.only.iter().any(|name| name == scenario.name))
        .collect();
    let shares: u32 = chosen.iter().map(|scenario| scenario.share).sum();
    let whole = Duration::from_secs_f64(arguments.minutes.clamp(0.1, 24.0 * 60.0) * 60.0);
    println!("seed {}, {} minutes, {} scenarios", arguments.seed, arguments.minutes, chosen.len());
    match settle(&arguments.folder()) {
        Ok(place) => println!("{place}"),
        Err(error) => {
            println!("nothing can be written in {}: {error}", arguments.folder().display());
            return ExitCode::from(2);
        }
    }
    let mut reports = Vec::new();
    for scenario in chosen {
        let stage = Stage {
            name: scenario.name,
            seed: arguments.seed,
            time: whole * scenario.share / shares,
            strict: arguments.minutes >= STRICT_FROM_MINUTES,
        };
        let since = Instant::now();
        let report = soaked(scenario, stage);
        println!("{:>10}  {} ({:.0} s)", scenario.name, report.result(), since.elapsed().as_secs_f64());
        reports.push((scenario, report));
    }
    println!("\n{}", table(&reports));
    let broken: Vec<&(&Scenario, Report)> = reports.iter().filter(|(_, report)| report.is_broken()).collect();
    for (scenario, report) in &broken {
        println!("\n{} is broken: {}", scenario.name, scenario.promise);
        report.broken_lines().for_each(|line| println!("  - {line}"));
    }
    if broken.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Runs one scenario, in a runtime of its own: what one leaves behind is no load for the next.
fn soaked(scenario: &Scenario, stage: Stage) -> Report {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    let ran = runtime.and_then(|runtime| runtime.block_on((scenario.run)(stage)));
    ran.unwrap_or_else(|error| {
        let mut report = Report::default();
        report.broken(format!("it could not go on: {error}"));
        report
    })
}

fn table(reports: &[(&Scenario, Report)]) -> String {
    let mut lines = vec!["| scenario | promise | figures | result |".to_owned(), "|---|---|---|---|".to_owned()];
    lines.extend(reports.iter().map(|(scenario, report)| {
        format!("| {} | {} | {} | {} |", scenario.name, scenario.promise, report.figures(), report.result())
    }));
    lines.join("\n")
}
