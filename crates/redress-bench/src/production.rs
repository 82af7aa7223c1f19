//! `production`: the HTTP face with what an operator turns on, beside the same with all of it off.

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a bench tells its figures")]

use std::{fs, io, path::Path, time::SystemTime};

use jsonwebtoken::{EncodingKey, Header};
use redress::{
    Layers, Registry,
    limits::{LimitOptions, Limits},
    telemetry::Metrics,
};
use redress_access::{AccessOptions, Authenticator, JwtOptions, KeySource};
use redress_state::{StateOptions, StateStore, Sync};
use serde_json::json;

use crate::{
    client::{self, Connection, post},
    ours,
    process::{Program, Running},
    table::median,
};

/// How many callers ask at once, where nothing else is said.
const USUAL: usize = 32;
/// The requests of one round, of all connections together.
const TIMED: usize = 16_000;
/// How often the sides take turns.
const ROUNDS: usize = 31;
const GREET: &str = r#"{"name":"Ada Lovelace","times":3}"#;
/// What all of it together may cost beside none of it.
const GOAL: f64 = 1.6;
/// The shared secret, in the folder of a server.
const SECRET: &str = "secret";

/// What is measured: how it is called, which parts are on, and how many callers ask at once. The first is what the
/// others are beside, with as many callers. One sync of the disk is for all who wait, so their number is the price of
/// the audit.
const SIDES: [(&str, &[&str], usize); 11] = [
    ("all off", &[], USUAL),
    ("JWT, cached", &["jwt"], USUAL),
    ("limits: rate, in flight, shedding", &["limits"], USUAL),
    ("metrics", &["metrics"], USUAL),
    ("audit in SQLite, sync normal", &["audit-normal"], USUAL),
    ("audit in SQLite, sync full", &["audit-full"], USUAL),
    ("all on but the audit", &["jwt", "limits", "metrics"], USUAL),
    ("all on, sync normal", &["jwt", "limits", "metrics", "audit-normal"], USUAL),
    ("all on, sync full", &["jwt", "limits", "metrics", "audit-full"], USUAL),
    ("8 callers, all on, sync full", &["jwt", "limits", "metrics", "audit-full"], 8),
    ("128 callers, all on, sync full", &["jwt", "limits", "metrics", "audit-full"], 128),
];

struct ProductionSide {
    what: &'static str,
    callers: usize,
    running: Running,
    request: Vec<u8>,
    cpu_us: Vec<f64>,
    ratios: Vec<f64>,
}

/// Measures every side and prints the table.
pub fn run() -> io::Result<()> {
    let folder = tempfile::tempdir()?;
    fs::write(folder.path().join(SECRET), "a secret of sixty-four bytes, which is as long as a digest is!!!")?;
    let mut sides = Vec::new();
    for (number, (what, parts, callers)) in SIDES.into_iter().enumerate() {
        sides.push(start(what, parts, callers, &folder.path().join(number.to_string()), folder.path())?);
    }
    // The first round warms up and counts for nothing.
    for round in 0..=ROUNDS {
        eprintln!("round {round} of {ROUNDS}");
        let Some((off, others)) = sides.split_first_mut() else { return Ok(()) };
        for side in others {
            // Just before each of them, so that both meet the same disturbances.
            let beside = cpu_us(off, side.callers)?;
            let cpu_us = cpu_us(side, side.callers)?;
            if round > 0 {
                if side.callers == off.callers {
                    off.cpu_us.push(beside);
                    off.ratios.push(1.0);
                }
                side.cpu_us.push(cpu_us);
                side.ratios.push(cpu_us / beside);
            }
        }
    }
    print(&mut sides)
}

fn start(
    what: &'static str,
    parts: &[&str],
    callers: usize,
    folder: &Path,
    common: &Path,
) -> io::Result<ProductionSide> {
    fs::create_dir(folder)?;
    fs::copy(common.join(SECRET), folder.join(SECRET))?;
    let mut arguments = vec!["production-server".to_owned(), folder.display().to_string()];
    arguments.extend(parts.iter().map(|part| (*part).to_owned()));
    let running = Program { path: std::env::current_exe()?, arguments }.start()?;
    let header =
        if parts.contains(&"jwt") { format!("authorization: Bearer {}\r\n", token(folder)?) } else { String::new() };
    let request = post("/ops/bench/greet", &format!("accept: application/json\r\n{header}"), GREET);
    let answer = Connection::open(running.address)?.ask(&request)?;
    if answer.status != 200 || !answer.body.contains("Hello Ada") {
        return Err(io::Error::other(format!("{what}: got {answer:?}")));
    }
    Ok(ProductionSide { what, callers, running, request, cpu_us: Vec::new(), ratios: Vec::new() })
}

/// A token as an issuer makes them, of the usual length.
fn token(folder: &Path) -> io::Result<String> {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(0, |since| since.as_secs());
    let claims = json!({
        "iss": "https://login.example", "aud": "https://api.example", "sub": "3f9d7c1e-ada", "scope": "bench:use",
        "iat": now, "nbf": now, "exp": now + 3600, "jti": "8b0f6a52-2f6e-4f6e-9d62-2f1f3f0a7f11",
    });
    let key = EncodingKey::from_secret(&fs::read(folder.join(SECRET))?);
    jsonwebtoken::encode(&Header::default(), &claims, &key).map_err(io::Error::other)
}

fn cpu_us(side: &ProductionSide, callers: usize) -> io::Result<f64> {
    let before = side.running.cpu_seconds()?;
    client::load(side.running.address, &side.request, callers, TIMED / callers)?;
    Ok((side.running.cpu_seconds()? - before) * 1e6 / TIMED as f64)
}

fn print(sides: &mut [ProductionSide]) -> io::Result<()> {
    println!("\n| what is on | CPU µs | beside all off | least and most of {ROUNDS} rounds | goal | RSS MB |");
    println!("|---|--:|--:|--:|--:|--:|");
    for side in sides {
        let (cpu_us, ratio) = (median(&mut side.cpu_us), median(&mut side.ratios));
        // The median has put them in order.
        let (least, most) =
            (side.ratios.first().copied().unwrap_or(f64::NAN), side.ratios.last().copied().unwrap_or(f64::NAN));
        let goal = if side.what.starts_with("all on, ") { format!("{GOAL:.2}") } else { String::new() };
        let resident_mb = side.running.resident_mb()?;
        println!("| {} | {cpu_us:.1} | {ratio:.2} | {least:.2} to {most:.2} | {goal} | {resident_mb:.1} |", side.what);
    }
    Ok(())
}

/// Serves with these parts on, keeping what it keeps in `folder`.
pub fn serve(folder: &Path, parts: &[&str]) -> io::Result<()> {
    ours::end_with_input();
    ours::runtime().block_on(async {
        let registry = ours::registry(10);
        let mut fittings = Layers::new();
        // It closes when it is dropped.
        let mut states = Vec::new();
        for part in parts {
            fittings = fit(fittings, part, folder, &registry, &mut states).await?;
        }
        ours::serve_all(registry.with_layers(fittings)).await;
        Ok(())
    })
}

async fn fit(
    fittings: Layers,
    part: &str,
    folder: &Path,
    registry: &Registry,
    states: &mut Vec<StateStore>,
) -> io::Result<Layers> {
    Ok(match part {
        "jwt" => {
            let mut jwt = JwtOptions::new(KeySource::SecretFile(folder.join(SECRET)));
            jwt.issuer = vec!["https://login.example".to_owned()];
            jwt.audience = vec!["https://api.example".to_owned()];
            let mut options = AccessOptions::default();
            options.jwt = Some(jwt);
            fittings.identity(Authenticator::open(options).map_err(io::Error::other)?)
        }
        "limits" => {
            let mut options = LimitOptions::default();
            options.rate = Some("1000000/s".parse().map_err(io::Error::other)?);
            options.in_flight = Some(1000);
            options.streams = Some(16);
            options.shed = true;
            fittings.limit(Limits::new(options).map_err(io::Error::other)?)
        }
        "metrics" => fittings.observer(Metrics::new(registry.contract())),
        "audit-normal" | "audit-full" => {
            let sync = if part == "audit-full" { Sync::Full } else { Sync::Normal };
            let options = StateOptions::new(folder.join("state")).sync(sync);
            let state = StateStore::open(options).await.map_err(io::Error::other)?;
            let audit = state.audit();
            states.push(state);
            fittings.audit(audit)
        }
        other => return Err(io::Error::other(format!("there is no part `{other}`"))),
    })
}
