//! SQL text to IR. (being built)
pub mod catalog;
pub mod command;
