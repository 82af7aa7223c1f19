//! The code of `docs/state.md`.
#![cfg(feature = "state")]

use redress::Registry;

#[tokio::test]
async fn what_lasts_is_fitted_around_a_registry() -> Result<(), Box<dyn std::error::Error>> {
    use redress::Layers;
    use redress::state::{StateOptions, StateStore};

    let (folder, registry) = (tempfile::tempdir()?, Registry::builder().build()?);
    let folder = folder.path().join("state");
    let state = StateStore::open(StateOptions::new(&folder)).await?;
    let registry = registry.with_layers(
        Layers::new().consent(state.consents()).idempotency(state.keys()).audit(state.audit()).quotas(state.quotas()),
    );
    assert!(registry.is_ready());
    // … serve; then, when the last call has ended:
    registry.settled().await;
    state.close().await?;
    Ok(())
}
