//! Finds a C compiler and makes sure that it answers.
//!
//! The `cc` crate knows where compilers are and how `CC`, `CFLAGS` and their kin are read, but does not check that
//! what it names exists; and by itself it would speak to cargo on our standard output.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::mpsc::channel;
use std::time::Duration;

use target_lexicon::Triple;

use super::flags::Dialect;
use super::{ToolchainError, process};

/// A compiler that answered.
#[derive(Debug, Clone)]
pub(super) struct Compiler {
    program: OsString,
    args: Vec<OsString>,
    dialect: Dialect,
    version: String,
    identity: Vec<u8>,
}

/// Tried where nothing names a compiler and `cc` is missing.
const FALLBACKS: [&str; 2] = ["gcc", "clang"];

/// The environment variables that choose a compiler or its cache.
pub(super) fn variables() -> impl Iterator<Item = OsString> {
    let others = ["PATH", "HOME", "XDG_CACHE_HOME", "TENSORJIT_CACHE_DIR", "CROSS_COMPILE"];
    ["CC", "CFLAGS"].into_iter().flat_map(kin).chain(others.map(str::to_owned)).map(OsString::from)
}

/// The names under which `cc` looks for a variable.
fn kin(name: &str) -> Vec<String> {
    let host = Triple::host().to_string();
    vec![
        name.to_owned(),
        format!("HOST_{name}"),
        format!("{name}_{}", host.replace('-', "_")),
        format!("{name}_{host}"),
    ]
}

impl Compiler {
    /// Finds `explicit`, or what the environment names, or the first of the usual names that answers.
    pub(super) fn find(explicit: Option<&Path>, timeout: Duration) -> Result<Compiler, ToolchainError> {
        let mut tried = Vec::new();
        let named = explicit.is_some() || kin("CC").iter().any(|name| std::env::var_os(name).is_some());
        let fallbacks = if named { &[][..] } else { &FALLBACKS[..] };
        let candidates = std::iter::once(explicit.map(Path::to_owned))
            .chain(fallbacks.iter().map(|f| Some(PathBuf::from(f))));
        for candidate in candidates {
            match Compiler::try_one(candidate, timeout) {
                Ok(compiler) => return Ok(compiler),
                Err(reason) => tried.push(reason),
            }
        }
        Err(ToolchainError::NoCompiler { tried })
    }

    /// A command that runs the compiler, with what the environment adds to it.
    pub(super) fn command(&self) -> Command {
        let mut command = Command::new(&self.program);
        // Messages are for programs and bug reports.
        command.args(&self.args).env("LC_ALL", "C");
        command
    }

    /// The name it is run by.
    pub(super) fn program(&self) -> String {
        self.program.to_string_lossy().into_owned()
    }

    /// The first line of what it says about itself.
    pub(super) fn version(&self) -> &str {
        self.version.lines().next().unwrap_or_default()
    }

    /// The options it understands.
    pub(super) fn dialect(&self) -> Dialect {
        self.dialect
    }

    /// Everything about it that its output depends on.
    pub(super) fn identity(&self) -> &[u8] {
        &self.identity
    }

    fn try_one(candidate: Option<PathBuf>, timeout: Duration) -> Result<Compiler, String> {
        let name = candidate.as_deref().map_or("cc".to_owned(), |c| c.display().to_string());
        let scratch = process::scratch_dir().map_err(|e| e.to_string())?;
        let (command, dialect) =
            look_up(candidate, scratch.path().to_owned(), timeout).map_err(|e| format!("{name}: {e}"))?;
        // `cc` copies the whole environment into the command. A child has it anyway, and an identity must not.
        let mut compiler = Compiler {
            program: command.get_program().to_owned(),
            args: command.get_args().map(OsString::from).collect(),
            dialect,
            version: String::new(),
            identity: Vec::new(),
        };
        let mut question = compiler.command();
        question.arg("--version");
        let line = process::text(&question);
        let answer = process::run(question, scratch.path(), timeout).map_err(|e| e.to_string())?;
        if !answer.status.success() || answer.stdout.trim().is_empty() {
            return Err(format!("{line}: {}, {:?}", answer.status, answer.stderr.trim()));
        }
        compiler.version = answer.stdout;
        compiler.identity =
            format!("{:?}", (&compiler.program, &compiler.args, &compiler.version)).into_bytes();
        Ok(compiler)
    }
}

/// Asks the `cc` crate, which runs the compiler to find out its family and has no timeout of its own.
fn look_up(
    candidate: Option<PathBuf>,
    scratch: PathBuf,
    timeout: Duration,
) -> Result<(Command, Dialect), String> {
    let (send, receive) = channel();
    std::thread::spawn(move || {
        let host = Triple::host().to_string();
        let mut build = cc::Build::new();
        build.cargo_metadata(false).cargo_warnings(false).cargo_debug(false).cargo_output(false);
        build
            .emit_rerun_if_env_changed(false)
            .inherit_rustflags(false)
            .no_default_flags(true)
            .warnings(false);
        build.target(&host).host(&host).opt_level(3).debug(false).out_dir(scratch);
        if let Some(candidate) = candidate {
            build.compiler(candidate);
        }
        let tool = build
            .try_get_compiler()
            .map(|tool| (tool.to_command(), if tool.is_like_gnu() { Dialect::Gnu } else { Dialect::Other }));
        // Nobody listens after the timeout.
        let _ = send.send(tool.map_err(|e| e.to_string()));
    });
    receive.recv_timeout(timeout).unwrap_or_else(|_| Err(format!("no answer within {} s", timeout.as_secs())))
}
