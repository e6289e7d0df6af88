//! What can go wrong between a lazy tensor and its value.

use std::panic::Location;

use tj_ir::{DimError, Function, IrError};
use tj_library::LibraryError;
use tj_plan::derive::IllegalStep;
use tj_plan::{IllegalGrouping, InterpretError};
use tj_tensor::{DType, Scalar, TensorError, Width};

/// A mistake of the user, a limit of the machine, or a scheduler that asks for something illegal.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The program itself is wrong.
    #[error(transparent)]
    Program(#[from] IrError),
    /// Arithmetic on sizes failed.
    #[error(transparent)]
    Size(#[from] DimError),
    /// A tensor of the program is too large.
    #[error("{tensor}: {cause}")]
    TooLarge {
        /// The input, output or operator.
        tensor: String,
        /// What does not fit.
        cause: Box<DimError>,
    },
    /// A tensor could not be made.
    #[error(transparent)]
    Tensor(#[from] TensorError),
    /// A scheduler returned decisions that would change the meaning of the program.
    #[error("scheduler {scheduler}: {cause}")]
    Scheduler {
        /// Its name.
        scheduler: String,
        /// The illegal decision.
        cause: IllegalGrouping,
    },
    /// A scheduler rearranged a program by what is no law.
    #[error("scheduler {scheduler}: {cause}")]
    Derivation {
        /// Its name.
        scheduler: String,
        /// The illegal step.
        cause: IllegalStep,
    },
    /// An argument that the program does not take.
    #[error("the program has no input {name}; it takes {known}")]
    UnknownInput {
        /// The name given.
        name: String,
        /// The names there are.
        known: String,
    },
    /// An argument that was not given.
    #[error("input {name} ({declared}) is missing")]
    MissingInput {
        /// The name.
        name: String,
        /// How it was declared.
        declared: String,
    },
    /// An argument that was given twice.
    #[error("input {name} is given twice")]
    RepeatedInput {
        /// The name.
        name: String,
    },
    /// An argument of the wrong dtype.
    #[error("input {name} has dtype {found}, declared {expected}")]
    DType {
        /// The input.
        name: String,
        /// What came.
        found: DType,
        /// What was declared.
        expected: DType,
    },
    /// An argument with another fill than the input.
    #[error("input {name} has fill {found}, declared {expected}")]
    Fill {
        /// The input.
        name: String,
        /// What came.
        found: Scalar,
        /// What was declared.
        expected: Scalar,
    },
    /// An argument with more coordinates than its declared format can tell apart.
    #[error(
        "axis {axis} of input {name} has size {extent}, but {format} has coordinates of {width}: declare a format with u64"
    )]
    Width {
        /// The input.
        name: String,
        /// The axis.
        axis: usize,
        /// Its size.
        extent: usize,
        /// The width of coordinates.
        width: Width,
        /// The declared format.
        format: String,
    },
    /// Something that is for dense tensors alone.
    #[error("{function} {takes}, but {found}")]
    DenseOnly {
        /// What was called.
        function: &'static str,
        /// What it takes.
        takes: &'static str,
        /// What is stored by levels.
        found: String,
    },
    /// An argument of the wrong rank.
    #[error("input {name} has rank {found}, declared {declared}")]
    Rank {
        /// The input.
        name: String,
        /// What came.
        found: usize,
        /// How it was declared.
        declared: String,
    },
    /// An axis whose size is not what it must be.
    #[error("axis {axis} of input {name} has size {found}, but {expected}")]
    AxisSize {
        /// The input.
        name: String,
        /// The axis.
        axis: usize,
        /// Its size.
        found: usize,
        /// What it must be, and why.
        expected: String,
    },
    /// A size outside of its bounds.
    #[error("size {symbol} is {value} ({origin}), but its bounds are {lo}..={hi}")]
    OutOfBounds {
        /// The symbol.
        symbol: String,
        /// Its value.
        value: i64,
        /// Where the value comes from.
        origin: String,
        /// Least value.
        lo: i64,
        /// Greatest value.
        hi: i64,
    },
    /// A symbol that no argument determines.
    #[error("size {symbol} is not determined by any argument; give it as a binding")]
    UnboundSymbol {
        /// The symbol.
        symbol: String,
    },
    /// A binding for a symbol that the program does not have.
    #[error("the program has no size {symbol}; it has {known}")]
    UnknownSymbol {
        /// The name given.
        symbol: String,
        /// The names there are.
        known: String,
    },
    /// Two bindings for one symbol.
    #[error("size {symbol} is given twice: {first} and {second}")]
    RepeatedSymbol {
        /// The name.
        symbol: String,
        /// One value.
        first: i64,
        /// The other.
        second: i64,
    },
    /// A condition on sizes that does not hold.
    #[error("{condition} does not hold: {values}; needed by {reason} ({location})")]
    Guard {
        /// The condition.
        condition: String,
        /// The values of both sides, and where they come from.
        values: String,
        /// The operator that needs it.
        reason: String,
        /// Where the user called it.
        location: String,
    },
    /// More memory than allowed.
    #[error("the call needs {needed} bytes, but {allowed} are allowed")]
    Budget {
        /// Inputs, temporaries and outputs.
        needed: u64,
        /// The limit.
        allowed: u64,
    },
    /// `call_into` was given more or fewer views than the program has outputs.
    #[error("the program has {expected} {}, but {found} {} given", outputs(*.expected), were(*.found))]
    OutputCount {
        /// Views given.
        found: usize,
        /// Outputs of the program.
        expected: usize,
    },
    /// A view given to `call_into` does not fit its output.
    #[error("output {position} {problem}")]
    Output {
        /// Which.
        position: usize,
        /// What is wrong.
        problem: String,
    },
    /// A function of whole tensors that cannot be computed from the values it was given: a singular matrix, a position
    /// outside of its axis, a negative count.
    #[error("{function}: {problem} ({location})")]
    Function {
        /// Its name.
        function: &'static str,
        /// What is wrong.
        problem: String,
        /// Where the user called it.
        location: String,
    },
    /// A function of whole tensors in a program that is to be exported.
    #[error("{function} is computed by this library, which an exported program does not have ({location})")]
    Export {
        /// Its name.
        function: &'static str,
        /// Where the user called it.
        location: String,
    },
    /// The plan interpreter failed.
    #[error(transparent)]
    Interpret(Box<InterpretError>),
    /// The chosen back end is not part of this build.
    #[error("this build has no {backend} back end")]
    NoBackend {
        /// Its name.
        backend: &'static str,
    },
    /// The back end refused a kernel, or its compiler failed.
    #[error("{backend} back end: {problem}")]
    Backend {
        /// Its name.
        backend: &'static str,
        /// What it said.
        problem: String,
    },
    /// A kernel, or a table around it, that breaks our own rules.
    #[error("internal error in {pass}: {problem}")]
    Internal {
        /// The pass that noticed.
        pass: &'static str,
        /// What it saw.
        problem: String,
    },
    /// A file name that does not name a C library.
    #[error("{path}: the name before the extension must be a C identifier")]
    FileName {
        /// The file.
        path: String,
    },
    /// A name for an output of an exported program that C does not take.
    #[error("output {position} is named {name:?}, {problem}")]
    OutputName {
        /// Which.
        position: usize,
        /// The name given.
        name: String,
        /// What is wrong.
        problem: String,
    },
    /// An object file and a header that would be the same file.
    #[error("{path}: the object and its header need two files")]
    SameFile {
        /// The file.
        path: String,
    },
    /// A file could not be written.
    #[error("{path}: {source}")]
    File {
        /// The file.
        path: String,
        /// The cause.
        source: std::io::Error,
    },
}

impl Error {
    /// What a library said of `function`.
    pub(crate) fn function(function: Function, cause: &LibraryError, location: &Location<'_>) -> Error {
        Error::library(function.name(), cause, location)
    }

    /// What a library said of a function or selection of this name.
    pub(crate) fn library(function: &'static str, cause: &LibraryError, location: &Location<'_>) -> Error {
        let cause = cause.to_string();
        let problem = cause.strip_prefix(function).and_then(|rest| rest.strip_prefix(": "));
        let problem = problem.map_or(cause.clone(), str::to_string);
        Error::Function { function, problem, location: location.to_string() }
    }
}

impl From<InterpretError> for Error {
    fn from(error: InterpretError) -> Error {
        let InterpretError::Function { function, cause, location } = error else {
            return Error::Interpret(Box::new(error));
        };
        Error::function(function, &cause, location)
    }
}

fn outputs(count: usize) -> &'static str {
    if count == 1 { "output" } else { "outputs" }
}

fn were(count: usize) -> &'static str {
    if count == 1 { "view was" } else { "views were" }
}
