//! What the manager of services is told. Without one, or where it did not ask, nothing is.

use sd_notify::NotifyState;

/// Says that the service takes calls, for the first time or again.
pub fn ready() {
    tell(&[NotifyState::Ready]);
}

/// Says that the service loads its configuration again; [`ready`] ends it.
pub fn reloading() {
    match NotifyState::monotonic_usec_now() {
        Ok(now) => tell(&[NotifyState::Reloading, now]),
        Err(error) => tracing::debug!(%error, "the clock cannot be read"),
    }
}

/// Says that the service goes down.
pub fn stopping() {
    tell(&[NotifyState::Stopping]);
}

fn tell(states: &[NotifyState<'_>]) {
    if let Err(error) = sd_notify::notify(states) {
        tracing::debug!(%error, "the manager of services cannot be told");
    }
}
