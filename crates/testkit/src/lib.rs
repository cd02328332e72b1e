//! What tests of several crates share. Nothing here is part of the product.
//!
//! - [`scripted_model`]: a model server on loopback that does what a prompt's words say, for real agents.

pub mod scripted_model;

pub use scripted_model::ScriptedModel;
