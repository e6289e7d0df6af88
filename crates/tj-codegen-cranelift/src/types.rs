//! Element types as machine types.

use cranelift_codegen::ir::{Type, types};
use tj_kernel::lanes::Width;
use tj_kernel::{Kernel, Value};
use tj_tensor::DType;

use crate::Error;

/// The machine type of one element; `None` for complex types. f16 and bf16 are only moved and converted, as bits.
fn scalar_type(dtype: DType) -> Option<Type> {
    match dtype {
        DType::Bool | DType::I8 | DType::U8 => Some(types::I8),
        DType::I16 | DType::U16 | DType::F16 | DType::BF16 => Some(types::I16),
        DType::I32 | DType::U32 => Some(types::I32),
        DType::I64 | DType::U64 => Some(types::I64),
        DType::F32 => Some(types::F32),
        DType::F64 => Some(types::F64),
        DType::C64 | DType::C128 => None,
    }
}

/// The machine type of an element of a kernel that [`check`] has passed.
pub(crate) fn machine(dtype: DType) -> Type {
    scalar_type(dtype).expect("types are checked before code is emitted")
}

/// Vectors of elements of this type. Bools are masks of the loop's width.
pub(crate) fn vector_type(width: Width, dtype: DType) -> Type {
    match machine(dtype) {
        _ if dtype.is_bool() => mask_type(width),
        types::I8 => types::I8X16,
        types::I16 => types::I16X8,
        types::I32 => types::I32X4,
        types::I64 => types::I64X2,
        types::F32 => types::F32X4,
        _ => types::F64X2,
    }
}

/// Vectors of integers of a width.
pub(crate) fn mask_type(width: Width) -> Type {
    match width {
        Width::W8 => types::I8X16,
        Width::W16 => types::I16X8,
        Width::W32 => types::I32X4,
        Width::W64 => types::I64X2,
    }
}

/// The width of vectors of this type.
pub(crate) fn width_of(ty: Type) -> Width {
    match ty.lane_bits() {
        8 => Width::W8,
        16 => Width::W16,
        32 => Width::W32,
        _ => Width::W64,
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
