//! The display escaper.
#![no_main]

libfuzzer_sys::fuzz_target!(|text: &str| throughline_fuzz::invariants::shown(text));
