//! `growth run [PART]` sends every message of every case; `growth judge FOLDER [PART]` says how their counts grow.
//! `scripts/growth` puts the two together. PART chooses the cases whose names hold it.

use std::{env, path::Path, process::ExitCode};

use redress_fuzz::growth;

#[expect(clippy::print_stderr, reason = "what is wrong is for who runs it")]
fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let judged = match arguments.as_slice() {
        ["run", only @ ..] => {
            growth::run(only.first().copied());
            Ok(Vec::new())
        }
        ["judge", folder, only @ ..] => growth::judge(Path::new(folder), only.first().copied()),
        _ => Err("growth run [PART], or growth judge FOLDER [PART]".to_owned()),
    };
    match judged {
        Ok(failed) if failed.is_empty() => ExitCode::SUCCESS,
        Ok(failed) => {
            eprintln!("\nmore than linear:\n  {}", failed.join("\n  "));
            ExitCode::FAILURE
        }
        Err(why) => {
            eprintln!("{why}");
            ExitCode::FAILURE
        }
    }
}
