//! What tests of several crates share. Nothing here is part of the product.
//!
//! - [`scripted_model`]: a model server on loopback that does what a prompt's words say, for real agents.
//! - [`telegram`]: a Bot API on loopback that keeps the platform's rules.
//! - [`feishu`]: Feishu's open platform on loopback, which the platform's own SDK is content with.
//! - [`fault`]: what can go wrong with a call to a platform.
//! - [`noise`]: documents that are almost right, by the thousand.

pub mod fault;
pub mod feishu;
mod loopback;
pub mod noise;
mod post;
pub mod scripted_model;
pub mod telegram;
mod watched;

pub use fault::Fault;
pub use post::Answered;
pub use scripted_model::ScriptedModel;
