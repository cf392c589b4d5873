//! Any bytes as a segment file: the reader answers with records or with damage, and does not panic,
//! loop, or take more memory than the file is long.
//!
//! The plain test `mutated_segments_are_read_or_refused` drives the same entry from valid images.
//! Run with `cargo +nightly fuzz run segment` in `crates/wal`; seed the corpus with segment files.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|image: &[u8]| {
    match quintet_wal::read_segment_image(image) {
        Ok(records) => {
            let bytes: usize = records.iter().map(|record| record.len()).sum();
            assert!(bytes <= image.len(), "more bytes read than there are");
        }
        Err(quintet_wal::Error::Damaged { .. }) => {}
        Err(error) => panic!("not what bytes can cause: {error}"),
    }
});
