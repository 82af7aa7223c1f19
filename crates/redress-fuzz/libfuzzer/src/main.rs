//! One target under libFuzzer: the one that `REDRESS_FUZZ_TARGET` names. One binary for all, because linking it takes
//! longer than anything else about it.

#![no_main]

use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;

static TARGET: LazyLock<fn(&[u8])> = LazyLock::new(|| {
    let wanted = std::env::var("REDRESS_FUZZ_TARGET").unwrap_or_default();
    let found = redress_fuzz::TARGETS.iter().find(|(name, _)| *name == wanted);
    found.unwrap_or_else(|| panic!("REDRESS_FUZZ_TARGET names no target: `{wanted}`")).1
});

fuzz_target!(|data: &[u8]| TARGET(data));
