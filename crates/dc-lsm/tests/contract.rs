//! The contract's suite on this implementation.
#![allow(clippy::unwrap_used)]

use quintet_dc::DataComponent;
use quintet_dc_lsm::{LsmConfig, LsmStore};
use std::sync::Arc;

quintet_dc::conformance_suite!(|| {
    let directory = tempfile::tempdir().unwrap();
    Box::new(move || {
        let config = LsmConfig::new(directory.path());
        Arc::new(LsmStore::open(&config).unwrap()) as Arc<dyn DataComponent>
    })
});
