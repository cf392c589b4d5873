//! Frames out of a backup's directory.
//!
//! Relies on: `rt::Disk`.  Promises: every byte that the manifest lists is checked, each frame before it is given
//! out, each file when its last one has been; what differs is named with its file.  Does not: write.

use super::Error;
use super::frame::{self, Body, HEAD_BYTES};
use super::manifest::Manifest;
use super::writer::MANIFEST;
use bytes::BytesMut;
use quintet_base::SpaceId;
use quintet_rt::disk::read_file;
use quintet_rt::{Disk, DiskFile, OpenMode};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Reads what the directory says of itself.
pub(super) fn manifest(disk: &dyn Disk, directory: &Path) -> Result<Manifest, Error> {
    let path = directory.join(MANIFEST);
    let bytes = match read_file(disk, &path) {
        Ok(bytes) => bytes,
        Err(error) if error.is_not_found() => {
            let what = "there is no such file".into();
            return Err(Error::Format { path, what });
        }
        Err(error) => return Err(error.into()),
    };
    let text = String::from_utf8_lossy(&bytes);
    Manifest::parse(&text).map_err(|what| Error::Format { path, what })
}

/// The frames of all files, in order.
pub(super) struct Frames<'a> {
    disk: &'a dyn Disk,
    directory: &'a Path,
    manifest: &'a Manifest,
    /// Of the manifest's files; the next one to be opened.
    next_file: usize,
    open: Option<Open>,
    /// Read, and not taken.
    ahead: Option<Body>,
    frames: u64,
    records: u64,
    bytes: u64,
}

struct Open {
    path: PathBuf,
    file: Arc<dyn DiskFile>,
    at: u64,
    crc: u32,
}

impl<'a> Frames<'a> {
    pub fn new(disk: &'a dyn Disk, directory: &'a Path, manifest: &'a Manifest) -> Frames<'a> {
        Frames {
            disk,
            directory,
            manifest,
            next_file: 0,
            open: None,
            ahead: None,
            frames: 0,
            records: 0,
            bytes: 0,
        }
    }

    /// Bytes read so far.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The space of the next frame; `None` when all of them have been taken.
    pub fn next_space(&mut self) -> Result<Option<SpaceId>, Error> {
        if self.ahead.is_none() {
            self.ahead = self.read()?;
        }
        Ok(self.ahead.as_ref().map(|body| body.space))
    }

    /// Takes the frame that was looked at.
    pub fn take(&mut self) -> Option<Body> {
        self.ahead.take()
    }

    fn read(&mut self) -> Result<Option<Body>, Error> {
        loop {
            let Some(open) = &mut self.open else {
                let Some(listed) = self.manifest.files.get(self.next_file) else {
                    return self.end();
                };
                let path = self.directory.join(&listed.name);
                let file = match self.disk.open(&path, OpenMode::Read) {
                    Ok(file) => file,
                    Err(error) if error.is_not_found() => {
                        let what = "the manifest lists it, and it is not there".into();
                        return Err(Error::Damaged { path, what });
                    }
                    Err(error) => return Err(error.into()),
                };
                if file.len()? != listed.bytes {
                    let what = format!("{} bytes instead of {}", file.len()?, listed.bytes);
                    return Err(Error::Damaged { path, what });
                }
                self.open = Some(Open {
                    path,
                    file,
                    at: 0,
                    crc: 0,
                });
                continue;
            };
            let listed = &self.manifest.files[self.next_file];
            if open.at == listed.bytes {
                if open.crc != listed.crc {
                    return Err(open.damaged("the file's checksum does not fit"));
                }
                self.open = None;
                self.next_file += 1;
                continue;
            }
            let body = open.frame(listed.bytes)?;
            self.frames += 1;
            self.records += u64::from(body.count);
            self.bytes = self.bytes.saturating_add(HEAD_BYTES as u64 + body.bytes());
            return Ok(Some(body));
        }
    }

    fn end(&self) -> Result<Option<Body>, Error> {
        let totals = self.manifest.totals;
        if (self.records, self.frames, self.bytes) != (totals.records, totals.frames, totals.bytes)
        {
            let what = format!(
                "{} records in {} frames instead of {} in {}",
                self.records, self.frames, totals.records, totals.frames
            );
            let path = self.directory.to_path_buf();
            return Err(Error::Damaged { path, what });
        }
        Ok(None)
    }
}

impl Open {
    fn damaged(&self, what: &str) -> Error {
        Error::Damaged {
            path: self.path.clone(),
            what: format!("{what} (at byte {})", self.at),
        }
    }

    fn frame(&mut self, end: u64) -> Result<Body, Error> {
        let mut head = [0; HEAD_BYTES];
        let got = self.file.read_at(&mut head, self.at)?;
        let parsed = frame::head(head).filter(|_| got == HEAD_BYTES);
        let parsed = parsed.filter(|(length, _)| {
            let frame = (HEAD_BYTES + length) as u64;
            self.at.checked_add(frame).is_some_and(|to| to <= end)
        });
        let Some((length, crc)) = parsed else {
            return Err(self.damaged("no frame begins here"));
        };
        let mut body = BytesMut::zeroed(length);
        let got = self.file.read_at(&mut body, self.at + HEAD_BYTES as u64)?;
        let body = body.freeze();
        let Some(parsed) = Body::parse(body.clone(), crc).filter(|_| got == length) else {
            return Err(self.damaged("a frame's checksum does not fit"));
        };
        self.crc = crc32c::crc32c_append(self.crc, &head);
        self.crc = crc32c::crc32c_append(self.crc, &body);
        self.at += (HEAD_BYTES + length) as u64;
        Ok(parsed)
    }
}
