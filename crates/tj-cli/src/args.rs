//! The command line.

use crate::values::{DimValue, Input, MaxBytes, OutputFile, Source, Sweep};
use clap::{Args, Parser, Subcommand, ValueEnum};
use std::num::NonZeroUsize;
use std::path::PathBuf;

/// Run, explain and check tensor programs.
#[derive(Clone, Debug, PartialEq, Parser)]
#[command(name = "tj", version, max_term_width = 100)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// What to do.
#[derive(Clone, Debug, PartialEq, Subcommand)]
pub enum Command {
    /// Run a program and print or save its outputs
    Run(RunArgs),
    /// Show what a program is compiled to
    Explain(ExplainArgs),
    /// Check types and sizes without running
    Check(CheckArgs),
    /// Compile a program to an object file
    Build(BuildArgs),
    /// Place intervals of memory, in MiniMalloc's format
    PlanMemory(PlanMemoryArgs),
    /// Show shape, type and format of the arrays in a file
    Info(InfoArgs),
    /// Write the arrays of a file in another file format, by the end of its name
    Convert(ConvertArgs),
    /// Show what this machine offers
    Doctor,
}

/// Arguments of `tj run`.
#[derive(Clone, Debug, PartialEq, Args)]
pub struct RunArgs {
    /// What to run and on what.
    #[command(flatten)]
    pub work: WorkArgs,
    /// Where an output goes: a .npy, .npz, .safetensors, .mtx or .tns file; without NAME= the only output, or all in one
    /// .npz or .safetensors; the rest is printed
    #[arg(short, long = "output", value_name = "[NAME=]FILE")]
    pub outputs: Vec<OutputFile>,
    /// Run once for each value of a size, in one process
    #[arg(long, value_name = "N=0,1,2", conflicts_with = "outputs")]
    pub sweep: Option<Sweep>,
    /// Print outputs and what the run cost as one object
    #[arg(long, value_name = "FORMAT")]
    pub report: Option<ReportFormat>,
    /// Print outputs as JSON
    #[arg(long, conflicts_with = "report")]
    pub json: bool,
}

/// Arguments of `tj explain`.
#[derive(Clone, Debug, PartialEq, Args)]
pub struct ExplainArgs {
    /// What to explain and on what.
    #[command(flatten)]
    pub work: WorkArgs,
    /// What to show; repeats; all of it by default
    #[arg(long = "stage", value_name = "STAGE")]
    pub stages: Vec<Stage>,
    /// Run it, too, and show how long each kernel takes and where its temporaries are
    #[arg(long)]
    pub measure: bool,
    /// Write one page that shows all of it
    #[arg(long, value_name = "FILE.html", conflicts_with = "stages")]
    pub html: Option<PathBuf>,
}

/// A program, its inputs and how to compile it.
#[derive(Clone, Debug, PartialEq, Args)]
pub struct WorkArgs {
    /// A file that ends in .tj, or an expression such as 'relu(x @ w).sum(axis=1)'
    #[arg(value_name = "PROGRAM|EXPR")]
    pub program: Source,
    /// Where inputs come from.
    #[arg(
        value_name = "NAME=DATA",
        help = "An input: a file (.npy, .npz, .safetensors, .mtx, .tns), an array of an archive (a.npz:NAME), a number, rand:SEED[:DTYPE:SHAPE] or ones[:DTYPE:SHAPE]"
    )]
    pub inputs: Vec<Input>,
    /// The value of a size that no input determines; repeats
    #[arg(long = "dim", value_name = "N=7")]
    pub dims: Vec<DimValue>,
    /// What decides how the program is run
    #[arg(long, value_name = "NAME", default_value = "default")]
    pub scheduler: SchedulerName,
    /// What writes machine code
    #[arg(long, value_name = "NAME", default_value = "auto")]
    pub backend: BackendName,
    /// The most bytes in use at once: 2GiB, 512MB, auto or unlimited
    #[arg(long, value_name = "BYTES", default_value = "auto")]
    pub max_bytes: MaxBytes,
    /// How many threads work; all processors by default
    #[arg(long, value_name = "N")]
    pub threads: Option<NonZeroUsize>,
}

/// Arguments of `tj check`.
#[derive(Clone, Debug, PartialEq, Eq, Args)]
pub struct CheckArgs {
    /// A file that ends in .tj, or an expression
    #[arg(value_name = "PROGRAM|EXPR")]
    pub program: Source,
}

/// Arguments of `tj build`.
#[derive(Clone, Debug, PartialEq, Eq, Args)]
pub struct BuildArgs {
    /// A file that ends in .tj
    #[arg(value_name = "PROGRAM")]
    pub program: Source,
    /// The object file to write
    #[arg(short, long, value_name = "FILE.o")]
    pub output: PathBuf,
    /// The C header to write
    #[arg(long, value_name = "FILE.h")]
    pub header: Option<PathBuf>,
}

/// Arguments of `tj plan-memory`.
#[derive(Clone, Debug, PartialEq, Eq, Args)]
pub struct PlanMemoryArgs {
    /// Lines of id,lower,upper,size under a header line
    #[arg(value_name = "FILE.csv")]
    pub file: PathBuf,
    /// Print one JSON object
    #[arg(long)]
    pub json: bool,
    /// How hard to search
    #[arg(long, value_name = "EFFORT", default_value = "compile")]
    pub effort: Effort,
    /// Fail with exit code 3 when the peak is above this
    #[arg(long, value_name = "BYTES", value_parser = crate::bytes::parse_bytes)]
    pub capacity: Option<u64>,
}

/// Arguments of `tj info`.
#[derive(Clone, Debug, PartialEq, Eq, Args)]
pub struct InfoArgs {
    /// An array file
    pub file: PathBuf,
}

/// Arguments of `tj convert`.
#[derive(Clone, Debug, PartialEq, Eq, Args)]
pub struct ConvertArgs {
    /// The file to read
    #[arg(value_name = "IN")]
    pub input: PathBuf,
    /// The file to write
    #[arg(value_name = "OUT")]
    pub output: PathBuf,
    /// How the tensors are stored: dense, csr, csc, coo(2), ...; as they are by default
    #[arg(long, value_name = "FORMAT")]
    pub format: Option<String>,
}

/// What decides how a program is run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum SchedulerName {
    /// Fuses and compiles
    Default,
    /// Interprets the plan
    Interpret,
    /// Interprets the kernels
    InterpretKernel,
}

/// What writes machine code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum BackendName {
    /// The program decides
    Auto,
    /// Cranelift, without a toolchain
    Cranelift,
    /// The C compiler of this machine
    C,
}

/// A form of a program on its way to machine code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Stage {
    /// Index notation
    Plan,
    /// Loop nests
    Kernel,
    /// The C text of the kernels
    C,
    /// The Cranelift text of the kernels
    Clif,
    /// Intervals and offsets
    Memory,
}

/// How a report is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ReportFormat {
    /// One JSON object
    Json,
}

/// How hard a memory plan is searched for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Effort {
    /// As at each call with new sizes
    Bind,
    /// As once a program
    Compile,
    /// As long as it helps
    Max,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::values::{InputData, Number};
    use clap::CommandFactory;
    use expect_test::{Expect, expect};

    fn parse(line: &str) -> Result<Command, clap::Error> {
        Cli::try_parse_from(line.split_whitespace()).map(|cli| cli.command)
    }

    fn check_error(line: &str, expected: Expect) {
        let error = parse(line).unwrap_err();
        assert_eq!(error.exit_code(), 2);
        expected.assert_eq(error.to_string().lines().next().unwrap());
    }

    #[test]
    fn the_definition_is_sound() {
        Cli::command().debug_assert();
    }

    #[test]
    fn run() {
        let line = "tj run f.tj x=a.npy --dim N=7 -o y=y.npy k=-2 -o z=z.npy --max-bytes 2GiB --threads 2 \
                    --backend c --scheduler interpret-kernel --dim M=0 --json";
        let Ok(Command::Run(args)) = parse(line) else { panic!("not a run") };
        assert_eq!(args.work.program, Source::File("f.tj".into()));
        let data: Vec<_> = args.work.inputs.iter().map(|input| (&*input.name, &input.data)).collect();
        assert_eq!(
            data,
            [("x", &InputData::File("a.npy".into())), ("k", &InputData::Number(Number::Int(-2)))]
        );
        let dims: Vec<_> = args.work.dims.iter().map(|dim| (&*dim.name, dim.value)).collect();
        assert_eq!(dims, [("N", 7), ("M", 0)]);
        let outputs: Vec<_> = args.outputs.iter().map(|output| output.name.as_deref()).collect();
        assert_eq!(outputs, [Some("y"), Some("z")]);
        assert_eq!(args.work.max_bytes, MaxBytes::Bytes(2 << 30));
        assert_eq!(args.work.threads, NonZeroUsize::new(2));
        assert_eq!(args.work.backend, BackendName::C);
        assert_eq!(args.work.scheduler, SchedulerName::InterpretKernel);
        assert!(args.json);
    }

    #[test]
    fn run_defaults_and_sweeps() {
        let Ok(Command::Run(args)) = parse("tj run x+y --sweep N=0,1,7 --report json") else {
            panic!("not a run")
        };
        assert_eq!(args.work.program, Source::Expression("x+y".into()));
        assert_eq!(args.sweep, Some(Sweep { name: "N".into(), values: vec![0, 1, 7] }));
        assert_eq!(args.report, Some(ReportFormat::Json));
        assert_eq!(args.work.max_bytes, MaxBytes::Auto);
        assert_eq!(args.work.scheduler, SchedulerName::Default);
        assert_eq!(args.work.backend, BackendName::Auto);
        assert_eq!((args.work.threads, args.outputs.len(), args.json), (None, 0, false));
    }

    #[test]
    fn the_other_commands() {
        let Ok(Command::Explain(args)) = parse("tj explain x+1 x=ones:f32:3 --stage plan --stage clif")
        else {
            panic!("not an explain")
        };
        assert_eq!((args.stages, args.work.inputs.len()), (vec![Stage::Plan, Stage::Clif], 1));
        let check = CheckArgs { program: Source::File("f.tj".into()) };
        assert_eq!(parse("tj check f.tj").unwrap(), Command::Check(check));
        let build = BuildArgs {
            program: Source::File("f.tj".into()),
            output: "f.o".into(),
            header: Some("f.h".into()),
        };
        assert_eq!(parse("tj build f.tj -o f.o --header f.h").unwrap(), Command::Build(build));
        let plan =
            PlanMemoryArgs { file: "a.csv".into(), json: true, effort: Effort::Max, capacity: Some(1 << 20) };
        assert_eq!(
            parse("tj plan-memory a.csv --json --effort max --capacity 1MiB").unwrap(),
            Command::PlanMemory(plan)
        );
        assert_eq!(parse("tj info a.npy").unwrap(), Command::Info(InfoArgs { file: "a.npy".into() }));
        let convert =
            ConvertArgs { input: "a.mtx".into(), output: "a.npz".into(), format: Some("csr".into()) };
        assert_eq!(parse("tj convert a.mtx a.npz --format csr").unwrap(), Command::Convert(convert));
        assert_eq!(parse("tj doctor").unwrap(), Command::Doctor);
    }

    #[test]
    fn usage_errors_name_the_argument() {
        check_error(
            "tj run x x",
            expect!["error: invalid value 'x' for '[NAME=DATA]...': `x` is not of the form NAME=VALUE"],
        );
        check_error(
            "tj run x --max-bytes 2G",
            expect![
                "error: invalid value '2G' for '--max-bytes <BYTES>': `2G` is not a number of bytes; write `1048576`, `512MB` or `2GiB`"
            ],
        );
        check_error(
            "tj run x --threads 0",
            expect!["error: invalid value '0' for '--threads <N>': number would be zero for non-zero type"],
        );
        check_error(
            "tj run x --sweep N=1 -o y.npy",
            expect!["error: the argument '--sweep <N=0,1,2>' cannot be used with '--output <[NAME=]FILE>'"],
        );
        check_error("tj run -x", expect!["error: unexpected argument '-x' found"]);
        check_error("tj build f.tj", expect!["error: the following required arguments were not provided:"]);
        check_error("tj plan-memory f.csv --capacity -1", expect!["error: unexpected argument '-1' found"]);
        check_error("tj explain x --stage ast", expect!["error: invalid value 'ast' for '--stage <STAGE>'"]);
    }
}
