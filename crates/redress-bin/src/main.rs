//! The command `redress`: the commands of `redress-cli` over the built-in operations.

use std::process::ExitCode;

use redress_cli::{BuiltIn, NotServed, Program};
use redress_core::{Registry, consent_grant, consent_list, consent_revoke};
use redress_files::{Files, FilesOptions};

/// Calls allocate little, but often and on one thread what another frees, which this one is made for; and a static build
/// has none of its own that is fast.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    Program::built_in(registry).main()
}

/// The built-in operations: files over one folder, consent and discovery.
fn registry(wanted: &BuiltIn) -> Result<Registry, NotServed> {
    let options = FilesOptions { root: wanted.root.clone(), write: wanted.write };
    let files = Files::with_options(&options).map_err(|error| NotServed::Root(Box::new(error)))?;
    let builder = Registry::builder().deadline(wanted.deadline);
    let builder = files.add_to(builder).add(consent_grant()).add(consent_list()).add(consent_revoke());
    let builder = builder.add_all(redress_serve::discovery());
    let builder = wanted.operations.iter().cloned().fold(builder, |builder, operation| builder.add(operation));
    Ok(builder.build()?)
}
