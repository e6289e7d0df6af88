//! Functions of whole tensors: from the words and pointers of a kernel to slices for the library.
//!
//! Why there is no result is kept for the thread that called the kernel: [`take_fault`] gives it right after.

#![allow(unsafe_code)]

use std::any::Any;
use std::cell::RefCell;
use std::ffi::c_void;
use std::panic::{AssertUnwindSafe, catch_unwind};

use smallvec::SmallVec;
use tj_ir::Function;
use tj_kernel::abi::{STATUS_NO_RESULT, STATUS_OK, dtype_of};
use tj_library::{Array, ArrayMut, LibraryError};
use tj_tensor::DType;

/// Why a call has no result.
#[derive(Debug)]
pub(crate) enum Fault {
    /// The function cannot be computed.
    Function(Function, LibraryError),
    /// A mistake of ours.
    Internal(String),
}

thread_local! {
    static FAULT: RefCell<Option<Fault>> = const { RefCell::new(None) };
}

/// Why the last kernel that this thread called has no result.
pub(crate) fn take_fault() -> Option<Fault> {
    FAULT.with_borrow_mut(Option::take)
}

/// An array as a kernel describes it.
struct Described {
    dtype: DType,
    shape: SmallVec<[usize; 6]>,
}

impl Described {
    /// Bytes of its elements along the axes from `axis` on.
    fn bytes(&self, axis: usize) -> Option<usize> {
        let extents = self.shape[axis..].iter();
        let bytes = extents.copied().try_fold(self.dtype.size(), usize::checked_mul)?;
        isize::try_from(bytes).ok().map(|_| bytes)
    }
}

/// What the words of a kernel say.
struct Words {
    function: Function,
    args: SmallVec<[Described; 3]>,
    results: SmallVec<[Described; 3]>,
}

/// `tj_kernel::abi::CallFn`.
pub(super) extern "C" fn call(
    words: *const i64,
    n_words: i64,
    arrays: *const *mut c_void,
    lo: i64,
    hi: i64,
) -> i32 {
    let run = || {
        // SAFETY: A kernel passes an array of as many words.
        let words = unsafe { std::slice::from_raw_parts(words, usize::try_from(n_words).unwrap_or(0)) };
        let words = read(words).ok_or_else(|| Fault::Internal(format!("words {words:?} name no call")))?;
        rows(&words, arrays, lo, hi)
    };
    let fault = match catch_unwind(AssertUnwindSafe(run)) {
        Ok(Ok(())) => return STATUS_OK,
        Ok(Err(fault)) => fault,
        Err(panic) => Fault::Internal(message(&*panic)),
    };
    FAULT.set(Some(fault));
    STATUS_NO_RESULT
}

fn message(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_string());
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_else(|| "a panic".to_string())
}

fn read(words: &[i64]) -> Option<Words> {
    let mut words = words.iter().copied();
    let mut next = || words.next();
    let function = Function::from_words([next()?, next()?, next()?])?;
    let counts = (usize::try_from(next()?).ok()?, usize::try_from(next()?).ok()?);
    if counts != function.arity() {
        return None;
    }
    let mut array = || -> Option<Described> {
        let dtype = dtype_of(next()?)?;
        let mut shape = SmallVec::new();
        for _ in 0..next()? {
            // As everywhere, a negative size is that of nothing.
            shape.push(usize::try_from(next()?).unwrap_or(0));
        }
        Some(Described { dtype, shape })
    };
    let args = (0..counts.0).map(|_| array()).collect::<Option<_>>()?;
    let results = (0..counts.1).map(|_| array()).collect::<Option<_>>()?;
    Some(Words { function, args, results })
}

/// Computes rows `lo..hi`.
fn rows(words: &Words, arrays: *const *mut c_void, lo: i64, hi: i64) -> Result<(), Fault> {
    let (function, core) = (words.function, words.function.core().1);
    let large = || Fault::Internal(format!("{} of more bytes than memory has", function.name()));
    let range = usize::try_from(lo).unwrap_or(0)..usize::try_from(hi).unwrap_or(0);
    // SAFETY: A kernel passes one pointer for each argument and each result.
    let pointer = |position: usize| unsafe { (*arrays.add(position)).cast::<u8>() };
    let mut args: SmallVec<[Array<'_>; 3]> = SmallVec::new();
    for (position, array) in words.args.iter().enumerate() {
        let len = array.bytes(0).ok_or_else(large)?;
        // SAFETY: The pointer is that of a buffer of the kernel, never null and aligned for its elements. `verify` has
        // proved that the extents multiply to the length of the buffer, which holds that many initialised elements, and
        // that nothing writes to it while the kernel runs.
        let bytes = unsafe { std::slice::from_raw_parts(pointer(position), len) };
        args.push(Array { dtype: array.dtype, shape: &array.shape, bytes });
    }
    let mut results: SmallVec<[ArrayMut<'_>; 3]> = SmallVec::new();
    for (position, (array, core)) in words.results.iter().zip(core).enumerate() {
        let row = array.shape.len().checked_sub(core).and_then(|axis| array.bytes(axis)).ok_or_else(large)?;
        let start = range.start.checked_mul(row).ok_or_else(large)?;
        let len = range.len().checked_mul(row).ok_or_else(large)?;
        // SAFETY: As above, and `verify` has proved that the buffer has as many rows as the kernel has tasks, so that these
        // lie inside; that no two results are one buffer; and that no argument is written. Tasks belong to one caller.
        let bytes =
            unsafe { std::slice::from_raw_parts_mut(pointer(words.args.len() + position).add(start), len) };
        results.push(ArrayMut { dtype: array.dtype, shape: &array.shape, bytes });
    }
    tj_library::run(function, &args, &mut results, range).map_err(|cause| Fault::Function(function, cause))
}
