//! What each command does.
//!
//! Results go to standard output, everything else to standard error.
#![expect(clippy::wildcard_enum_match_arm, reason = "whatever is not of the wanted kind is treated alike")]

mod convert;
mod explain;
mod given;
mod plan_memory;
mod run;
mod save;
mod show;
mod staged;

use std::collections::BTreeMap;
use std::fs;
use std::io::Write as _;
use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::Arc;

use tensorjit::{
    Backend, Bytes, CompileOptions, Error, InterpretKernel, InterpretPlan, LazyTensor, Scheduler, Tensor,
    TensorError, input,
};

use crate::args::{BackendName, Cli, Command, SchedulerName, WorkArgs};
use crate::ast::Program;
use crate::data::Data;
use crate::diagnostic::{Diagnostic, Style};
use crate::eval::{Evaluated, Value, evaluate_on};
use crate::exit::Exit;
use crate::parse::{parse_expression, parse_program};
use crate::values::{MaxBytes, Source};

/// Why a command stops.
#[derive(Debug)]
pub struct Failure {
    exit: Exit,
    /// Ready to be shown.
    message: String,
}

impl Failure {
    /// The user's input is wrong.
    pub fn wrong(message: impl Into<String>) -> Failure {
        Failure { exit: Exit::Wrong, message: format!("error: {}\n", message.into()) }
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Failure {
        let exit = match error {
            Error::Budget { .. } => Exit::Budget,
            Error::Internal { .. } => Exit::Bug,
            _ => Exit::Wrong,
        };
        // The caller in Rust, which some errors name, is the evaluator here and no place that the user knows.
        let message = match error {
            Error::Guard { condition, values, reason, .. } => {
                format!("{condition} does not hold: {values}; needed by {reason}")
            }
            Error::Program(error) => error.cause.to_string(),
            other => other.to_string(),
        };
        Failure { exit, message: format!("error: {message}\n") }
    }
}

impl From<TensorError> for Failure {
    fn from(error: TensorError) -> Failure {
        Failure::wrong(error.to_string())
    }
}

impl From<tensorjit::io::IoError> for Failure {
    fn from(error: tensorjit::io::IoError) -> Failure {
        Failure::wrong(error.to_string())
    }
}

impl From<std::io::Error> for Failure {
    fn from(error: std::io::Error) -> Failure {
        Failure::wrong(error.to_string())
    }
}

/// Does what the command line asks for and shows what went wrong.
pub fn run(cli: Cli) -> Exit {
    let done = match cli.command {
        Command::Run(args) => run::run(&args),
        Command::Explain(args) => explain::explain(&args),
        Command::Check(args) => show::check(&args),
        Command::Build(args) => show::build(&args),
        Command::PlanMemory(args) => plan_memory::plan_memory(&args),
        Command::Info(args) => show::info(&args),
        Command::Convert(args) => convert::convert(&args),
        Command::Doctor => show::doctor(),
    };
    match done {
        Ok(()) => Exit::Done,
        Err(Failure { exit, message }) => {
            remark(&message);
            exit
        }
    }
}

/// Writes to standard error.
fn remark(text: &str) {
    // Nobody is left to tell if that is gone.
    let _ = std::io::stderr().write_all(text.as_bytes());
}

/// Writes a result to standard output.
fn print(text: &str) -> Result<(), Failure> {
    let mut out = std::io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        // Whoever reads has seen enough.
        Err(e) if e.kind() == std::io::ErrorKind::BrokenPipe => Ok(()),
        done => Ok(done?),
    }
}

/// Reads a text; where it is no UTF-8, says from which place on.
fn read_text(path: &Path) -> Result<String, Failure> {
    let origin = path.display();
    let bytes = fs::read(path).map_err(|e| Failure::wrong(format!("{origin}: {e}")))?;
    String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        let before = String::from_utf8_lossy(&error.as_bytes()[..at]);
        let line = before.matches('\n').count() + 1;
        let column = before.chars().rev().take_while(|&c| c != '\n').count() + 1;
        let byte = error.as_bytes()[at];
        Failure::wrong(format!("{origin}:{line}:{column}: the text is not UTF-8: byte 0x{byte:02x}"))
    })
}

/// A program and its text.
struct Text {
    origin: String,
    source: String,
    program: Program,
}

impl Text {
    fn read(source: &Source) -> Result<Text, Failure> {
        let (origin, source, parsed) = match source {
            Source::File(path) => {
                let origin = path.display().to_string();
                let text = read_text(path)?;
                let parsed = parse_program(&text);
                (origin, text, parsed)
            }
            Source::Expression(text) => ("expression".to_string(), text.clone(), parse_expression(text)),
        };
        match parsed {
            Ok(program) => Ok(Text { origin, source, program }),
            Err(errors) => {
                let shown =
                    errors.iter().map(|e| Diagnostic::from(e).render(&origin, &source, Style::of_stderr()));
                Err(Failure { exit: Exit::Wrong, message: shown.collect() })
            }
        }
    }

    /// A mistake under the words that made it.
    fn refused(&self, diagnostic: &Diagnostic) -> Failure {
        let message = diagnostic.render(&self.origin, &self.source, Style::of_stderr());
        Failure { exit: Exit::Wrong, message }
    }

    fn evaluate(&self, given: &BTreeMap<String, Value>) -> Result<Evaluated, Failure> {
        self.evaluate_on(given, &BTreeMap::new())
    }

    /// As [`Text::evaluate`], where declared inputs and sizes have these values.
    fn evaluate_on(
        &self,
        given: &BTreeMap<String, Value>,
        declared: &BTreeMap<String, Value>,
    ) -> Result<Evaluated, Failure> {
        evaluate_on(&self.program, given, declared).map_err(|diagnostic| self.refused(&diagnostic))
    }
}

/// A program ready to be compiled, with data for its inputs.
struct Work {
    evaluated: Evaluated,
    inputs: Vec<(String, Tensor)>,
    /// What the program does not declare and is no input.
    given: BTreeMap<String, Value>,
    options: CompileOptions,
}

impl Work {
    /// Reads a program and its data. `sizes` are values of size symbols.
    fn read(text: &Text, args: &WorkArgs, sizes: &BTreeMap<String, i64>) -> Result<Work, Failure> {
        given::check_inputs(text, args)?;
        let declared = given::declared(text);
        let mut data = Data::new(sizes, args.max_bytes);
        // What the program does not declare gets its type from the data; numbers stay weak.
        let mut given: BTreeMap<String, Value> = BTreeMap::new();
        let mut inputs: Vec<(String, Tensor)> = Vec::new();
        let mut found: Vec<LazyTensor> = Vec::new();
        for argument in &args.inputs {
            if declared.contains(&argument.name.as_str()) {
                continue;
            }
            if let crate::values::InputData::Number(number) = &argument.data {
                given.insert(argument.name.clone(), weak(*number, &argument.name)?);
                continue;
            }
            let tensor = data.load(&argument.name, &argument.data, None)?;
            let shape = tensor.shape().iter().map(|&extent| extent.into());
            let lazy = input(&argument.name, tensor.dtype(), shape).map_err(Error::from)?;
            given.insert(argument.name.clone(), Value::Tensor(lazy.clone()));
            found.push(lazy);
            inputs.push((argument.name.clone(), tensor));
        }
        let evaluated = text.evaluate(&given)?;
        given::check_sizes(&evaluated, args, sizes)?;
        for argument in &args.inputs {
            let Some((_, lazy)) = evaluated.inputs.iter().find(|(name, _)| *name == argument.name) else {
                continue;
            };
            inputs.push((argument.name.clone(), data.load(&argument.name, &argument.data, Some(lazy))?));
        }
        let mut options = options(args);
        options.inputs = evaluated.inputs.iter().map(|(_, lazy)| lazy.clone()).chain(found).collect();
        Ok(Work { evaluated, inputs, given, options })
    }

    fn outputs(&self) -> Vec<LazyTensor> {
        self.evaluated.outputs.iter().map(|(_, lazy)| lazy.clone()).collect()
    }
}

fn weak(number: crate::values::Number, name: &str) -> Result<Value, Failure> {
    Ok(match number {
        crate::values::Number::Bool(b) => Value::Bool(b),
        crate::values::Number::Float(x) => Value::Float(x),
        crate::values::Number::Int(n) => Value::Int(
            i64::try_from(n)
                .map_err(|_| Failure::wrong(format!("input {name}: {n} does not fit in 63 bits")))?,
        ),
    })
}

fn options(args: &WorkArgs) -> CompileOptions {
    let scheduler: Option<Arc<dyn Scheduler>> = match args.scheduler {
        SchedulerName::Default => None,
        SchedulerName::Interpret => Some(Arc::new(InterpretPlan)),
        SchedulerName::InterpretKernel => Some(Arc::new(InterpretKernel)),
    };
    CompileOptions {
        scheduler,
        backend: match args.backend {
            BackendName::Auto => Backend::Auto,
            BackendName::Cranelift => Backend::Cranelift,
            BackendName::C => Backend::C,
        },
        max_bytes: match args.max_bytes {
            MaxBytes::Auto => tensorjit::MaxBytes::Auto,
            MaxBytes::Bytes(n) => Bytes(n),
            MaxBytes::Unlimited => tensorjit::MaxBytes::Unlimited,
        },
        threads: args.threads.map_or(0, NonZeroUsize::get),
        ..CompileOptions::default()
    }
}

/// Values of sizes from `--dim`.
fn given_sizes(args: &WorkArgs) -> Result<BTreeMap<String, i64>, Failure> {
    let mut sizes = BTreeMap::new();
    for dim in &args.dims {
        let value = i64::try_from(dim.value).map_err(|_| {
            Failure::wrong(format!("size {} = {} does not fit in 63 bits", dim.name, dim.value))
        })?;
        if sizes.insert(dim.name.clone(), value).is_some() {
            return Err(Failure::wrong(format!("size {} is given twice", dim.name)));
        }
    }
    Ok(sizes)
}
