//! A disk in memory that forgets: what was not synced may be lost, torn or out of order.
//!
//! Relies on: a seed.  Promises: everything that [`crate::disk`] asks of a disk and nothing more, so
//! that code which needs more is found out; the same seed and the same calls give the same bytes.
//! Does not: slow anything down, keep permissions, or forget directories.
//!
//! Every file has two images. Reads see `now`; power loss leaves `stable` and, of the changes in
//! between, what chance keeps:
//!
//! ```text
//!   write, set_len ──► now          sync_data: all of `unsynced` ──► stable
//!                 └──► unsynced     power loss: per sector, some first few of the changes to it,
//!                                   and of the file's lengths, some first few, ──► stable
//!                                   failed sync: the same, and the rest is dropped from
//!                                   `unsynced`: still read until drop_cached, but no later sync
//!                                   will keep it
//!   names: the same, with sync_dir; after power loss some first few of the changes are there
//! ```

use crate::disk::{DIRECT_BYTES, Disk, DiskFile, OpenMode};
use crate::error::Error;
use crate::rand::Rand;
use parking_lot::Mutex;
use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// What a disk writes whole or not at all. Disks have 512 or 4096; the smaller tears more.
pub const SECTOR_BYTES: usize = 512;

/// What `free_bytes` answers when no capacity is set.
const FREE_BYTES_UNBOUNDED: u64 = 1 << 40;

/// A simulated disk. Clones are the same disk.
#[derive(Clone, Debug)]
pub struct SimDisk {
    state: Arc<Mutex<State>>,
}

#[derive(Clone, Debug)]
struct State {
    rand: Rand,
    files: Vec<Content>,
    directories: BTreeSet<PathBuf>,
    names: BTreeMap<PathBuf, usize>,
    stable_names: BTreeMap<PathBuf, usize>,
    unsynced_names: Vec<NameChange>,
    capacity: Option<u64>,
    next_handle: u64,
    /// Changes to the disk (everything but reads) so far, of them writes and syncs.
    changes: u64,
    writes: u64,
    syncs: u64,
    power_off_at: Option<u64>,
    fail_write_at: Option<u64>,
    fail_sync_at: Option<u64>,
}

#[derive(Clone, Debug, Default)]
struct Content {
    now: Vec<u8>,
    stable: Vec<u8>,
    unsynced: Vec<Change>,
    locked_by: Option<u64>,
}

#[derive(Clone, Debug)]
enum Change {
    Write { offset: usize, bytes: Vec<u8> },
    SetLen(usize),
}

#[derive(Clone, Debug)]
struct NameChange {
    name: PathBuf,
    file: Option<usize>,
    /// Half of a rename: kept or lost together with the change before it.
    with_previous: bool,
}

impl SimDisk {
    /// An empty disk whose chances follow `seed`.
    pub fn new(seed: u64) -> SimDisk {
        let state = State {
            rand: Rand::seeded(seed),
            files: Vec::new(),
            directories: BTreeSet::from([PathBuf::from("/"), PathBuf::new()]),
            names: BTreeMap::new(),
            stable_names: BTreeMap::new(),
            unsynced_names: Vec::new(),
            capacity: None,
            next_handle: 0,
            changes: 0,
            writes: 0,
            syncs: 0,
            power_off_at: None,
            fail_write_at: None,
            fail_sync_at: None,
        };
        SimDisk {
            state: Arc::new(Mutex::new(state)),
        }
    }

    /// The disk as it is found after losing power now. This disk stays as it is: it is what the
    /// process that is about to die goes on believing. Faults that were planned are forgotten.
    pub fn crash(&self, rand: &mut Rand) -> SimDisk {
        let mut state = self.state.lock().clone();
        let survival = Survival::chosen_by(rand);
        let mut kept = survival.of(state.unsynced_names.len(), rand);
        let mut changes = std::mem::take(&mut state.unsynced_names);
        // A rename is one step: never keep its first half alone.
        while changes.get(kept).is_some_and(|change| change.with_previous) {
            kept += 1;
        }
        changes.truncate(kept);
        for change in changes {
            change.apply(&mut state.stable_names);
        }
        state.names = state.stable_names.clone();
        let named: BTreeSet<usize> = state.names.values().copied().collect();
        for (id, content) in state.files.iter_mut().enumerate() {
            if named.contains(&id) {
                content.settle(survival, rand);
                content.now = content.stable.clone();
                content.locked_by = None;
            } else {
                *content = Content::default();
            }
        }
        state.rand = Rand::seeded(rand.next_u64());
        state.power_off_at = None;
        state.fail_write_at = None;
        state.fail_sync_at = None;
        SimDisk {
            state: Arc::new(Mutex::new(state)),
        }
    }

    /// Power fails during the `n`th change from now (1 is the next): that change and every
    /// operation after it is answered with an error, and how much of it reached the disk is
    /// decided by [`SimDisk::crash`].
    pub fn power_off_at_change(&self, n: u64) {
        let mut state = self.state.lock();
        state.power_off_at = Some(state.changes + n);
    }

    /// The `n`th write from now (1 is the next) fails, leaving an arbitrary part of it.
    pub fn fail_write(&self, n: u64) {
        let mut state = self.state.lock();
        state.fail_write_at = Some(state.writes + n);
    }

    /// The `n`th sync of a file from now (1 is the next) fails and drops what it should have kept.
    pub fn fail_sync(&self, n: u64) {
        let mut state = self.state.lock();
        state.fail_sync_at = Some(state.syncs + n);
    }

    /// Forgets the faults that were planned; power that was off is on again, with nothing lost.
    pub fn clear_faults(&self) {
        let mut state = self.state.lock();
        state.power_off_at = None;
        state.fail_write_at = None;
        state.fail_sync_at = None;
    }

    /// Bounds the bytes of all files together; `None` lifts the bound.
    pub fn set_capacity(&self, bytes: Option<u64>) {
        self.state.lock().capacity = bytes;
    }

    /// Bytes of all files together.
    pub fn used_bytes(&self) -> u64 {
        self.state.lock().used_bytes()
    }

    /// Changes to the disk so far: everything but reads.
    pub fn changes(&self) -> u64 {
        self.state.lock().changes
    }

    /// Syncs of files asked for so far.
    pub fn syncs(&self) -> u64 {
        self.state.lock().syncs
    }
}

/// How kind one power loss is. The extremes are frequent on real machines and rare if every
/// sector is left to its own chance.
#[derive(Clone, Copy)]
enum Survival {
    Nothing,
    Everything,
    Chance,
}

impl Survival {
    fn chosen_by(rand: &mut Rand) -> Survival {
        match rand.below(8) {
            0 => Survival::Nothing,
            1 => Survival::Everything,
            _ => Survival::Chance,
        }
    }

    /// How many of the first `n` changes survive.
    fn of(self, n: usize, rand: &mut Rand) -> usize {
        match self {
            Survival::Nothing => 0,
            Survival::Everything => n,
            Survival::Chance => rand.below(n as u64 + 1) as usize,
        }
    }
}

impl NameChange {
    fn apply(self, names: &mut BTreeMap<PathBuf, usize>) {
        match self.file {
            Some(id) => names.insert(self.name, id),
            None => names.remove(&self.name),
        };
    }
}

impl Change {
    /// Does the change to an image, as far as it falls into `sectors`.
    fn apply(&self, image: &mut Vec<u8>, window: std::ops::Range<usize>) {
        match self {
            Change::Write { offset, bytes } => {
                let from = (*offset).max(window.start);
                let to = (offset + bytes.len()).min(window.end);
                if from < to {
                    if image.len() < to {
                        image.resize(to, 0);
                    }
                    image[from..to].copy_from_slice(&bytes[from - offset..to - offset]);
                }
            }
            Change::SetLen(len) => {
                let from = (*len).max(window.start);
                let to = image.len().min(window.end);
                if from < to {
                    image[from..to].fill(0);
                }
            }
        }
    }

    /// Whether the change says anything about these bytes.
    fn touches(&self, window: &std::ops::Range<usize>) -> bool {
        match self {
            Change::Write { offset, bytes } => {
                *offset < window.end && offset + bytes.len() > window.start
            }
            Change::SetLen(len) => *len < window.end,
        }
    }

    /// The file's length after the change.
    fn length(&self, before: usize) -> usize {
        match self {
            Change::Write { offset, bytes } => before.max(offset + bytes.len()),
            Change::SetLen(len) => *len,
        }
    }
}

impl Content {
    fn change(&mut self, change: Change) {
        let len = change.length(self.now.len());
        change.apply(&mut self.now, 0..usize::MAX);
        self.now.resize(len, 0);
        self.unsynced.push(change);
    }

    fn sync(&mut self) {
        // Not a copy of `now`: that may hold writes that an earlier failed sync has dropped.
        for change in std::mem::take(&mut self.unsynced) {
            let len = change.length(self.stable.len());
            change.apply(&mut self.stable, 0..usize::MAX);
            self.stable.resize(len, 0);
        }
    }

    /// Forgets what failed syncs have dropped.
    fn drop_cached(&mut self) {
        self.now.clone_from(&self.stable);
        for change in &self.unsynced {
            let len = change.length(self.now.len());
            change.apply(&mut self.now, 0..usize::MAX);
            self.now.resize(len, 0);
        }
    }

    /// Lets chance decide which of the unsynced changes reached the disk, and forgets the rest.
    fn settle(&mut self, survival: Survival, rand: &mut Rand) {
        let changes = std::mem::take(&mut self.unsynced);
        let kept = survival.of(changes.len(), rand);
        let old = self.stable.len();
        let len = changes[..kept].iter().fold(old, |len, c| c.length(len));
        let (mut reached, mut longest) = (old, old);
        for change in &changes {
            reached = change.length(reached);
            longest = longest.max(reached);
        }
        for sector in 0..longest.div_ceil(SECTOR_BYTES) {
            let window = sector * SECTOR_BYTES..(sector + 1) * SECTOR_BYTES;
            let touching: Vec<&Change> = changes.iter().filter(|c| c.touches(&window)).collect();
            if touching.is_empty() {
                continue;
            }
            let kept = survival.of(touching.len(), rand);
            for change in &touching[..kept] {
                change.apply(&mut self.stable, window.clone());
            }
        }
        self.stable.resize(len, 0);
    }
}

/// What a planned fault does to a change.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Fate {
    Done,
    /// Done as far as chance has it, and answered with an error.
    Failed,
}

impl State {
    fn used_bytes(&self) -> u64 {
        let named: BTreeSet<usize> = self.names.values().copied().collect();
        named
            .iter()
            .map(|id| self.files[*id].now.len() as u64)
            .sum()
    }

    fn powered(&self) -> io::Result<()> {
        match self.power_off_at {
            Some(at) if self.changes >= at => Err(io::Error::other("power lost")),
            _ => Ok(()),
        }
    }

    /// Counts a change; says what becomes of it.
    fn begin_change(&mut self) -> io::Result<Fate> {
        self.powered()?;
        self.changes += 1;
        Ok(match self.power_off_at {
            Some(at) if self.changes == at => Fate::Failed,
            _ => Fate::Done,
        })
    }

    fn answer(fate: Fate) -> io::Result<()> {
        match fate {
            Fate::Done => Ok(()),
            Fate::Failed => Err(io::Error::other("fault injected")),
        }
    }

    fn room_for(&self, more: usize) -> io::Result<()> {
        match self.capacity {
            Some(capacity) if self.used_bytes() + more as u64 > capacity => {
                Err(ErrorKind::StorageFull.into())
            }
            _ => Ok(()),
        }
    }

    fn change_name(&mut self, change: NameChange) {
        change.clone().apply(&mut self.names);
        self.unsynced_names.push(change);
    }

    fn parent_is_there(&self, path: &Path) -> io::Result<()> {
        match path.parent() {
            Some(parent) if self.directories.contains(parent) => Ok(()),
            _ => Err(ErrorKind::NotFound.into()),
        }
    }

    fn open(&mut self, path: &Path, mode: OpenMode) -> io::Result<(usize, u64)> {
        self.powered()?;
        self.next_handle += 1;
        let handle = self.next_handle;
        if let Some(id) = self.names.get(path) {
            return Ok((*id, handle));
        }
        if mode != OpenMode::Create {
            return Err(ErrorKind::NotFound.into());
        }
        self.parent_is_there(path)?;
        let fate = self.begin_change()?;
        let id = self.files.len();
        self.files.push(Content::default());
        self.change_name(NameChange {
            name: path.to_path_buf(),
            file: Some(id),
            with_previous: false,
        });
        State::answer(fate).map(|()| (id, handle))
    }

    fn remove(&mut self, path: &Path) -> io::Result<()> {
        if !self.names.contains_key(path) {
            return Err(ErrorKind::NotFound.into());
        }
        let fate = self.begin_change()?;
        self.change_name(NameChange {
            name: path.to_path_buf(),
            file: None,
            with_previous: false,
        });
        State::answer(fate)
    }

    fn rename(&mut self, from: &Path, to: &Path) -> io::Result<()> {
        let id = *self.names.get(from).ok_or(ErrorKind::NotFound)?;
        self.parent_is_there(to)?;
        let fate = self.begin_change()?;
        for (name, file, with_previous) in [(from, None, false), (to, Some(id), true)] {
            self.change_name(NameChange {
                name: name.to_path_buf(),
                file,
                with_previous,
            });
        }
        State::answer(fate)
    }

    fn sync_dir(&mut self, directory: &Path) -> io::Result<()> {
        if !self.directories.contains(directory) {
            return Err(ErrorKind::NotFound.into());
        }
        State::answer(self.begin_change()?)?;
        let changes = std::mem::take(&mut self.unsynced_names);
        for change in changes {
            if change.name.parent() == Some(directory) {
                change.apply(&mut self.stable_names);
            } else {
                self.unsynced_names.push(change);
            }
        }
        Ok(())
    }

    fn write(&mut self, id: usize, offset: u64, bytes: Vec<u8>) -> io::Result<()> {
        let offset = offset as usize;
        let grows = (offset + bytes.len()).saturating_sub(self.files[id].now.len());
        if grows > 0 && !bytes.is_empty() {
            self.room_for(grows)?;
        }
        let mut fate = self.begin_change()?;
        self.writes += 1;
        let mut bytes = bytes;
        if self.fail_write_at == Some(self.writes) {
            fate = Fate::Failed;
            let part = self.rand.below(bytes.len() as u64 + 1) as usize;
            bytes.truncate(part);
        }
        if !bytes.is_empty() {
            self.files[id].change(Change::Write { offset, bytes });
        }
        State::answer(fate)
    }

    fn set_len(&mut self, id: usize, len: u64) -> io::Result<()> {
        let fate = self.begin_change()?;
        self.files[id].change(Change::SetLen(len as usize));
        State::answer(fate)
    }

    fn sync(&mut self, id: usize) -> io::Result<()> {
        // A sync cut short by power loss leaves everything to the power loss.
        State::answer(self.begin_change()?)?;
        self.syncs += 1;
        if self.fail_sync_at == Some(self.syncs) {
            self.files[id].settle(Survival::Chance, &mut self.rand);
            return State::answer(Fate::Failed);
        }
        self.files[id].sync();
        Ok(())
    }
}

impl Disk for SimDisk {
    fn open(&self, path: &Path, mode: OpenMode) -> Result<Arc<dyn DiskFile>, Error> {
        let opened = self.state.lock().open(path, mode);
        let (id, handle) = opened.map_err(|e| Error::new("open", path, e))?;
        Ok(Arc::new(SimFile {
            state: Arc::clone(&self.state),
            id,
            handle,
            path: path.to_path_buf(),
            read_only: !mode.writes(),
            direct: false,
        }))
    }

    fn open_direct(&self, path: &Path) -> Result<Option<Arc<dyn DiskFile>>, Error> {
        let opened = self.state.lock().open(path, OpenMode::ReadWrite);
        let (id, handle) = opened.map_err(|e| Error::new("open", path, e))?;
        Ok(Some(Arc::new(SimFile {
            state: Arc::clone(&self.state),
            id,
            handle,
            path: path.to_path_buf(),
            read_only: false,
            direct: true,
        })))
    }

    fn list(&self, directory: &Path) -> Result<Vec<String>, Error> {
        let state = self.state.lock();
        let fault = |e: io::Error| Error::new("list", directory, e);
        state.powered().map_err(fault)?;
        if !state.directories.contains(directory) {
            return Err(fault(ErrorKind::NotFound.into()));
        }
        let all = state.names.keys().chain(state.directories.iter());
        let mut names: Vec<String> = all
            .filter(|path| path.parent() == Some(directory))
            .filter_map(|path| path.file_name()?.to_str().map(str::to_owned))
            .collect();
        names.sort_unstable();
        Ok(names)
    }

    fn remove(&self, path: &Path) -> Result<(), Error> {
        let removed = self.state.lock().remove(path);
        removed.map_err(|e| Error::new("remove", path, e))
    }

    fn rename(&self, from: &Path, to: &Path) -> Result<(), Error> {
        let renamed = self.state.lock().rename(from, to);
        renamed.map_err(|e| Error::new("rename", from, e))
    }

    fn create_dir_all(&self, directory: &Path) -> Result<(), Error> {
        let mut state = self.state.lock();
        state
            .powered()
            .map_err(|e| Error::new("create directory", directory, e))?;
        let with_parents = directory.ancestors().map(Path::to_path_buf);
        state.directories.extend(with_parents);
        Ok(())
    }

    fn sync_dir(&self, directory: &Path) -> Result<(), Error> {
        let synced = self.state.lock().sync_dir(directory);
        synced.map_err(|e| Error::new("sync directory", directory, e))
    }

    fn exists(&self, path: &Path) -> Result<bool, Error> {
        let state = self.state.lock();
        state
            .powered()
            .map_err(|e| Error::new("look up", path, e))?;
        Ok(state.names.contains_key(path) || state.directories.contains(path))
    }

    fn free_bytes(&self, directory: &Path) -> Result<u64, Error> {
        let state = self.state.lock();
        state
            .powered()
            .map_err(|e| Error::new("ask for free space", directory, e))?;
        let capacity = state.capacity.unwrap_or(FREE_BYTES_UNBOUNDED);
        Ok(capacity.saturating_sub(state.used_bytes()))
    }
}

#[derive(Debug)]
struct SimFile {
    state: Arc<Mutex<State>>,
    id: usize,
    handle: u64,
    path: PathBuf,
    read_only: bool,
    direct: bool,
}

impl SimFile {
    fn fault(&self, operation: &'static str) -> impl FnOnce(io::Error) -> Error {
        let path = self.path.clone();
        move |source| Error::new(operation, &path, source)
    }

    fn writable(&self) -> io::Result<()> {
        match self.read_only {
            true => Err(ErrorKind::PermissionDenied.into()),
            false => Ok(()),
        }
    }

    fn check_direct(&self, bytes: &[u8], offset: u64) {
        let whole = |at: u64| at.is_multiple_of(DIRECT_BYTES as u64);
        let (address, len) = (bytes.as_ptr().addr() as u64, bytes.len() as u64);
        assert!(
            !self.direct || len == 0 || whole(offset) && whole(len) && whole(address),
            "a direct write of {len} bytes at {offset}, from {address:x}"
        );
    }

    fn write(&self, bytes: Vec<u8>, offset: u64) -> Result<(), Error> {
        self.writable()
            .and_then(|()| self.state.lock().write(self.id, offset, bytes))
            .map_err(self.fault("write"))
    }
}

impl DiskFile for SimFile {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> Result<usize, Error> {
        let state = self.state.lock();
        state.powered().map_err(self.fault("read"))?;
        let now = &state.files[self.id].now;
        let from = now.len().min(offset as usize);
        let got = (now.len() - from).min(buffer.len());
        buffer[..got].copy_from_slice(&now[from..from + got]);
        Ok(got)
    }

    fn write_at(&self, bytes: &[u8], offset: u64) -> Result<(), Error> {
        self.check_direct(bytes, offset);
        self.write(bytes.to_vec(), offset)
    }

    fn write_all_vectored_at(&self, parts: &[&[u8]], offset: u64) -> Result<(), Error> {
        parts.iter().fold(offset, |at, part| {
            self.check_direct(part, at);
            at + part.len() as u64
        });
        self.write(parts.concat(), offset)
    }

    fn sync_data(&self) -> Result<(), Error> {
        let synced = self.state.lock().sync(self.id);
        synced.map_err(self.fault("sync"))
    }

    fn drop_cached(&self) -> Result<(), Error> {
        let mut state = self.state.lock();
        state.powered().map_err(self.fault("drop cached pages"))?;
        state.files[self.id].drop_cached();
        Ok(())
    }

    fn len(&self) -> Result<u64, Error> {
        let state = self.state.lock();
        state.powered().map_err(self.fault("ask for the length"))?;
        Ok(state.files[self.id].now.len() as u64)
    }

    fn set_len(&self, len: u64) -> Result<(), Error> {
        self.writable()
            .and_then(|()| self.state.lock().set_len(self.id, len))
            .map_err(self.fault("set the length"))
    }

    fn allocate(&self, len: u64) -> Result<(), Error> {
        let mut state = self.state.lock();
        let old = state.files[self.id].now.len() as u64;
        if len <= old {
            return Ok(());
        }
        self.writable()
            .and_then(|()| state.write(self.id, old, vec![0; (len - old) as usize]))
            .map_err(self.fault("allocate"))
    }

    fn try_lock(&self) -> Result<bool, Error> {
        let mut state = self.state.lock();
        state.powered().map_err(self.fault("lock"))?;
        let holder = &mut state.files[self.id].locked_by;
        Ok(*holder.get_or_insert(self.handle) == self.handle)
    }
}

impl Drop for SimFile {
    fn drop(&mut self) {
        let holder = &mut self.state.lock().files[self.id].locked_by;
        if *holder == Some(self.handle) {
            *holder = None;
        }
    }
}
