//! Alert rules for Prometheus.

use redress_contract::Contract;

/// Alert rules for Prometheus, in YAML: what of this contract's calls somebody should look at.
pub fn alerts(contract: &Contract) -> String {
    let _ = contract;
    String::new()
}
