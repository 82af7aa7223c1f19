//! A binary of your own: two operations, and every command that comes with them.
//!
//! `cargo run -p redress --features cli --example serve -- serve` serves them on all faces, with
//! OpenAPI at `/openapi.json`; `-- call clock.convert '{"hour":27}'` calls one from the shell.
use redress::{Failure, Outcome, Registry, data, operation};

#[data]
struct Hour {
    hour: u32,
}

#[derive(Debug, Failure)]
enum ConvertFailure {
    /// There is no such hour.
    #[failure(kind = validation, message = "a day has no hour {hour}", effect = none,
              recover(fix_input = "/hour", hint = "Give an hour from 0 to 23."))]
    NoSuchHour { hour: u32 },
}

/// Say an hour the way a clock with hands does.
#[operation(query, name = "clock.convert", access(anyone))]
async fn convert(input: Hour) -> Outcome<String, ConvertFailure> {
    match input.hour {
        hour @ 0..=11 => Ok(format!("{} in the morning", if hour == 0 { 12 } else { hour })),
        hour @ 12..=23 => Ok(format!("{} in the afternoon", if hour == 12 { 12 } else { hour - 12 })),
        hour => Err(ConvertFailure::NoSuchHour { hour }.into()),
    }
}

/// Say what a clock with hands cannot tell apart.
#[operation(query, name = "clock.twins", access(anyone))]
async fn twins(input: Hour) -> Outcome<[u32; 2], ConvertFailure> {
    match input.hour {
        hour @ 0..=23 => Ok([hour % 12, hour % 12 + 12]),
        hour => Err(ConvertFailure::NoSuchHour { hour }.into()),
    }
}

fn main() -> std::process::ExitCode {
    // The declarations are checked here, before anything is served: a recovery that leads nowhere
    // or an example that does not fit ends the program with what to write instead.
    redress::main!(Registry::builder().add(convert).add(twins).build())
}
