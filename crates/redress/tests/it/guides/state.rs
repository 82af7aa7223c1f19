//! The code of `docs/state.md`.
#![cfg(feature = "state")]

use redress::Registry;

#[tokio::test]
async fn what_lasts_is_fitted_around_a_registry() -> Result<(), Box<dyn std::error::Error>> {
    use redress::Fittings;
    use redress::state::{State, StateOptions};

    let (folder, registry) = (tempfile::tempdir()?, Registry::builder().build()?);
    let folder = folder.path().join("state");
    let state = State::open(StateOptions::new(&folder)).await?;
    let registry = registry.fitted(
        Fittings::new().consent(state.consents()).idempotency(state.keys()).audit(state.audit()).quotas(state.quotas()),
    );
    assert!(registry.is_ready());
    // … serve; then, when the last call has ended:
    registry.settled().await;
    state.close().await?;
    Ok(())
}
