//! What the fuzz targets hold to: the invariants of the model's own tests, and nothing of its own.

#[path = "../../crates/model/tests/invariants/mod.rs"]
pub mod invariants;
