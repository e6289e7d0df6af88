//! From kernels to functions that can be called.

use std::fmt;
use std::sync::Arc;

use rustc_hash::FxHashMap;
use tj_ir::Dim;
use tj_kernel::abi::KernelFn;
use tj_kernel::{Kernel, Lowered};

use crate::error::Error;
use crate::kernels::{Owner, functions};
use tj_plan::Backend;

use crate::options::built_in;

/// Machine code of a program's kernels. Equal kernels share code, those of other programs too.
pub(crate) struct Code {
    entries: Vec<KernelFn>,
    /// Keep the code alive.
    _owners: Vec<Arc<Owner>>,
    backend: &'static str,
}

impl Code {
    /// Compiles the kernels with the chosen back end.
    pub fn compile(lowered: &[Lowered], backend: Backend) -> Result<Code, Error> {
        let (distinct, which) = distinct(lowered);
        let (functions, owners, backend) = match built_in(backend) {
            Backend::Auto | Backend::Cranelift => {
                let compiled = functions(distinct, cranelift)?;
                let (functions, owners): (Vec<KernelFn>, Vec<Arc<Owner>>) = compiled.into_iter().unzip();
                (functions, owners, "cranelift")
            }
            // Libraries are kept on disk.
            Backend::C => {
                let kernels: Vec<&Kernel> = distinct.iter().map(|(_, kernel)| *kernel).collect();
                let (functions, owner) = c(&kernels)?;
                (functions, vec![owner], "c")
            }
        };
        let entries = which.into_iter().map(|at| functions[at]).collect();
        Ok(Code { entries, _owners: owners, backend })
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

/// Kernels that differ in their code, without and with all that does not matter to it, and for each kernel which of them it is.
fn distinct(lowered: &[Lowered]) -> (Vec<(Kernel, &Kernel)>, Vec<usize>) {
    let mut distinct: Vec<(Kernel, &Kernel)> = Vec::new();
    let mut known: FxHashMap<Kernel, usize> = FxHashMap::default();
    let which = lowered.iter().map(|l| {
        *known.entry(bare(&l.kernel)).or_insert_with_key(|bare| {
            distinct.push((bare.clone(), &l.kernel));
            distinct.len() - 1
        })
    });
    let which = which.collect();
    (distinct, which)
}

/// A kernel without names, and without what its sizes are: those are numbers that a call gives it, one after the other, and what
/// its proofs were made with. No back end writes either into code.
fn bare(kernel: &Kernel) -> Kernel {
    let mut bare = kernel.clone();
    bare.name = String::new();
    for buffer in &mut bare.buffers {
        buffer.name = String::new();
        buffer.len = Dim::from(0);
        buffer.holds = None;
    }
    bare.sizes.iter_mut().for_each(|size| *size = Dim::from(0));
    (bare.grid.extent, bare.grid.cost) = (Dim::from(0), Dim::from(0));
    bare
}

/// Functions, and what keeps them there.
type Functions = (Vec<KernelFn>, Arc<Owner>);

#[cfg(feature = "cranelift")]
fn cranelift(kernels: &[&Kernel]) -> Result<Functions, Error> {
    let options = tj_codegen_cranelift::Options::default();
    let jit = tj_codegen_cranelift::Jit::compile(kernels, &options)
        .map_err(|e| Error::Backend { backend: "cranelift", problem: e.to_string() })?;
    Ok((jit.kernels().collect(), Arc::new(jit)))
}

#[cfg(not(feature = "cranelift"))]
fn cranelift(_: &[&Kernel]) -> Result<Functions, Error> {
    Err(Error::NoBackend { backend: "cranelift" })
}

#[cfg(feature = "c")]
fn c(kernels: &[&Kernel]) -> Result<Functions, Error> {
    if kernels.is_empty() {
        return Ok((Vec::new(), Arc::new(())));
    }
    let failed = |e: &dyn fmt::Display| Error::Backend { backend: "c", problem: e.to_string() };
    let source = tj_codegen_c::emit(kernels).map_err(|e| failed(&e))?;
    let toolchain = crate::toolchain::Toolchain::from_env().map_err(|e| failed(&e))?;
    let names: Vec<&str> = kernels.iter().map(|k| k.name.as_str()).collect();
    let library = toolchain.compile(&source, &names).map_err(|e| failed(&e))?;
    let functions =
        names.iter().map(|n| library.kernel(n).ok_or_else(|| failed(&format!("no function {n}"))));
    Ok((functions.collect::<Result<_, _>>()?, library))
}

#[cfg(not(feature = "c"))]
fn c(_: &[&Kernel]) -> Result<Functions, Error> {
    Err(Error::NoBackend { backend: "c" })
}
