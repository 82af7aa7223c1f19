//! Servers on their input and output: the instructions and the CPU time of one call, asked one
//! after the other and with 32 on the way.

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a bench tells its figures")]

use std::io::{self, BufRead as _, Write as _};

use crate::{
    process::{Piped, Program},
    table::median,
};

const HELLO: &str = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"redress-bench","version":"1"}}}"#;
const READY: &str = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
const ROUNDS: usize = 6;

/// Measures each server in turn, and prints the table. The first is what the others are beside.
pub fn measure(servers: &[(&str, Program)]) -> io::Result<()> {
    println!(
        "\n| stdio | instructions, one at a time | ratio | CPU µs, one at a time | CPU µs, 32 on the way |\n|---|--:|--:|--:|--:|"
    );
    let mut first = None;
    for (name, program) in servers {
        eprintln!("stdio: {name}");
        let instructions = (counted(program, 1_200)? - counted(program, 200)?) / 1_000.0;
        let beside = *first.get_or_insert(instructions);
        let (alone, crowded) = (cpu_us(program, 1)?, cpu_us(program, 32)?);
        println!("| {name} | {instructions:.0} | {:.2} | {alone:.1} | {crowded:.1} |", instructions / beside);
    }
    Ok(())
}

fn counted(program: &Program, calls: usize) -> io::Result<f64> {
    let (mut piped, out) = program.start_piped_counted()?;
    hello(&mut piped)?;
    ask(&mut piped, calls, 1)?;
    piped.end()?;
    crate::process::total(&out)
}

fn cpu_us(program: &Program, at_once: usize) -> io::Result<f64> {
    const CALLS: usize = 6_400;
    let mut piped = program.start_piped()?;
    hello(&mut piped)?;
    ask(&mut piped, CALLS, at_once)?;
    let mut all = Vec::with_capacity(ROUNDS);
    for _ in 0..ROUNDS {
        let before = piped.cpu_seconds()?;
        ask(&mut piped, CALLS, at_once)?;
        all.push((piped.cpu_seconds()? - before) * 1e6 / CALLS as f64);
    }
    Ok(median(&mut all))
}

fn hello(piped: &mut Piped) -> io::Result<()> {
    writeln!(piped.input, "{HELLO}")?;
    answer(piped)?;
    writeln!(piped.input, "{READY}")
}

/// Makes `calls` calls, `at_once` of them on the way at any time.
fn ask(piped: &mut Piped, calls: usize, at_once: usize) -> io::Result<()> {
    let message = |id: usize| {
        format!(
            r#"{{"jsonrpc":"2.0","id":{},"method":"tools/call","params":{{"name":"bench_greet","arguments":{{"name":"Ada Lovelace","times":3}}}}}}"#,
            id + 1
        )
    };
    for id in 0..at_once.min(calls) {
        writeln!(piped.input, "{}", message(id))?;
    }
    for id in at_once..calls + at_once {
        let answer = answer(piped)?;
        if !answer.contains("Hello Ada") {
            return Err(io::Error::other(format!("not the answer: {answer}")));
        }
        if id < calls {
            writeln!(piped.input, "{}", message(id))?;
        }
    }
    Ok(())
}

fn answer(piped: &mut Piped) -> io::Result<String> {
    let mut line = String::new();
    if piped.output.read_line(&mut line)? == 0 {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    Ok(line)
}
