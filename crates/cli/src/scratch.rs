//! The directory that a measurement works in, and that is gone afterwards.
//!
//! Relies on: `tempfile` for a name that nobody has.  Promises: one that was made here is removed when it is dropped, and when
//! somebody ends the measurement by a signal (SIGINT, SIGTERM, SIGHUP), which then ends with code 130; one that the user named
//! is left as it is.  Does not: survive SIGKILL, whose leavings are called `quintet-bench-…`.

use crate::exit::{Code, Exit};
use std::io;
use std::path::{Path, PathBuf};
use tokio::signal::unix::{SignalKind, signal};

/// How often it is tried: who works in it makes files until the process has ended.
const ATTEMPTS: usize = 20;

/// See the module.
pub(crate) struct Scratch {
    path: PathBuf,
    _made: Option<tempfile::TempDir>,
}

impl Scratch {
    /// The directory to use. A temporary one is made inside the current directory and not where the
    /// system keeps temporary files, because that is often memory and would flatter every sync.
    ///
    /// # Errors
    /// If none can be made here, or signals cannot be watched.
    pub fn new(named: Option<&Path>) -> Result<Scratch, Exit> {
        if let Some(path) = named {
            return Ok(Scratch {
                path: path.to_path_buf(),
                _made: None,
            });
        }
        let failed = |error: io::Error| {
            Exit::from_error(Code::Data, "cannot make a temporary directory here", &error)
        };
        let made = tempfile::Builder::new()
            .prefix("quintet-bench-")
            .tempdir_in(".")
            .map_err(failed)?;
        let path = made.path().to_path_buf();
        watch(path.clone()).map_err(failed)?;
        Ok(Scratch {
            path,
            _made: Some(made),
        })
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

/// Removes the directory and ends the process when a signal says so.
fn watch(path: PathBuf) -> io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let mut signals = {
        let _inside = runtime.enter();
        (
            signal(SignalKind::interrupt())?,
            signal(SignalKind::terminate())?,
            signal(SignalKind::hangup())?,
        )
    };
    quintet_rt::threads::spawn("scratch", move || {
        runtime.block_on(async {
            tokio::select! {
                _ = signals.0.recv() => {}
                _ = signals.1.recv() => {}
                _ = signals.2.recv() => {}
            }
        });
        // What cannot be removed is left: there is nobody to be told any more.
        let _ = (0..ATTEMPTS).any(|_| std::fs::remove_dir_all(&path).is_ok());
        std::process::exit(Code::Interrupted as i32);
    });
    Ok(())
}
