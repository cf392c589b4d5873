//! What a replica is asked to run, and what became of it.
//!
//! Relies on: nothing.  Promises: plain data.  Does not: run.

use crate::error::{Error, ServerError};
use crate::front::Tag;
use crate::pipeline::Answer;
use bytes::Bytes;
use quintet_base::Level;
use std::time::Duration;

/// One statement as the client sent it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum CallText {
    /// By the simple protocol: everything is in the text, and results come as text. Not kept prepared.
    Simple(String),
    /// By the extended protocol. Prepared once in each session.
    Extended {
        /// With `$1` and so on.
        sql: String,
        /// The server's numbers of the parameters' types; 0, or none at all, where the server is to find out.
        types: Vec<u32>,
        /// Of the values: none for text, one for all, or one each.
        formats: Vec<i16>,
        /// The parameters.
        values: Vec<Option<Bytes>>,
        /// Of the results: none for text, one for all, or one each.
        result_formats: Vec<i16>,
    },
}

/// A run of a call that ends prepared.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Attempt {
    /// What it says of itself in the log. With a client, its row in `quintet.calls` is written, too, which takes a
    /// second round trip.
    pub tag: Tag,
    /// What is run.
    pub text: CallText,
    /// At which level.
    pub level: Level,
    /// Slept before the call and inside of its transaction, for measurements: stands for the time that a disk or a larger
    /// database would take.
    pub service: Duration,
}

/// Where an attempt failed.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Step {
    /// Before the call: not its fault.
    Begin,
    /// The call itself.
    Call,
    /// After it: constraints that are checked at the end, conflicts found then, what cannot be prepared (temporary
    /// tables, NOTIFY), or no place left for a prepared transaction.
    Prepare,
}

/// What became of an attempt.
#[derive(Debug)]
pub enum Ran {
    /// Its transaction is prepared.
    Prepared {
        /// For the client, once it is committed.
        answer: Answer,
    },
    /// It left nothing.
    Failed {
        /// Why.
        error: Box<ServerError>,
        /// Where.
        step: Step,
        /// NoticeResponse messages that came before.
        notices: Bytes,
    },
    /// It is prepared, or left nothing; the replica cannot be asked.
    Lost(Error),
}

/// What became of something that only reads.
#[derive(Debug)]
pub enum Read {
    /// This.
    Answered(Answer),
    /// Nothing.
    Failed {
        /// Why.
        error: Box<ServerError>,
        /// NoticeResponse messages that came before.
        notices: Bytes,
    },
    /// The replica cannot be asked.
    Lost(Error),
}

/// What became of a decision about a prepared transaction.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Decided {
    /// It is done, durably.
    Done,
    /// There is no such transaction: it was decided before, or never prepared.
    Missing,
}
