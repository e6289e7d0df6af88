//! From kernels to functions that can be called.

use std::fmt;

use rustc_hash::FxHashMap;
use tj_kernel::abi::KernelFn;
use tj_kernel::{Kernel, Lowered};

use crate::error::Error;
use tj_plan::Backend;

use crate::options::built_in;

/// Machine code of a program's kernels. Equal kernels share code.
pub(crate) struct Code {
    entries: Vec<KernelFn>,
    /// Keeps the code alive.
    _owner: Owner,
    backend: &'static str,
}

#[cfg_attr(
    any(feature = "cranelift", feature = "c"),
    expect(dead_code, reason = "owners are held, not read")
)]
enum Owner {
    #[cfg(feature = "cranelift")]
    Jit(tj_codegen_cranelift::Jit),
    #[cfg(feature = "c")]
    Library(std::sync::Arc<crate::toolchain::CLibrary>),
    Nothing,
}

impl Code {
    /// Compiles the kernels with the chosen back end.
    pub fn compile(lowered: &[Lowered], backend: Backend) -> Result<Code, Error> {
        let (distinct, which) = distinct(lowered);
        let kernels: Vec<&Kernel> = distinct.iter().collect();
        let (functions, owner, backend) = match built_in(backend) {
            Backend::Auto | Backend::Cranelift => cranelift(&kernels)?,
            Backend::C => c(&kernels)?,
        };
        let entries = which.into_iter().map(|at| functions[at]).collect();
        Ok(Code { entries, _owner: owner, backend })
    }

    /// The function of a kernel.
    pub fn entry(&self, kernel: usize) -> KernelFn {
        self.entries[kernel]
    }
}

impl fmt::Debug for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Code({}, {} kernels)", self.backend, self.entries.len())
    }
}

/// Kernels that differ in more than names, and for each kernel which of them it is.
fn distinct(lowered: &[Lowered]) -> (Vec<Kernel>, Vec<usize>) {
    let mut distinct: Vec<Kernel> = Vec::new();
    let mut known: FxHashMap<Kernel, usize> = FxHashMap::default();
    let which = lowered.iter().map(|l| {
        let mut nameless = l.kernel.clone();
        nameless.name = String::new();
        for buffer in &mut nameless.buffers {
            buffer.name = String::new();
        }
        *known.entry(nameless).or_insert_with(|| {
            distinct.push(l.kernel.clone());
            distinct.len() - 1
        })
    });
    let which = which.collect();
    (distinct, which)
}

type Compiled = (Vec<KernelFn>, Owner, &'static str);

#[cfg(feature = "cranelift")]
fn cranelift(kernels: &[&Kernel]) -> Result<Compiled, Error> {
    let name = "cranelift";
    let options = tj_codegen_cranelift::Options::default();
    let jit = tj_codegen_cranelift::Jit::compile(kernels, &options)
        .map_err(|e| Error::Backend { backend: name, problem: e.to_string() })?;
    Ok((jit.kernels().collect(), Owner::Jit(jit), name))
}

#[cfg(not(feature = "cranelift"))]
fn cranelift(kernels: &[&Kernel]) -> Result<Compiled, Error> {
    if kernels.is_empty() {
        return Ok((Vec::new(), Owner::Nothing, "cranelift"));
    }
    Err(Error::NoBackend { backend: "cranelift" })
}

#[cfg(feature = "c")]
fn c(kernels: &[&Kernel]) -> Result<Compiled, Error> {
    let name = "c";
    if kernels.is_empty() {
        return Ok((Vec::new(), Owner::Nothing, name));
    }
    let failed = |e: &dyn fmt::Display| Error::Backend { backend: name, problem: e.to_string() };
    let source = tj_codegen_c::emit(kernels).map_err(|e| failed(&e))?;
    let toolchain = crate::toolchain::Toolchain::from_env().map_err(|e| failed(&e))?;
    let names: Vec<&str> = kernels.iter().map(|k| k.name.as_str()).collect();
    let library = toolchain.compile(&source, &names).map_err(|e| failed(&e))?;
    let functions =
        names.iter().map(|n| library.kernel(n).ok_or_else(|| failed(&format!("no function {n}"))));
    Ok((functions.collect::<Result<_, _>>()?, Owner::Library(library), name))
}

#[cfg(not(feature = "c"))]
fn c(_: &[&Kernel]) -> Result<Compiled, Error> {
    Err(Error::NoBackend { backend: "c" })
}
