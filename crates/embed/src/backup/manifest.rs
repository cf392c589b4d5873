//! What a backup says of itself, as text.
//!
//! Relies on: CRC-32C.  Promises: a text that parses was written whole; unknown versions are refused.
//! Does not: read files.
//!
//! ```text
//! quintet backup 1                       format version
//! position 81952                         every commit at or below is there, none above
//! taken 849398400000000                  when: microseconds since 2000-01-01 00:00 UTC
//! log 00c0ffee00c0ffee                   the log that the position is a position of
//! records 1234                           how many
//! frames 3                               in how many frames
//! file records-0000 786432 89abcdef      name, bytes, CRC-32C of all of them; one line for each
//! end 01234567                           CRC-32C of everything above this line
//! ```

use quintet_base::Lsn;
use std::fmt::Write;

const FIRST_LINE: &str = "quintet backup 1";

/// What is known when a backup begins.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Header {
    /// Every commit at or below is in it, and none above.
    pub position: Lsn,
    /// When it was begun; no commit in it is later, by the same clock: microseconds since 2000-01-01 00:00 UTC.
    pub taken_micros: i64,
    /// The log that the position is a position of.
    pub log_id: u64,
}

/// What is known when all of it has been told.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Totals {
    /// Records.
    pub records: u64,
    /// Frames that they are in.
    pub frames: u64,
    /// Bytes of the frames.
    pub bytes: u64,
}

/// A file of a backup.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct File {
    pub name: String,
    pub bytes: u64,
    pub crc: u32,
}

/// Everything that the manifest says.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Manifest {
    pub header: Header,
    pub totals: Totals,
    pub files: Vec<File>,
}

impl Header {
    /// The lines that tell it.
    pub fn to_text(&self) -> String {
        format!(
            "{FIRST_LINE}\nposition {}\ntaken {}\nlog {:016x}\n",
            self.position.0, self.taken_micros, self.log_id
        )
    }

    /// Reads them back.
    ///
    /// # Errors
    /// What is missing.
    pub fn parse(text: &str) -> Result<Header, String> {
        let mut lines = text.lines();
        match lines.next() {
            Some(FIRST_LINE) => {}
            Some(other) => return Err(format!("it begins with {other:?}")),
            None => return Err("it is empty".into()),
        }
        let header = Header {
            position: Lsn(decimal(field(text, "position")?)?),
            taken_micros: field(text, "taken")?
                .parse()
                .map_err(|_| "no number in taken")?,
            log_id: hexadecimal(field(text, "log")?)?,
        };
        Ok(header)
    }
}

impl Totals {
    /// The lines that tell it.
    pub fn to_text(&self) -> String {
        format!(
            "records {}\nframes {}\nbytes {}\n",
            self.records, self.frames, self.bytes
        )
    }

    /// Reads them back.
    ///
    /// # Errors
    /// What is missing.
    pub fn parse(text: &str) -> Result<Totals, String> {
        Ok(Totals {
            records: decimal(field(text, "records")?)?,
            frames: decimal(field(text, "frames")?)?,
            bytes: decimal(field(text, "bytes")?)?,
        })
    }
}

impl Manifest {
    pub fn to_text(&self) -> String {
        let mut text = self.header.to_text() + &self.totals.to_text();
        for File { name, bytes, crc } in &self.files {
            // Writing to a string cannot fail.
            let _ = writeln!(text, "file {name} {bytes} {crc:08x}");
        }
        let crc = crc32c::crc32c(text.as_bytes());
        let _ = writeln!(text, "end {crc:08x}");
        text
    }

    pub fn parse(text: &str) -> Result<Manifest, String> {
        let header = Header::parse(text)?;
        let end = text.rfind("end ").ok_or("it has no end")?;
        let (above, end) = text.split_at(end);
        let crc = end
            .strip_prefix("end ")
            .and_then(|end| end.strip_suffix('\n'));
        if hexadecimal(crc.unwrap_or_default())? != u64::from(crc32c::crc32c(above.as_bytes())) {
            return Err("its checksum does not fit".into());
        }
        let files = above.lines().filter_map(|line| line.strip_prefix("file "));
        let file = |line: &str| -> Result<File, String> {
            let mut words = line.split(' ');
            let mut word = || {
                words
                    .next()
                    .ok_or("a file without name, bytes and checksum")
            };
            Ok(File {
                name: word()?.to_owned(),
                bytes: decimal(word()?)?,
                crc: u32::try_from(hexadecimal(word()?)?).map_err(|_| "a long checksum")?,
            })
        };
        Ok(Manifest {
            header,
            totals: Totals::parse(above)?,
            files: files.map(file).collect::<Result<_, _>>()?,
        })
    }
}

/// What stands behind a name.
fn field<'a>(text: &'a str, name: &str) -> Result<&'a str, String> {
    let mut lines = text.lines();
    let found = lines.find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
    found.ok_or_else(|| format!("it does not say {name}"))
}

fn decimal(text: &str) -> Result<u64, String> {
    text.parse().map_err(|_| format!("{text:?} is no number"))
}

fn hexadecimal(text: &str) -> Result<u64, String> {
    u64::from_str_radix(text, 16).map_err(|_| format!("{text:?} is no number"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn example() -> Manifest {
        Manifest {
            header: Header {
                position: Lsn(81_952),
                taken_micros: -5,
                log_id: 0x00c0_ffee,
            },
            totals: Totals {
                records: 10,
                frames: 3,
                bytes: 4000,
            },
            files: vec![File {
                name: "records-0000".into(),
                bytes: 4000,
                crc: 7,
            }],
        }
    }

    #[test]
    fn a_manifest_reads_back_and_no_part_of_it_does() {
        let text = example().to_text();
        assert_eq!(Manifest::parse(&text), Ok(example()));
        for end in 0..text.len() {
            assert!(Manifest::parse(&text[..end]).is_err(), "cut at {end}");
        }
        let changed = text.replace("4000", "4001");
        assert!(Manifest::parse(&changed).unwrap_err().contains("checksum"));
    }

    #[test]
    fn another_version_is_named() {
        let text = example().to_text().replace("backup 1", "backup 2");
        assert!(Manifest::parse(&text).unwrap_err().contains("backup 2"));
    }
}
