//! The suite that every implementation of the contract runs.
