//! The code of `docs/files.md`.

#[test]
fn the_operations_are_added_to_a_registry() -> Result<(), Box<dyn std::error::Error>> {
    use redress::{Registry, consent_grant};
    use redress_files::{Files, FilesOptions};

    let folder = tempfile::tempdir()?;
    let workspace = folder.path();
    let looking = Files::open(workspace)?;
    let changing = Files::with_options(&FilesOptions { root: workspace.into(), write: true })?;
    let registry = changing.add_to(Registry::builder().add(consent_grant())).build()?;
    assert!(registry.operation("files.write").is_some());
    assert!(looking.add_to(Registry::builder()).build()?.operation("files.write").is_none());
    Ok(())
}
