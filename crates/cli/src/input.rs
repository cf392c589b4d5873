//! SQL text from a file, a pipe or a terminal, statement by statement.
//!
//! Relies on: `script` for where statements end.  Promises: reads no further than it must when a
//! human types; holds one statement (and a block) in memory, not the file; knows line numbers.
//! Does not: run anything or edit lines.

use crate::script::{Next, next};
use quintet_rt::DiskFile;
use std::io::{self, BufRead, Read};
use std::sync::Arc;

/// Least that is read from a file or pipe at once.
const BLOCK_BYTES: usize = 64 * 1024;

/// A source of statements.
pub struct Input {
    reader: Box<dyn BufRead>,
    /// Read line by line, with prompts.
    interactive: bool,
    buffer: String,
    /// Where the text not handed out yet begins in the buffer.
    at: usize,
    /// Lines handed out.
    lines: usize,
    /// Bytes handed out.
    bytes: u64,
    ended: bool,
}

/// One statement and the line it begins on.
#[derive(Debug, PartialEq, Eq)]
pub struct Statement {
    /// With its semicolon, if it had one.
    pub text: String,
    /// From 1.
    pub line: usize,
}

impl Input {
    /// Everything the reader gives; a last statement needs no semicolon.
    pub fn script(reader: impl BufRead + 'static) -> Input {
        Input {
            reader: Box::new(reader),
            interactive: false,
            buffer: String::new(),
            at: 0,
            lines: 0,
            bytes: 0,
            ended: false,
        }
    }

    /// A human at a terminal.
    pub fn terminal(reader: impl BufRead + 'static) -> Input {
        Input {
            interactive: true,
            ..Input::script(reader)
        }
    }

    /// The next statement; `None` at the end. `prompt` is called before each line of a terminal, with
    /// whether a statement is open. A terminal's line that begins with a backslash outside of a statement comes out as it is.
    ///
    /// # Errors
    /// The source cannot be read, or is not UTF-8.
    pub fn next(&mut self, prompt: &mut dyn FnMut(bool)) -> io::Result<Option<Statement>> {
        // What has been found open is not scanned again before it has doubled: a statement of many
        // lines costs no more than twice its length. A terminal's are short.
        let mut look_at = 0;
        loop {
            let text = &self.buffer[self.at..];
            let open = if text.len() >= look_at || self.ended {
                match next(text) {
                    Next::Statement(begin, end) => return Ok(Some(self.take(begin, end))),
                    Next::Open(begin) if self.ended || self.is_command(begin) => {
                        let end = text.len();
                        return Ok(Some(self.take(begin, end)));
                    }
                    Next::Open(_) => true,
                    Next::Nothing if self.ended => return Ok(None),
                    Next::Nothing => false,
                }
            } else {
                true
            };
            if self.interactive {
                prompt(open);
            } else {
                look_at = 2 * text.len();
            }
            self.fill()?;
        }
    }

    /// The next line as it is, without its end: data of COPY. `None` at the end.
    ///
    /// # Errors
    /// The source cannot be read, or is not UTF-8.
    pub fn line(&mut self) -> io::Result<Option<String>> {
        loop {
            if let Some(length) = self.buffer[self.at..].find('\n') {
                let line = self.take(0, length).text;
                self.at += 1;
                self.bytes += 1;
                self.lines += 1;
                return Ok(Some(line));
            }
            if self.ended {
                let length = self.buffer.len() - self.at;
                return Ok((length > 0).then(|| self.take(0, length).text));
            }
            self.fill()?;
        }
    }

    /// Skips the rest of the line after a statement: COPY's data begin on the next one.
    ///
    /// # Errors
    /// As [`Input::line`].
    pub fn end_line(&mut self) -> io::Result<()> {
        self.line().map(drop)
    }

    /// Bytes handed out so far.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// True if a line of a terminal is a command to the shell.
    fn is_command(&self, begin: usize) -> bool {
        self.interactive && self.buffer[self.at + begin..].starts_with('\\')
    }

    fn take(&mut self, begin: usize, end: usize) -> Statement {
        let text = self.buffer[self.at + begin..self.at + end]
            .trim_end()
            .to_string();
        let before = self.buffer[self.at..self.at + begin].matches('\n').count();
        let line = self.lines + before + 1;
        self.lines += self.buffer[self.at..self.at + end].matches('\n').count();
        self.at += end;
        self.bytes += end as u64;
        Statement { text, line }
    }

    fn fill(&mut self) -> io::Result<()> {
        self.buffer.drain(..self.at);
        self.at = 0;
        let want = if self.interactive {
            1
        } else {
            BLOCK_BYTES.max(self.buffer.len())
        };
        let from = self.buffer.len();
        // Whole lines only, so that a character is never cut.
        while self.buffer.len() - from < want {
            if self.reader.read_line(&mut self.buffer)? == 0 {
                self.ended = true;
                break;
            }
        }
        Ok(())
    }
}

/// A file as a reader.
pub struct FileReader {
    file: Arc<dyn DiskFile>,
    at: u64,
}

impl FileReader {
    /// From the beginning.
    pub fn new(file: Arc<dyn DiskFile>) -> FileReader {
        FileReader { file, at: 0 }
    }
}

impl Read for FileReader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let length = self
            .file
            .read_at(buffer, self.at)
            .map_err(|error| error.source)?;
        self.at += length as u64;
        Ok(length)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Cursor;

    fn all(input: &mut Input) -> Vec<(usize, String)> {
        let mut statements = Vec::new();
        while let Some(statement) = input.next(&mut |_| {}).unwrap() {
            statements.push((statement.line, statement.text));
        }
        statements
    }

    #[test]
    fn statements_come_with_their_lines() {
        let mut input = Input::script(Cursor::new(
            "-- first\nselect 1;\n\nselect\n  2; select 3;\nselect 4",
        ));
        let expected = [
            (2, "select 1;"),
            (4, "select\n  2;"),
            (5, "select 3;"),
            (6, "select 4"),
        ];
        assert_eq!(
            all(&mut input),
            expected.map(|(line, text)| (line, text.to_string()))
        );
    }

    #[test]
    fn copy_data_are_lines_between_statements() {
        let mut input = Input::script(Cursor::new("copy t from stdin;\n1\ta;b\n\\.\nselect 1;"));
        assert_eq!(
            input.next(&mut |_| {}).unwrap().unwrap().text,
            "copy t from stdin;"
        );
        input.end_line().unwrap();
        assert_eq!(input.line().unwrap().as_deref(), Some("1\ta;b"));
        assert_eq!(input.line().unwrap().as_deref(), Some("\\."));
        assert_eq!(all(&mut input), [(4, "select 1;".to_string())]);
    }

    #[test]
    fn long_statements_cross_blocks() {
        let values = "(1, 'x;y'),\n".repeat(40_000);
        let text = format!("insert into t values {values}(2, 'z');\nselect 1;\n");
        let mut input = Input::script(Cursor::new(text.clone()));
        let statements = all(&mut input);
        assert_eq!(statements.len(), 2);
        assert_eq!(statements[0].1.len(), text.len() - "\nselect 1;\n".len());
        assert_eq!(statements[1], (40_002, "select 1;".to_string()));
    }

    // Lines are asked for one at a time, and the prompt tells an open statement from a new one.
    #[test]
    fn a_terminal_is_prompted_line_by_line() {
        let mut input = Input::terminal(Cursor::new("\\timing\nselect\n1;\n\nselect 2"));
        let mut prompts = Vec::new();
        let mut texts = Vec::new();
        while let Some(statement) = input.next(&mut |open| prompts.push(open)).unwrap() {
            texts.push(statement.text);
        }
        assert_eq!(texts, ["\\timing", "select\n1;", "select 2"]);
        assert_eq!(prompts, [false, false, true, false, false, true]);
    }
}
