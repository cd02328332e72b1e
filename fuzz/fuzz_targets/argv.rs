//! The parser of command lines.
#![no_main]

libfuzzer_sys::fuzz_target!(|text: &str| throughline_fuzz::invariants::argv(text));
