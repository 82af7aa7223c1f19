//! How long a disk takes to write something for good.

use std::{
    io::{self, Seek as _, Write as _},
    path::Path,
    time::{Duration, Instant},
};

use crate::measure::Latencies;

const WRITES: usize = 200;
const PAGE: [u8; 4096] = [0; 4096];
/// Between the writes, so that they meet what else happens on the disk.
const PAUSE: Duration = Duration::from_millis(5);

/// How long each of some writes of one page took, until the disk had it.
pub(crate) fn syncs(folder: &Path) -> io::Result<Latencies> {
    let mut file = tempfile::tempfile_in(folder)?;
    let mut latencies = Latencies::default();
    for _ in 0..WRITES {
        file.rewind()?;
        file.write_all(&PAGE)?;
        let since = Instant::now();
        file.sync_data()?;
        latencies.push(since.elapsed());
        std::thread::sleep(PAUSE);
    }
    Ok(latencies)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_write_is_measured_and_a_folder_that_is_not_there_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let latencies = syncs(folder.path()).unwrap();
        assert_eq!(latencies.len(), WRITES);
        assert!(latencies.p50() > Duration::ZERO);
        assert!(syncs(&folder.path().join("missing")).is_err());
    }
}
