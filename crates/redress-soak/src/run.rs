//! The driver: every scenario in its turn, and a table at the end.

use std::{
    process::ExitCode,
    time::{Duration, Instant},
};

use clap::Parser;

use crate::{
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
