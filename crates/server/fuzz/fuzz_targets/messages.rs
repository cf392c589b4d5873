//! Any bytes as a stream of messages, and as a packet: parsed or refused, never a panic, and never a
//! step that does not move on.

#![no_main]

use libfuzzer_sys::fuzz_target;
use quintet_server::protocol::frame::{self, Front, HEADER_BYTES};
use quintet_server::protocol::frontend::{self, Message};
use quintet_server::protocol::startup;

fuzz_target!(|bytes: &[u8]| {
    let _ = startup::parse(bytes);
    let mut rest = bytes;
    while let Ok(Front::Whole(frame)) = frame::front(rest) {
        assert!(frame.end >= HEADER_BYTES && frame.end <= rest.len());
        match frontend::parse(frame.kind, &rest[HEADER_BYTES..frame.end]) {
            Ok(Some(Message::Bind(bind))) => {
                assert_eq!(bind.values().count(), bind.count());
                for i in 0..bind.count() {
                    let _ = (bind.formats.of(i), bind.result_formats.of(i));
                }
            }
            Ok(Some(Message::Parse { types, .. })) => assert!(4 * types.iter().len() <= rest.len()),
            _ => {}
        }
        rest = &rest[frame.end..];
    }
});
