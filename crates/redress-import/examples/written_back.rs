//! Reads an OpenAPI document and writes what `to_openapi` gives back: `written_back DOCUMENT > DOCUMENT.json`. What the two
//! say is compared by `scripts/openapi-roundtrip`.

use std::{
    env,
    error::Error,
    fs,
    io::{self, Write as _},
};

use redress_import::{ReadOptions, openapi};

fn main() -> Result<(), Box<dyn Error>> {
    let path = env::args().nth(1).ok_or("written_back DOCUMENT")?;
    let import = openapi::read(&fs::read(path)?, &ReadOptions::default())?;
    io::stdout().write_all(&openapi::to_openapi(&import).to_json())?;
    Ok(())
}
