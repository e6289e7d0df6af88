//! Windows that slide over axes.
//!
//! A window is a view: element `k` of window `i` is element `i * stride + k * dilation`. So convolutions are `einsum`s
//! over windows and pooling is a reduction over them, and nothing is copied unless a decision says so.

use super::movement::{moved, position};
use super::reduce::resolve_axis;
use super::sizes::require_size;
use super::{LazyTensor, Shape};
use crate::dim::Dim;
use crate::error::Cause;
use crate::expr::Indices;
use crate::guard::{Condition, Guard};

/// A window along one axis.
///
/// ```
/// use tj_ir::{einsum, zeros, Dim, Window};
/// use tj_tensor::DType;
///
/// // A convolution in one dimension: 4 channels to 8, kernels of 3 elements, every other position.
/// let n = Dim::new("N", 3..=1000)?;
/// let (x, kernel) = (zeros([4.into(), n.clone()], DType::F32), zeros([8, 4, 3], DType::F32));
/// let windows = x.sliding_window_view([Window::new(1, 3).stride(2)]);
/// let y = einsum("cpk,ock->op", &[&windows, &kernel]);
/// assert_eq!(y.shape(), [8.into(), (n - 3).floordiv(&2.into()) + 1]);
/// // Pooling: the greatest of every 2 x 2 elements.
/// let image = zeros([6, 8], DType::F32);
/// let pooled = image.sliding_window_view([0, 1].map(|axis| Window::new(axis, 2).stride(2))).max([-2, -1]);
/// assert_eq!(pooled.shape(), [3, 4].map(Dim::from));
/// # Ok::<(), tj_ir::DimError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Window {
    axis: i64,
    size: Dim,
    stride: Dim,
    dilation: Dim,
}

impl Window {
    /// Windows of so many neighbours along an axis, one at each position.
    pub fn new(axis: i64, size: impl Into<Dim>) -> Window {
        Window { axis, size: size.into(), stride: Dim::ONE, dilation: Dim::ONE }
    }

    /// A window at every so many positions.
    #[must_use]
    pub fn stride(self, stride: impl Into<Dim>) -> Window {
        Window { stride: stride.into(), ..self }
    }

    /// Elements of a window that are so far apart.
    #[must_use]
    pub fn dilation(self, dilation: impl Into<Dim>) -> Window {
        Window { dilation: dilation.into(), ..self }
    }
}

impl LazyTensor {
    /// All windows: the axes stay, with the number of windows as size, and each window adds an axis with its elements,
    /// last. See [`Window`] for an example.
    ///
    /// # Errors
    /// An axis outside the rank, or named twice; a window larger than its axis, or a stride or dilation below 1,
    /// found when sizes are known.
    #[track_caller]
    pub fn sliding_window_view(&self, windows: impl IntoIterator<Item = Window>) -> LazyTensor {
        let windows: Vec<Window> = windows.into_iter().collect();
        self.attempt(|location| {
            let (op, rank) = ("sliding_window_view", self.rank());
            let mut shape = self.0.shape.clone();
            let mut at: Indices = (0..rank).map(position).collect();
            let mut guards = Vec::new();
            let mut seen = Vec::new();
            let mut sizes = Shape::new();
            for (k, window) in windows.iter().enumerate() {
                let Window { size, stride, dilation, .. } = window;
                let axis = resolve_axis(op, rank, window.axis)?;
                if seen.contains(&axis) {
                    return Err(Cause::RepeatedAxis { op, axis: window.axis });
                }
                seen.push(axis);
                require_size(op, rank + k, size, &mut guards, location)?;
                let whole = &self.shape()[axis];
                let span = (size - 1) * dilation + 1;
                let needs = [
                    (Dim::ONE, stride.clone(), format!("a stride of {stride} along axis {axis}")),
                    (Dim::ONE, dilation.clone(), format!("a dilation of {dilation} along axis {axis}")),
                    (
                        span.clone(),
                        whole.clone(),
                        format!("a window of {span} elements along axis {axis} of size {whole}"),
                    ),
                ];
                for (least, most, what) in needs {
                    match least.known_le(&most) {
                        Some(true) => {}
                        Some(false) => return Err(Cause::Argument { op, problem: what }),
                        None => guards.push(Guard {
                            condition: Condition::LessEqual(least, most),
                            reason: format!("{op}: {what}"),
                            location,
                        }),
                    }
                }
                shape[axis] = (whole - &span).floordiv(stride) + 1;
                at[axis] = position(axis) * stride + position(rank + k) * dilation;
                sizes.push(size.clone());
            }
            shape.extend(sizes);
            let mut tensor = moved(op, self, shape, at, location);
            super::elementwise::attach(&mut tensor, guards);
            Ok(tensor)
        })
    }
}
