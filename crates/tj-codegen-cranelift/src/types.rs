//! Element types as machine types.

use cranelift_codegen::ir::{Type, types};
use tj_kernel::lanes::Width;
use tj_kernel::{Kernel, Value};
use tj_tensor::DType;

use crate::Error;

/// The machine type of one element; `None` for types that have no arithmetic here.
pub(crate) fn scalar_type(dtype: DType) -> Option<Type> {
    match dtype {
        DType::Bool | DType::I8 | DType::U8 => Some(types::I8),
        DType::I16 | DType::U16 => Some(types::I16),
        DType::I32 | DType::U32 => Some(types::I32),
        DType::I64 | DType::U64 => Some(types::I64),
        DType::F32 => Some(types::F32),
        DType::F64 => Some(types::F64),
        DType::F16 | DType::BF16 | DType::C64 | DType::C128 => None,
    }
}

/// The machine type of an element of a kernel that [`check`] has passed.
pub(crate) fn machine(dtype: DType) -> Type {
    scalar_type(dtype).expect("types are checked before code is emitted")
}

/// Vector of elements of this type; bools are masks of the loop's width.
pub(crate) fn vector_type(width: Width, dtype: DType) -> Type {
    match (width, dtype.is_float()) {
        (Width::W32, true) => types::F32X4,
        (Width::W32, false) => types::I32X4,
        (Width::W64, true) => types::F64X2,
        (Width::W64, false) => types::I64X2,
    }
}

/// Fails on the first type in a kernel that has no machine form. A buffer that is only declared may have any type.
pub(crate) fn check(kernel: &Kernel) -> Result<(), Error> {
    let values = (0..kernel.values.len() as u32).map(|v| kernel.dtype(Value(v)));
    match values.chain(kernel.vars.iter().map(|v| v.dtype)).find(|&d| scalar_type(d).is_none()) {
        Some(dtype) => Err(Error::Dtype { kernel: kernel.name.clone(), dtype }),
        None => Ok(()),
    }
}
