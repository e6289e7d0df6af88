//! Kernels as functions of a Cranelift module, whatever the module does with them.

use cranelift_codegen::Context;
use cranelift_codegen::isa::TargetIsa;
use cranelift_frontend::FunctionBuilderContext;
use cranelift_module::{FuncId, Linkage, Module, ModuleError};
use cranelift_object::{ObjectBuilder, ObjectModule};
use tj_kernel::Kernel;

use crate::target::{Options, Use, isa};
use crate::{Error, emit, types};

/// Adds kernels to a module as exported functions with the signature of `tj_kernel::abi::KernelFn`.
///
/// The kernels are valid (the verifier of `tj_kernel` has passed them) and their names are unique in the module.
pub fn define<M: Module>(module: &mut M, kernels: &[&Kernel]) -> Result<Vec<FuncId>, Error> {
    let mut ctx = module.make_context();
    let mut frontend = FunctionBuilderContext::new();
    let mut ids = Vec::with_capacity(kernels.len());
    for kernel in kernels {
        types::check(kernel)?;
        let codegen = |e: ModuleError| Error::Codegen { kernel: kernel.name.clone(), reason: e.to_string() };
        build(kernel, module.isa(), &mut ctx, &mut frontend);
        let id =
            module.declare_function(&kernel.name, Linkage::Export, &ctx.func.signature).map_err(codegen)?;
        module.define_function(id, &mut ctx).map_err(codegen)?;
        module.clear_context(&mut ctx);
        ids.push(id);
    }
    Ok(ids)
}

/// Kernels as an object file for the linker of this machine: position independent, one exported symbol a kernel.
///
/// On machines without fused multiply-adds or SSE4.1 (and with [`Features::Baseline`](crate::Features)) it may need
/// `fma`, `floor` and their f32 forms of the C library.
///
/// ```
/// use tj_codegen_cranelift::{Options, emit_object};
/// use tj_kernel::{Builder, Grid};
///
/// let grid = Grid { extent: 1.into(), multiple: 1, cost: 1.into() };
/// let nothing = Builder::new("nothing", grid).finish();
/// let bytes = emit_object(&[&nothing], "program", &Options::default())?;
/// # #[cfg(target_os = "linux")]
/// assert!(bytes.starts_with(b"\x7fELF"));
/// # Ok::<(), tj_codegen_cranelift::Error>(())
/// ```
pub fn emit_object(kernels: &[&Kernel], name: &str, options: &Options) -> Result<Vec<u8>, Error> {
    let failed = |e: &dyn ToString| Error::Codegen { kernel: name.to_owned(), reason: e.to_string() };
    let builder =
        ObjectBuilder::new(isa(options, Use::Object)?, name, cranelift_module::default_libcall_names())
            .map_err(|e| failed(&e))?;
    let mut module = ObjectModule::new(builder);
    define(&mut module, kernels)?;
    module.finish().emit().map_err(|e| failed(&e))
}

/// What Cranelift is given for a kernel, as text.
pub fn clif(kernel: &Kernel, options: &Options) -> Result<String, Error> {
    types::check(kernel)?;
    let mut ctx = Context::new();
    build(kernel, &*isa(options, Use::Jit)?, &mut ctx, &mut FunctionBuilderContext::new());
    Ok(ctx.func.display().to_string())
}

/// What Cranelift makes of a kernel: machine instructions, as text.
pub fn disassembly(kernel: &Kernel, options: &Options) -> Result<String, Error> {
    types::check(kernel)?;
    let isa = isa(options, Use::Jit)?;
    let mut ctx = Context::new();
    build(kernel, &*isa, &mut ctx, &mut FunctionBuilderContext::new());
    ctx.set_disasm(true);
    let code = ctx
        .compile(&*isa, &mut Default::default())
        .map_err(|e| Error::Codegen { kernel: kernel.name.clone(), reason: e.inner.to_string() })?;
    Ok(code.vcode.clone().unwrap_or_default())
}

fn build(kernel: &Kernel, isa: &dyn TargetIsa, ctx: &mut Context, frontend: &mut FunctionBuilderContext) {
    let config = isa.frontend_config();
    ctx.func.signature = emit::signature(config);
    emit::function(kernel, config, &mut ctx.func, frontend);
}
