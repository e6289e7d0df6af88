//! Kernels as functions of this process.

use std::fmt;
use std::sync::Arc;

use cranelift_jit::{JITBuilder, JITModule};
use tj_kernel::Kernel;
use tj_kernel::abi::KernelFn;

use crate::Error;
use crate::executable::Executable;
use crate::module::define;
use crate::target::{Options, Use, isa};

/// Kernels in executable memory. Clones share it; it is given back when the last one goes.
///
/// ```
/// use tj_codegen_cranelift::{Jit, Options};
/// use tj_kernel::{Builder, Grid};
///
/// let grid = Grid { extent: 1.into(), multiple: 1, cost: 1.into() };
/// let nothing = Builder::new("nothing", grid).finish();
/// let jit = Jit::compile(&[&nothing], &Options::default())?;
/// assert!(jit.kernel("nothing").is_some());
/// # Ok::<(), tj_codegen_cranelift::Error>(())
/// ```
#[derive(Clone)]
pub struct Jit {
    code: Arc<Code>,
}

struct Code {
    entries: Vec<(String, KernelFn)>,
    /// Keeps what the entries point to.
    _executable: Executable,
}

impl Jit {
    /// Compiles valid kernels with unique names.
    pub fn compile(kernels: &[&Kernel], options: &Options) -> Result<Jit, Error> {
        let mut builder =
            JITBuilder::with_isa(isa(options, Use::Jit)?, cranelift_module::default_libcall_names());
        // What instructions of machines without SSE4.1 or FMA turn into.
        builder.symbol("fmaf", fmaf as *const u8);
        builder.symbol("fma", fma as *const u8);
        builder.symbol("floorf", floorf as *const u8);
        builder.symbol("floor", floor as *const u8);
        let mut executable = Executable::new(JITModule::new(builder));
        let ids = define(executable.module(), kernels)?;
        executable.module().finalize_definitions().map_err(|e| Error::Machine { reason: e.to_string() })?;
        let entries = kernels.iter().zip(ids).map(|(k, id)| (k.name.clone(), executable.entry(id))).collect();
        Ok(Jit { code: Arc::new(Code { entries, _executable: executable }) })
    }

    /// The entry of a kernel by name.
    ///
    /// Whoever calls it keeps a clone of this `Jit` until the call has returned, and passes a table that fits the
    /// kernel (see `tj_kernel::abi`).
    pub fn kernel(&self, name: &str) -> Option<KernelFn> {
        self.code.entries.iter().find(|(n, _)| n == name).map(|(_, f)| *f)
    }

    /// The entries in the order in which the kernels were given.
    pub fn kernels(&self) -> impl ExactSizeIterator<Item = KernelFn> {
        self.code.entries.iter().map(|(_, f)| *f)
    }
}

impl fmt::Debug for Jit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.code.entries.iter().map(|(name, _)| name)).finish()
    }
}

extern "C" fn fmaf(a: f32, b: f32, c: f32) -> f32 {
    a.mul_add(b, c)
}

extern "C" fn fma(a: f64, b: f64, c: f64) -> f64 {
    a.mul_add(b, c)
}

extern "C" fn floorf(x: f32) -> f32 {
    x.floor()
}

extern "C" fn floor(x: f64) -> f64 {
    x.floor()
}
