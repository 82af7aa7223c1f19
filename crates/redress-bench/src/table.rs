//! A table of servers, each asked one thing: instructions, CPU time and memory.

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a bench tells its figures")]

use std::io;

use crate::{
    client::{self, Connection},
    process::{Program, Running},
};

/// How many connections ask at once when time is measured.
const CONNECTIONS: usize = 32;
/// How often the two sides take turns when time is measured.
const ROUNDS: usize = 6;

/// One row: a server, asked one thing.
pub struct Row {
    /// What is asked of whom.
    pub what: &'static str,
    /// The server.
    pub program: Program,
    /// The request, as bytes on the wire.
    pub request: Vec<u8>,
    /// What the answer holds, status line first: a figure for the wrong answer is worth nothing.
    pub wanted: (u16, &'static str, usize),
    /// The requests whose instructions are counted; none for what callgrind cannot count.
    pub counted: usize,
    /// The requests that each connection sends in one round.
    pub timed: usize,
    /// The row that this one is measured against, and how much of it is the goal.
    pub beside: Option<(&'static str, f64)>,
}

struct Figures {
    instructions: Option<f64>,
    cpu_us: f64,
    /// CPU time against that of the control, taken in turns with it.
    cpu_ratio: f64,
    resident_mb: f64,
}

/// Measures every row, and prints the table. The first row is the control.
pub fn measure(rows: &[Row]) -> io::Result<()> {
    for row in rows {
        check(row)?;
    }
    let Some(control) = rows.first() else { return Ok(()) };
    let mut measured = Vec::with_capacity(rows.len());
    for (place, row) in rows.iter().enumerate() {
        eprintln!("{}/{} {}", place + 1, rows.len(), row.what);
        let instructions = match row.counted {
            0 => None,
            counted => Some(row.program.instructions(&row.request, counted)?),
        };
        let (cpu_us, cpu_ratio, resident_mb) = timed(row, control)?;
        measured.push(Figures { instructions, cpu_us, cpu_ratio, resident_mb });
    }
    print(rows, &measured);
    Ok(())
}

fn check(row: &Row) -> io::Result<()> {
    let running = row.program.start()?;
    let answer = Connection::open(running.address)?.ask(&row.request)?;
    let (status, text, times) = row.wanted;
    if answer.status == status && answer.body.matches(text).count() == times {
        return Ok(());
    }
    Err(io::Error::other(format!("{}: wanted {status} with {text:?} {times} times, got {answer:?}", row.what)))
}

/// CPU time of one request in microseconds, the same as a ratio to the control's, and the
/// memory held at the end. The two servers take turns, so that both meet the same disturbances.
fn timed(row: &Row, control: &Row) -> io::Result<(f64, f64, f64)> {
    let (running, beside) = (row.program.start()?, control.program.start()?);
    let mut ratios = Vec::with_capacity(ROUNDS);
    let mut all = Vec::with_capacity(ROUNDS);
    for _ in 0..ROUNDS {
        let ours = cpu_us(&running, row)?;
        ratios.push(ours / cpu_us(&beside, control)?);
        all.push(ours);
    }
    Ok((median(&mut all), median(&mut ratios), running.resident_mb()?))
}

fn cpu_us(running: &Running, row: &Row) -> io::Result<f64> {
    let before = running.cpu_seconds()?;
    client::load(running.address, &row.request, CONNECTIONS, row.timed)?;
    Ok((running.cpu_seconds()? - before) * 1e6 / (CONNECTIONS * row.timed) as f64)
}

/// The one in the middle.
pub fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}

fn print(rows: &[Row], measured: &[Figures]) {
    println!(
        "\n| server and request | instructions | CPU µs | ratio | goal | CPU beside the first row | RSS MB |\n\
         |---|--:|--:|--:|--:|--:|--:|"
    );
    for (row, figures) in rows.iter().zip(measured) {
        let found = row.beside.and_then(|(name, goal)| {
            let other = measured.get(rows.iter().position(|other| other.what == name)?)?;
            // Where one of them cannot be counted, time has to do.
            let ratio = match (figures.instructions, other.instructions) {
                (Some(ours), Some(theirs)) => ours / theirs,
                _ => figures.cpu_us / other.cpu_us,
            };
            let digits = if ratio < 0.01 { 3 } else { 2 };
            Some((format!("{ratio:.digits$}"), format!("{goal:.digits$}")))
        });
        let (ratio, goal) = found.unwrap_or_default();
        let instructions = figures.instructions.map(|count| format!("{count:.0}")).unwrap_or_default();
        println!(
            "| {} | {instructions} | {:.1} | {ratio} | {goal} | {:.2} | {:.1} |",
            row.what, figures.cpu_us, figures.cpu_ratio, figures.resident_mb
        );
    }
}
