//! What is known about the process. Where the system does not tell, it is left out.

use std::{fs, time::SystemTime};

use super::{Family, MetricKind, MetricName, SampleValue};

const BUILD: MetricName = MetricName::new("redress_build_info", "The version that runs.");
const UPTIME: MetricName = MetricName::new("redress_uptime_seconds", "How long it has counted.");
const STARTED: MetricName = MetricName::new("process_start_time_seconds", "When it began to count, in Unix time.");
const MEMORY: MetricName = MetricName::new("process_resident_memory_bytes", "Memory that the process holds.");
const FILES: MetricName = MetricName::new("process_open_fds", "Files and sockets that the process holds open.");
const CPU: MetricName = MetricName::new("process_cpu_seconds_total", "Processor time that the process has used.");

pub(super) fn families(started: SystemTime) -> Vec<Family> {
    let mut build = Family::new(BUILD, MetricKind::Gauge);
    build.push([("version", env!("CARGO_PKG_VERSION"))], SampleValue::Level(1.0));
    let uptime = started.elapsed().unwrap_or_default().as_secs_f64();
    let since = started.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_secs_f64();
    let mut families = vec![
        build,
        Family::single(UPTIME, SampleValue::Level(uptime)),
        Family::single(STARTED, SampleValue::Level(since)),
    ];
    let more =
        [(MEMORY, memory(), MetricKind::Gauge), (FILES, files(), MetricKind::Gauge), (CPU, cpu(), MetricKind::Counter)];
    families.extend(more.into_iter().filter_map(|(name, read, sort)| {
        let mut family = Family::single(name, SampleValue::Level(read?));
        family.sort = sort;
        Some(family)
    }));
    families
}

fn memory() -> Option<f64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kilobytes: u32 = line.trim().strip_suffix(" kB")?.trim().parse().ok()?;
    Some(f64::from(kilobytes) * 1024.0)
}

fn files() -> Option<f64> {
    let open = fs::read_dir("/proc/self/fd").ok()?.count();
    u32::try_from(open).ok().map(f64::from)
}

/// User and system time are the 14th and 15th field of `/proc/self/stat`, in hundredths of a second on every
/// system that has the file. The second field may hold spaces and ends with the last parenthesis.
fn cpu() -> Option<f64> {
    let stat = fs::read_to_string("/proc/self/stat").ok()?;
    let (_, fields) = stat.rsplit_once(") ")?;
    let mut times = fields.split(' ').skip(11).map(|field| field.parse::<u32>().ok());
    let (user, system) = (times.next()??, times.next()??);
    Some((f64::from(user) + f64::from(system)) / 100.0)
}
