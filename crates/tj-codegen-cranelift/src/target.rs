//! The machine that code is made for.

use std::sync::Arc;

use cranelift_codegen::isa::{OwnedTargetIsa, TargetIsa};
use cranelift_codegen::settings::{self, Configurable};
use target_lexicon::{Endianness, PointerWidth};

use crate::Error;

/// Everything that changes the code of a kernel, beside the kernel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Options {
    /// Which instructions may be used.
    pub features: Features,
}

/// Which instructions code may use. Results have the same bits either way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Features {
    /// All that this machine has.
    #[default]
    Host,
    /// Those that every machine of this architecture has. Fused multiply-adds become calls.
    Baseline,
}

/// Where code will run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Use {
    /// In this process.
    Jit,
    /// Linked into a program.
    Object,
}

/// The instruction set, with the settings we want.
pub(crate) fn isa(options: &Options, usage: Use) -> Result<OwnedTargetIsa, Error> {
    let machine = |reason: &dyn ToString| Error::Machine { reason: reason.to_string() };
    let mut flags = settings::builder();
    let pic = if usage == Use::Object { "true" } else { "false" };
    for (name, value) in [
        ("opt_level", "speed"),
        ("enable_verifier", if cfg!(debug_assertions) { "true" } else { "false" }),
        ("is_pic", pic),
        ("use_colocated_libcalls", "false"),
        // Kernels call nothing that unwinds.
        ("unwind_info", "false"),
    ] {
        flags.set(name, value).map_err(|e| machine(&e))?;
    }
    let infer = options.features == Features::Host;
    let builder = cranelift_native::builder_with_options(infer).map_err(|e| machine(&e))?;
    let isa: Arc<dyn TargetIsa> = builder.finish(settings::Flags::new(flags)).map_err(|e| machine(&e))?;
    let triple = isa.triple();
    // The argument table holds narrow numbers at the low end of 64 bits, and addresses are added to i64.
    if triple.endianness() != Ok(Endianness::Little) || triple.pointer_width() != Ok(PointerWidth::U64) {
        return Err(machine(&format!("{triple} is not a little-endian machine of 64 bits")));
    }
    Ok(isa)
}
