//! What redress holds under load and faults: real processes, real sockets, one machine.
//!
//! One binary with two sides. `redress-soak run` is the driver: it starts servers, is their clients, and holds what
//! they recorded against what clients saw; `redress-soak abuse` is the one client that runs in a process of its own. Every other command is that of `redress::main` over operations that are made
//! to be soaked; `redress-soak serve` is the server that the driver starts.
//!
//! Why so: docs/decisions/0032-the-soak-is-a-client-and-a-server.md.
//!
//! **Invariant:** it connects to 127.0.0.1 and to nothing else, everything that it does is bounded in number and
//! time, and the same seed gives the same plan.

mod abuse;
mod agree;
mod client;
mod disk;
mod ending;
mod home;
mod hostile;
mod ledger;
mod load;
mod measure;
mod operations;
mod plan;
mod raw;
mod records;
mod report;
mod run;
mod scenarios;
mod server;
mod stage;
mod watchdog;

use std::{env, path::PathBuf, process::ExitCode};

/// As the command `redress` has it.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    match env::args().nth(1).as_deref() {
        Some("run") => return run::main(),
        Some("abuse") => return abuse::main(),
        _ => {}
    }
    // Who starts the server by hand counts no effects, and finds no file of them in the folder where that was done.
    let scratch = tempfile::tempdir().expect("the machine has a folder for temporary files");
    let effects = env::var_os(home::EFFECTS).map_or_else(|| scratch.path().join("effects"), PathBuf::from);
    let effects = operations::Effects::open(&effects).expect("the driver names a file that can be written");
    redress::main(operations::registry(effects).expect("the declarations are sound"))
}
