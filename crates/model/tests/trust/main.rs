//! What agents may do, and who says so: approvals, questions, rules, budgets and a project's policy.
//!
//! One binary, because `cargo xtask mutants` builds it anew for every change that it makes to that code.

mod approvals;
mod asking;
mod budgets;
mod policy;
mod project;
mod questions;
#[path = "../support/mod.rs"]
mod support;
