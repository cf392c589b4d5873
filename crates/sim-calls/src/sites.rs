//! x
use crate::feed::Feed;
use crate::run::{Mistake, Outcome};
use crate::settings::Settings;
pub(crate) fn run(
    _settings: &Settings,
    _feed: Feed,
    _mistake: Option<Mistake>,
    _trace: bool,
    _progress: &mut dyn FnMut(u64),
) -> Outcome {
    unimplemented!()
}
