//! Functions over lazy tensors as functions over tensors.

/// Makes a closure over lazy tensors into one over data: `fused_fn!(|x, y| (x + y) / 2)` takes a tuple of as many tensors,
/// or one tensor if there is one parameter, and computes the result by the scheduler that applies when it is called.
///
/// ```
/// use tensorjit::{Tensor, Unfused, fused_fn, with_scheduler};
///
/// let a = Tensor::from_shape_vec([2], vec![1.0, 3.0])?;
/// let mean = fused_fn!(|x, y| (x + y) / 2);
/// assert_eq!(mean((&a, &a))?.to_vec::<f64>()?, [1.0, 3.0]);
/// let double = fused_fn!(|x| x * 2);
/// assert_eq!(with_scheduler(Unfused, || double(&a))?.to_vec::<f64>()?, [2.0, 6.0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// For a function with a name, or one that takes other things than tensors, there is the attribute `fused`:
///
/// ```
/// use tensorjit::{LazyTensor, Tensor, Unfused, fused};
///
/// #[fused]
/// fn add_and_divide(x: LazyTensor, y: LazyTensor, by: i64) -> LazyTensor {
///     (x + y) / by
/// }
///
/// #[fused(scheduler = Unfused)]
/// fn both(x: LazyTensor) -> (LazyTensor, LazyTensor) {
///     (x.exp(), x.sum(0))
/// }
///
/// let a = Tensor::from_shape_vec([2], vec![0.0, 3.0])?;
/// assert_eq!(add_and_divide(&a, &a, 3_i64)?.to_vec::<f64>()?, [0.0, 2.0]);
/// let (_, sum) = both(&a)?;
/// assert_eq!(sum.item::<f64>()?, 3.0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[macro_export]
macro_rules! fused_fn {
    (|$x:ident $(,)?| $body:expr) => {
        |argument: &$crate::Tensor| $crate::fuse(|$x: $crate::LazyTensor| $body, argument)
    };
    (|$($x:ident),+ $(,)?| $body:expr) => {
        |arguments: ($($crate::__each!($x => &$crate::Tensor),)+)| {
            $crate::fuse(|($($x,)+): ($($crate::__each!($x => $crate::LazyTensor),)+)| $body, arguments)
        }
    };
}

/// A type, once for each name.
#[doc(hidden)]
#[macro_export]
macro_rules! __each {
    ($x:ident => $type:ty) => {
        $type
    };
}
