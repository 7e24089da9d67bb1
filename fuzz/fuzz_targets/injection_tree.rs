//! Feeds arbitrary bytes to the body of the same name, which the property tests share.
#![no_main]

#[path = "../../crates/callsheet/tests/fuzz_bodies/mod.rs"]
#[expect(dead_code, reason = "a target runs one of the bodies")]
mod bodies;

libfuzzer_sys::fuzz_target!(|data: &[u8]| bodies::injection_tree(data));
