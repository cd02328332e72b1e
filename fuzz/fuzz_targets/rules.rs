//! A rule made of the first line, asked about the rest.
#![no_main]

libfuzzer_sys::fuzz_target!(|text: &str| throughline_fuzz::invariants::rules(text));
