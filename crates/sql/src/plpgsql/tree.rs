//! The tree of a routine.
//!
//! Relies on: nothing but names of types, which it keeps as the parser gave them.  Promises: a
//! variable is named by its number, so a name that an inner block declares again is no ambiguity;
//! a piece of SQL knows where it begins.  Does not: check types, or know what a name in a piece of
//! SQL refers to; `scope` tells.

use crate::variables::Conflict;
use pg_query::protobuf;
use quintet_base::SqlState;
use quintet_ir::dynamic::Direction;
/// Errors that a handler is for; how loud a RAISE is, and what its USING says.
pub(crate) use quintet_ir::routine::{Condition, RaiseOption, Severity};
use std::collections::BTreeSet;

/// A routine.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Routine {
    /// What stands before the body.
    pub header: Header,
    /// The text of the body: lines and bytes count in it.
    pub source: String,
    /// What it does.
    pub body: Body,
}

/// What CREATE says about a routine besides its body.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Header {
    /// Its name, perhaps with a schema before it. The last part names the parameters' scope.
    pub name: Vec<String>,
    /// CREATE PROCEDURE, not FUNCTION.
    pub procedure: bool,
    /// OR REPLACE.
    pub replace: bool,
    /// NULL for an argument is NULL as the result.
    pub strict: bool,
    /// IMMUTABLE, STABLE or VOLATILE.
    pub volatility: Volatility,
    /// Parameters in their order; those of RETURNS TABLE are the last.
    pub parameters: Vec<Parameter>,
    /// What it returns.
    pub returns: Returns,
}

/// What a function promises about its effects.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Volatility {
    /// Same arguments, same result.
    Immutable,
    /// The same within one statement.
    Stable,
    /// Nothing.
    Volatile,
}

/// A parameter. Its variable has the same number: `$1` is variable 0.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Parameter {
    /// Its name, if it has one besides `$n`.
    pub name: Option<String>,
    /// Which way values go.
    pub mode: ParameterMode,
    /// Its type.
    pub data_type: DataType,
    /// What stands for an argument that is left out.
    pub default: Option<protobuf::Node>,
}

/// Which way values go through a parameter.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs)]
pub(crate) enum ParameterMode {
    In,
    Out,
    InOut,
    /// An array, for all arguments that are left.
    Variadic,
    /// A column of RETURNS TABLE.
    Table,
}

impl ParameterMode {
    /// True if its value is part of the result.
    pub(crate) fn is_result(self) -> bool {
        !matches!(self, ParameterMode::In | ParameterMode::Variadic)
    }
}

/// What a routine returns.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Returns {
    /// Nothing but its OUT parameters, if it has any: procedures, and functions of type void.
    Nothing,
    /// The values of its OUT parameters.
    Parameters,
    /// One value.
    Value(DataType),
    /// Rows of its OUT parameters: RETURNS TABLE, or RETURNS SETOF record with OUT parameters.
    SetOfParameters,
    /// Rows.
    SetOf(DataType),
    /// RETURNS trigger: a row of the table that fires it, or NULL.
    Trigger,
}

/// A type as it is written.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum DataType {
    /// By name, with modifier and brackets; a name that is no type of ours may be a table's.
    Named {
        /// As text.
        text: String,
        /// As the parser gives it; locations count in another text.
        name: Box<protobuf::TypeName>,
    },
    /// `names%TYPE`: of a variable, or of a column.
    TypeOf {
        /// The parts of the name.
        names: Vec<String>,
        /// With brackets: an array of it.
        array: bool,
    },
    /// `names%ROWTYPE`: a row of a table.
    RowOf {
        /// The table's name, perhaps with a schema.
        names: Vec<String>,
    },
    /// `record`.
    Record,
}

/// What a routine does.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Body {
    /// Every variable by its number: parameters, FOUND, and then in the order of the text.
    pub variables: Vec<Variable>,
    /// The outermost block.
    pub block: Block,
    /// `#variable_conflict`.
    pub conflict: Conflict,
    /// Some of its statements are planned when they are reached, or are about portals of the session.
    pub is_dynamic: bool,
    /// Some are planned when they are reached.
    pub plans_late: bool,
    /// Cursors with queries that are such portals.
    pub portals: BTreeSet<VariableNumber>,
}

/// The number of a variable in its body.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub(crate) struct VariableNumber(pub usize);

/// A variable.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Variable {
    /// Its name; `$n` for a parameter without one.
    pub name: String,
    /// Where it is declared; 0 for what is there before the body begins.
    pub line: u32,
    /// Where it comes from, and its type.
    pub kind: VariableKind,
    /// True if a dot and the name of a field may follow its name: records, rows, and variables of
    /// a type whose name is none of PostgreSQL's, so that it may be a table's.
    pub fields: bool,
    /// Its first value, as an expression over what is declared before it; NULL without.
    pub default: Option<SqlText>,
    /// Not to be assigned; the parser has seen to that.
    pub constant: bool,
    /// Not to be NULL.
    pub not_null: bool,
}

/// Where a variable comes from.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum VariableKind {
    /// DECLARE.
    Declared(DataType),
    /// DECLARE of a cursor, with its query.
    Cursor(Box<CursorQuery>),
    /// What such a cursor takes: a variable in sight of its query alone.
    CursorArgument(DataType),
    /// A parameter: the one with this number from 0.
    Parameter(usize),
    /// `found`: a boolean, false at first.
    Found,
    /// The integer of a FOR loop.
    Counter,
    /// `sqlstate` in handlers, a text.
    SqlState,
    /// `sqlerrm` in handlers, a text.
    SqlErrm,
}

/// A cursor's query.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct CursorQuery {
    /// It.
    pub query: SqlText,
    /// What OPEN gives it.
    pub arguments: Vec<VariableNumber>,
    /// SCROLL or NO SCROLL.
    pub scroll: Option<bool>,
}

/// Which query OPEN opens.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum OpenHow {
    /// The cursor's own, with these arguments.
    Bound(Option<SqlText>),
    /// This one.
    Query {
        /// It.
        query: SqlText,
        /// SCROLL or NO SCROLL.
        scroll: Option<bool>,
    },
    /// That of a text.
    Execute {
        /// The text.
        sql: DynamicSql,
        /// SCROLL or NO SCROLL.
        scroll: Option<bool>,
    },
}

/// How far FETCH goes.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum FetchCount {
    /// So many rows, or to this one.
    Number(i64),
    /// To the end.
    All,
    /// What this says.
    Value(SqlText),
}

/// A block.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Block {
    /// Its label.
    pub label: Option<String>,
    /// The line of BEGIN.
    pub line: u32,
    /// What it declares, in order.
    pub declarations: Vec<Declaration>,
    /// What it does.
    pub statements: Vec<Statement>,
    /// EXCEPTION; without it there is no subtransaction.
    pub exception: Option<Exception>,
}

/// A name that a block declares.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Declaration {
    /// A variable.
    Variable(VariableNumber),
    /// Another name of a variable.
    Alias {
        /// The name.
        name: String,
        /// Of what.
        of: VariableNumber,
    },
}

/// The EXCEPTION part of a block.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Exception {
    /// The handlers' `sqlstate`.
    pub sqlstate: VariableNumber,
    /// The handlers' `sqlerrm`.
    pub sqlerrm: VariableNumber,
    /// Handlers, the first that fits runs.
    pub handlers: Vec<Handler>,
}

/// What is done about some errors.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Handler {
    /// The line of WHEN.
    pub line: u32,
    /// The byte of the body that WHEN stands at.
    pub offset: usize,
    /// Any of these.
    pub conditions: Vec<Condition>,
    /// What to do.
    pub statements: Vec<Statement>,
}

/// A piece of SQL: a statement or an expression.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct SqlText {
    /// The text. Byte n of it is byte `offset + n` of the body, but where an INTO was taken out
    /// (as many blanks) and in the first word of PERFORM (SELECT, ending where PERFORM does).
    pub text: String,
    /// Where it begins in the body.
    pub offset: usize,
    /// The line that it begins in, from 1.
    pub line: u32,
}

/// Where a value goes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Target {
    /// To this variable.
    pub variable: VariableNumber,
    /// To this field of it.
    pub field: Option<String>,
    /// To this part of the variable or field.
    pub subscripts: Vec<Subscript>,
}

/// `[upper]`, or `[lower:upper]`, where either may be missing.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Subscript {
    /// Where a slice begins.
    pub lower: Option<SqlText>,
    /// Where it ends, or which element.
    pub upper: Option<SqlText>,
    /// Whether it has a colon.
    pub is_slice: bool,
}

/// Where a row goes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum RowTarget {
    /// To a record or row variable, as a whole.
    Record(VariableNumber),
    /// Column by column; these have no elements.
    List(Vec<Target>),
}

/// A statement.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Statement {
    /// The line that PostgreSQL gives in a context: of the first word, or of BEGIN or the word
    /// that makes a loop if a label or DECLARE stands before it.
    pub line: u32,
    /// What it does.
    pub kind: StatementKind,
}

/// What a statement does.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum StatementKind {
    /// A block in a block.
    Block(Block),
    /// `target := value`.
    Assign {
        /// Where to.
        target: Target,
        /// What.
        value: SqlText,
    },
    /// IF.
    If {
        /// IF and ELSIF.
        branches: Vec<Branch>,
        /// ELSE.
        otherwise: Vec<Statement>,
    },
    /// CASE.
    Case {
        /// `CASE subject`: arms have values to compare it with. Without it they have conditions.
        subject: Option<SqlText>,
        /// WHEN; with a subject the text may be a list of values with commas.
        arms: Vec<Branch>,
        /// ELSE; without it, to fit no arm is an error (20000).
        otherwise: Option<Vec<Statement>>,
    },
    /// LOOP.
    Loop {
        /// Its label.
        label: Option<String>,
        /// What to repeat.
        body: Vec<Statement>,
    },
    /// WHILE.
    While {
        /// Its label.
        label: Option<String>,
        /// As long as this is true.
        condition: SqlText,
        /// What to repeat.
        body: Vec<Statement>,
    },
    /// FOR over integers.
    ForInteger {
        /// Its label.
        label: Option<String>,
        /// Its own variable, in scope in the body only.
        variable: VariableNumber,
        /// From the larger to the smaller: `lower` is the one to begin with all the same.
        reverse: bool,
        /// First bound as written.
        lower: SqlText,
        /// Second bound as written.
        upper: SqlText,
        /// BY.
        step: Option<SqlText>,
        /// What to repeat.
        body: Vec<Statement>,
    },
    /// FOR over rows.
    ForQuery {
        /// Its label.
        label: Option<String>,
        /// Where each row goes.
        target: RowTarget,
        /// Which rows.
        query: SqlText,
        /// What to repeat.
        body: Vec<Statement>,
    },
    /// FOR over the rows of a cursor.
    ForCursor {
        /// Its label.
        label: Option<String>,
        /// Its own record, in scope in the body only.
        variable: VariableNumber,
        /// Which cursor.
        cursor: VariableNumber,
        /// What it takes.
        arguments: Option<SqlText>,
        /// The byte of the body that it stands at.
        offset: usize,
        /// What to repeat.
        body: Vec<Statement>,
    },
    /// OPEN.
    Open {
        /// Which cursor.
        cursor: VariableNumber,
        /// Over which rows.
        how: OpenHow,
        /// The byte of the body that it stands at.
        offset: usize,
    },
    /// FETCH and MOVE.
    Fetch {
        /// Of which cursor.
        cursor: VariableNumber,
        /// Which way.
        direction: Direction,
        /// How far.
        count: FetchCount,
        /// Where the row goes; nowhere: MOVE.
        target: Option<RowTarget>,
        /// The byte of the body that it stands at.
        offset: usize,
    },
    /// CLOSE.
    Close {
        /// Which cursor.
        cursor: VariableNumber,
        /// The byte of the body that it stands at.
        offset: usize,
    },
    /// FOREACH over the elements of an array.
    ForEach {
        /// Its label.
        label: Option<String>,
        /// Where each element goes.
        target: Target,
        /// So many dimensions have what goes there; 0: it is an element.
        slice: usize,
        /// Which array.
        array: SqlText,
        /// What to repeat.
        body: Vec<Statement>,
    },
    /// EXIT.
    Exit {
        /// Which loop or block; `None`: the innermost loop.
        label: Option<String>,
        /// Only if.
        condition: Option<SqlText>,
    },
    /// CONTINUE.
    Continue {
        /// Which loop.
        label: Option<String>,
        /// Only if.
        condition: Option<SqlText>,
    },
    /// RETURN.
    Return(Option<SqlText>),
    /// RETURN NEXT.
    ReturnNext(Option<SqlText>),
    /// RETURN QUERY.
    ReturnQuery(SqlText),
    /// RAISE.
    Raise(Raise),
    /// ASSERT.
    Assert {
        /// What must be true.
        condition: SqlText,
        /// What to say if not.
        message: Option<SqlText>,
    },
    /// A statement of SQL.
    Sql {
        /// It, without its INTO.
        statement: SqlText,
        /// INTO.
        into: Option<IntoClause>,
    },
    /// EXECUTE, or a statement that is no query and changes more than rows.
    Dynamic {
        /// Which.
        sql: DynamicSql,
        /// INTO.
        into: Option<IntoClause>,
    },
    /// FOR over the rows of EXECUTE.
    ForDynamic {
        /// Its label.
        label: Option<String>,
        /// Where each row goes.
        target: RowTarget,
        /// Which rows.
        sql: DynamicSql,
        /// What to repeat.
        body: Vec<Statement>,
    },
    /// RETURN QUERY EXECUTE.
    ReturnDynamic(DynamicSql),
    /// PERFORM: a query whose rows nobody wants.
    Perform(SqlText),
    /// CALL, the whole statement. Where its OUT arguments go is told by its texts.
    Call(SqlText),
    /// GET DIAGNOSTICS.
    GetDiagnostics {
        /// GET STACKED DIAGNOSTICS.
        stacked: bool,
        /// What goes where.
        items: Vec<(Target, Diagnostic)>,
    },
    /// COMMIT.
    Commit,
    /// ROLLBACK.
    Rollback,
    /// NULL.
    Null,
}

/// A statement that is planned when it is reached.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct DynamicSql {
    /// The statement itself, or an expression that gives its text.
    pub text: SqlText,
    /// It is the statement itself.
    pub fixed: bool,
    /// That is a SELECT of one row of what the session does itself (`advisory`).
    pub calls: bool,
    /// USING.
    pub arguments: Vec<SqlText>,
}

/// Statements under a condition.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Branch {
    /// The condition, or the values of an arm.
    pub condition: SqlText,
    /// What to do.
    pub statements: Vec<Statement>,
}

/// INTO.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct IntoClause {
    /// Not exactly one row is an error.
    pub strict: bool,
    /// Where the row goes.
    pub target: RowTarget,
}

/// RAISE.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Raise {
    /// How loud.
    pub level: Severity,
    /// What.
    pub subject: RaiseSubject,
    /// USING.
    pub options: Vec<(RaiseOption, SqlText)>,
}

/// What is raised.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum RaiseSubject {
    /// `RAISE;`: the error that is being handled, again.
    Again,
    /// Only what USING says.
    Options,
    /// A message: each `%` of the format but `%%` is an argument, and their numbers agree.
    Format {
        /// The format.
        format: String,
        /// The arguments.
        arguments: Vec<SqlText>,
    },
    /// A condition.
    Condition {
        /// As it is written: a name, or the state.
        name: String,
        /// Its state.
        state: SqlState,
    },
}

/// What GET DIAGNOSTICS can tell.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs)]
pub(crate) enum Diagnostic {
    RowCount,
    Context,
    ReturnedSqlState,
    MessageText,
    ExceptionDetail,
    ExceptionHint,
    ExceptionContext,
    ColumnName,
    ConstraintName,
    DataTypeName,
    TableName,
    SchemaName,
}
