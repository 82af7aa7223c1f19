//! A PostgreSQL server for tests: on a folder of its own, by a socket in that folder, gone with the test.

use std::{
    fs,
    io::{BufRead as _, BufReader},
    os::unix::{fs::chown, process::CommandExt as _},
    path::Path,
    process::{Child, Command, Stdio},
    sync::{Arc, Mutex, Weak},
};

use sqlx::{Connection as _, PgConnection};
use tempfile::TempDir;

/// Starts the server, says so, and stops it when its standard input ends: with the test, however that ends.
const SCRIPT: &str = r#"
    PATH="$PATH:$(echo /usr/lib/postgresql/*/bin | tr ' ' ':')"
    initdb --pgdata "$1/data" --username postgres --auth trust --encoding UTF8 --no-locale --no-sync >"$1/log" 2>&1 &&
    pg_ctl --pgdata "$1/data" --log "$1/log" --wait --timeout 120 start >>"$1/log" \
        --options "-F -c listen_addresses= -c unix_socket_directories=$1 -c max_connections=100" &&
    echo ready || { cat "$1/log" >&2; exit 1; }
    cat >/dev/null
    pg_ctl --pgdata "$1/data" --mode immediate stop >/dev/null
"#;

/// One server for all tests that run at the same time in this process.
static RUNNING: Mutex<Weak<Server>> = Mutex::new(Weak::new());

#[derive(Debug)]
struct Server {
    keeper: Child,
    folder: TempDir,
}

impl Server {
    fn start() -> Server {
        let folder = tempfile::tempdir().unwrap();
        let mut shell = Command::new("sh");
        shell.args(["-c", SCRIPT, "sh"]).arg(folder.path()).stdin(Stdio::piped()).stdout(Stdio::piped());
        // PostgreSQL does not run as root; what root starts, somebody else runs.
        if fs::metadata("/proc/self").is_ok_and(|own| std::os::unix::fs::MetadataExt::uid(&own) == 0) {
            let (uid, gid) = somebody();
            chown(folder.path(), Some(uid), Some(gid)).unwrap();
            shell.uid(uid).gid(gid).current_dir("/");
        }
        let mut keeper = shell.spawn().unwrap();
        let mut said = String::new();
        BufReader::new(keeper.stdout.as_mut().unwrap()).read_line(&mut said).unwrap();
        assert_eq!(said, "ready\n", "PostgreSQL did not start; is it installed? (apt-get install postgresql)");
        Server { keeper, folder }
    }

    fn url(&self, database: &str) -> String {
        format!("postgres:///{database}?user=postgres&host={}", self.folder.path().display())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.keeper.stdin.take());
        drop(self.keeper.wait());
    }
}

/// The user `postgres`, or else `nobody`.
fn somebody() -> (u32, u32) {
    let users = fs::read_to_string(Path::new("/etc/passwd")).unwrap();
    let ids = |name: &str| {
        let line = users.lines().find(|line| line.split(':').next() == Some(name))?;
        let mut fields = line.split(':').skip(2);
        Some((fields.next()?.parse().ok()?, fields.next()?.parse().ok()?))
    };
    ids("postgres").or_else(|| ids("nobody")).expect("there is a user who is not root")
}

/// One test's share of the server: a database of its own.
#[derive(Debug)]
pub struct Postgres {
    server: Arc<Server>,
    database: String,
}

impl Postgres {
    pub fn start() -> Postgres {
        static COUNT: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(0);
        let mut running = RUNNING.lock().unwrap();
        let server = running.upgrade().unwrap_or_else(|| Arc::new(Server::start()));
        *running = Arc::downgrade(&server);
        let number = COUNT.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        Postgres { server, database: format!("test_{number}") }
    }

    /// Makes the database, and says where it is.
    pub async fn create(&self) -> String {
        let mut admin = PgConnection::connect(&self.server.url("postgres")).await.unwrap();
        let create = format!("CREATE DATABASE {}", self.database);
        sqlx::raw_sql(sqlx::AssertSqlSafe(create)).execute(&mut admin).await.unwrap();
        self.url()
    }

    /// Where the database is.
    pub fn url(&self) -> String {
        self.server.url(&self.database)
    }
}
