//! What every start needs of the machine.

use std::{
    io,
    net::TcpListener,
    path::Path,
    time::{SystemTime, UNIX_EPOCH},
};

use redress_serve::Descriptors;

use super::DoctorCheck;
use crate::{
    config::{ListenSetting, ServeSettings},
    error::reason,
    layers,
    program::Setup,
    terminal::{screen::ConnectionsShown, shell},
};

/// Below this many watches, following a large folder ends early.
const ENOUGH_WATCHES: u64 = 65_536;
/// No build is older than this, so no right clock is: the start of 2025.
const OLDEST: u64 = 1_735_689_600;

pub(super) fn version(setup: &Setup) -> DoctorCheck {
    let (system, machine) = (std::env::consts::OS, std::env::consts::ARCH);
    DoctorCheck::ok("version", format!("{} {} on {system} {machine}", setup.program.name(), setup.program.version()))
}

/// Request ids and consents go by the clock.
pub(super) fn clock(now: SystemTime) -> DoctorCheck {
    match now.duration_since(UNIX_EPOCH) {
        Ok(since) if since.as_secs() >= OLDEST => DoctorCheck::ok("clock", "set"),
        Ok(_) | Err(_) => {
            DoctorCheck::warn("clock", "is years behind, so request ids and consents are wrong", "set the clock")
        }
    }
}

pub(super) fn folder(program: &str, settings: &ServeSettings) -> Vec<DoctorCheck> {
    let path = settings.root.display().to_string();
    let other = shell::line([program, "doctor", "--root", "DIR"]);
    if let Err(cause) = std::fs::read_dir(&settings.root) {
        return vec![DoctorCheck::fail("folder", format!("{path} cannot be read: {}", reason(&cause)), other)];
    }
    if !settings.write {
        return vec![DoctorCheck::ok("folder", format!("{path} can be read"))];
    }
    vec![match writable(&settings.root) {
        Ok(()) => DoctorCheck::ok("folder", format!("{path} can be read and written")),
        Err(cause) => DoctorCheck::fail("folder", format!("{path} cannot be written: {}", reason(&cause)), other),
    }]
}

/// How many files the system lets a user follow at once; nothing where it does not say.
pub(super) fn watches(limit: &Path) -> Option<DoctorCheck> {
    let limit: u64 = std::fs::read_to_string(limit).ok()?.trim().parse().ok()?;
    let says = format!("{limit} files can be followed at once");
    Some(if limit >= ENOUGH_WATCHES {
        DoctorCheck::ok("watches", says)
    } else {
        DoctorCheck::warn("watches", says, "sudo sysctl fs.inotify.max_user_watches=524288")
    })
}

/// How many connections there are file descriptors for.
pub(super) fn files(settings: &ServeSettings, descriptors: Option<Descriptors>) -> Option<DoctorCheck> {
    let (descriptors, wanted) = (descriptors?, layers::face_limits(settings));
    let held = ConnectionsShown { wanted, in_force: descriptors.hold(wanted), descriptors: Some(descriptors) };
    Some(match held.says() {
        None => {
            let (limit, connections) = (descriptors.limit(), wanted.connections);
            DoctorCheck::ok("files", format!("{limit} may be open, which is enough for {connections} connections"))
        }
        // One in ten is kept back.
        Some(says) => {
            let enough = wanted.connections.max(wanted.per_address.saturating_mul(2)).saturating_mul(10).div_ceil(9);
            let next = format!("ulimit -n {}", enough.max(wanted.connections.saturating_add(64)));
            DoctorCheck::warn("files", format!("there can be fewer connections than configured: {says}"), next)
        }
    })
}

/// Whether the place to listen is free.
pub(super) fn port(program: &str, listen: &ListenSetting) -> Option<DoctorCheck> {
    let address = match listen {
        ListenSetting::Tcp(address) => address,
        // A socket file is replaced or refused at the start, and systemd holds its own.
        ListenSetting::Unix(_) | ListenSetting::Systemd => return None,
    };
    Some(match TcpListener::bind(address) {
        Ok(_) => DoctorCheck::ok("port", format!("{address} is free")),
        Err(cause) if cause.kind() == io::ErrorKind::AddrInUse => {
            let next = shell::line([program, "serve", "--listen", "127.0.0.1:0"]);
            DoctorCheck::warn("port", format!("something already listens on {address}"), next)
        }
        Err(cause) => {
            let next = shell::line([program, "explain", "ADDRESS_UNUSABLE"]);
            DoctorCheck::fail("port", format!("nothing can listen on {address}: {}", reason(&cause)), next)
        }
    })
}

/// Whether this process may write in `folder`. Only an attempt tells: rights, read-only mounts and quotas all have a say.
pub(super) fn writable(folder: &Path) -> io::Result<()> {
    // A file without a name is seen by nobody who watches the folder.
    #[cfg(target_os = "linux")]
    {
        use rustix::{
            fs::{Mode, OFlags},
            io::Errno,
        };
        match rustix::fs::open(folder, OFlags::TMPFILE | OFlags::WRONLY | OFlags::CLOEXEC, Mode::RUSR | Mode::WUSR) {
            // Not every file system has them.
            Err(Errno::OPNOTSUPP | Errno::ISDIR | Errno::INVAL) => {}
            Ok(_) => return Ok(()),
            Err(error) => return Err(error.into()),
        }
    }
    let probe = folder.join(format!(".redress-doctor-{}", std::process::id()));
    std::fs::File::create_new(&probe).and_then(|_| std::fs::remove_file(&probe))
}

/// Whether this process may write to the end of the file at `path`, or make it.
pub(super) fn appendable(path: &Path) -> io::Result<()> {
    match std::fs::metadata(path) {
        // One that is no file, such as a pipe, would wait for its other end.
        Ok(about) if !about.is_file() && !about.is_dir() => Ok(()),
        Ok(_) => std::fs::OpenOptions::new().append(true).open(path).map(drop),
        Err(cause) if cause.kind() == io::ErrorKind::NotFound => {
            writable(path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new(".")))
        }
        Err(cause) => Err(cause),
    }
}

#[cfg(test)]
mod tests {
    use super::{super::Status, *};

    #[test]
    fn a_clock_that_was_never_set_is_told() {
        assert_eq!(clock(UNIX_EPOCH).status, Status::Warn);
        assert_eq!(clock(SystemTime::now()).status, Status::Ok);
    }

    #[test]
    fn a_low_limit_of_watches_is_told_with_what_raises_it() {
        let folder = tempfile::tempdir().unwrap();
        let limit = folder.path().join("limit");
        std::fs::write(&limit, "8192\n").unwrap();
        assert_eq!(watches(&limit).map(|check| check.status), Some(Status::Warn));
        std::fs::write(&limit, "524288\n").unwrap();
        assert_eq!(watches(&limit).map(|check| check.status), Some(Status::Ok));
        assert!(watches(&folder.path().join("missing")).is_none());
    }

    #[test]
    fn too_few_files_for_the_connections_are_told_with_how_many_are_enough() {
        let settings = ServeSettings::local(&crate::arguments::FolderArgs::default()).unwrap();
        let found = |limit| files(&settings, Some(Descriptors::of(limit))).unwrap();
        let few = found(1024);
        assert_eq!(few.status, Status::Warn);
        assert!(few.says.contains("922 at most, 461 from one address: 1024 files"), "{}", few.says);
        let next = few.next.unwrap();
        let enough = next.strip_prefix("ulimit -n ").unwrap().parse().unwrap();
        assert_eq!((found(enough).status, found(enough - 2).status), (Status::Ok, Status::Warn));
        assert!(files(&settings, None).is_none());
    }

    #[test]
    fn a_port_in_use_is_told() {
        let taken = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = taken.local_addr().unwrap().to_string();
        assert_eq!(port("redress", &address.parse().unwrap()).map(|check| check.status), Some(Status::Warn));
        assert_eq!(port("redress", &"nowhere".parse().unwrap()).map(|check| check.status), Some(Status::Fail));
    }
}
