//! Owns the memory that machine code lies in. The one file of this crate with unsafe code.

#![allow(unsafe_code)]

use std::sync::{Mutex, PoisonError};

use cranelift_jit::JITModule;
use cranelift_module::FuncId;
use tj_kernel::abi::KernelFn;

/// A module of compiled code; its memory is given back when it is dropped.
pub(crate) struct Executable {
    /// `Some` until dropped. The lock is never taken: it makes the module shareable, and nobody shares it.
    module: Mutex<Option<JITModule>>,
}

impl Executable {
    /// Takes care of a module, finished or not.
    pub(crate) fn new(module: JITModule) -> Executable {
        Executable { module: Mutex::new(Some(module)) }
    }

    /// The module, for adding code to it.
    pub(crate) fn module(&mut self) -> &mut JITModule {
        let module = self.module.get_mut().unwrap_or_else(PoisonError::into_inner);
        module.as_mut().expect("the module is taken by `drop` only")
    }

    /// The entry of a finished function that was defined with the signature of a kernel.
    pub(crate) fn entry(&mut self, id: FuncId) -> KernelFn {
        let code = self.module().get_finalized_function(id);
        // SAFETY: `id` was defined by `crate::module::define`, which gives every function the signature of `KernelFn`
        // in this machine's C calling convention, and `get_finalized_function` returns the address of its code.
        unsafe { std::mem::transmute::<*const u8, KernelFn>(code) }
    }
}

impl Drop for Executable {
    fn drop(&mut self) {
        let module = self.module.get_mut().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(module) = module {
            // SAFETY: the code is only reached through entries, and calling one is unsafe: its caller has promised to
            // keep the `Jit` it came from, and with it this value, until the call has returned.
            unsafe { module.free_memory() };
        }
    }
}
