//! Indexing with ranges, numbers and arrays of positions, as a tuple: `x.at((1.., 0, ..))`.

use std::ops::{Range, RangeFrom, RangeFull, RangeInclusive, RangeTo, RangeToInclusive};
use std::panic::Location;

use tj_tensor::Tensor;

use super::slice::at;
use super::{At, LazyTensor, defer};
use crate::error::IrError;

/// The parts of an index.
#[derive(Clone, Debug)]
pub struct Parts(pub(super) Vec<At>);

impl From<i64> for At {
    fn from(position: i64) -> At {
        At::Index(position)
    }
}

impl From<i32> for At {
    fn from(position: i32) -> At {
        At::Index(position.into())
    }
}

impl From<LazyTensor> for At {
    fn from(positions: LazyTensor) -> At {
        At::Array(positions)
    }
}

impl From<&LazyTensor> for At {
    fn from(positions: &LazyTensor) -> At {
        At::Array(positions.clone())
    }
}

impl From<&Tensor> for At {
    #[track_caller]
    fn from(positions: &Tensor) -> At {
        At::Array(defer(positions))
    }
}

impl<const N: usize> From<[i64; N]> for At {
    #[track_caller]
    fn from(positions: [i64; N]) -> At {
        At::Array(defer(Tensor::from(positions.to_vec())))
    }
}

impl From<RangeFull> for At {
    fn from(_: RangeFull) -> At {
        at(None, None, 1)
    }
}

impl From<Range<i64>> for At {
    fn from(range: Range<i64>) -> At {
        at(range.start, range.end, 1)
    }
}

impl From<RangeFrom<i64>> for At {
    fn from(range: RangeFrom<i64>) -> At {
        at(range.start, None, 1)
    }
}

impl From<RangeTo<i64>> for At {
    fn from(range: RangeTo<i64>) -> At {
        at(None, range.end, 1)
    }
}

/// One past `last`, which is the end itself for the last element counted from the end.
fn past(last: i64) -> Option<i64> {
    if last == -1 { None } else { Some(last.saturating_add(1)) }
}

impl From<RangeInclusive<i64>> for At {
    fn from(range: RangeInclusive<i64>) -> At {
        at(*range.start(), past(*range.end()), 1)
    }
}

impl From<RangeToInclusive<i64>> for At {
    fn from(range: RangeToInclusive<i64>) -> At {
        at(None, past(range.end), 1)
    }
}

impl<T: Into<At>> From<T> for Parts {
    fn from(part: T) -> Parts {
        Parts(vec![part.into()])
    }
}

macro_rules! tuples {
    ($($($name:ident)+;)*) => {
        $(impl<$($name: Into<At>),+> From<($($name,)+)> for Parts {
            fn from(parts: ($($name,)+)) -> Parts {
                #[expect(non_snake_case, reason = "a value is named as its type")]
                let ($($name,)+) = parts;
                Parts(vec![$($name.into()),+])
            }
        })*
    };
}

tuples! {
    A;
    A B;
    A B C;
    A B C D;
    A B C D E;
    A B C D E F;
    A B C D E F G;
    A B C D E F G H;
}

impl LazyTensor {
    /// Elements by position and range, with Python's meaning of negative numbers: [`index`](LazyTensor::index) for
    /// parts of different types.
    ///
    /// ```
    /// use tj_ir::{at, zeros, At, Dim};
    /// use tj_tensor::DType;
    /// let x = zeros([6, 5, 4], DType::F32);
    /// assert_eq!(x.at((1..-1, 0)).shape(), [4, 4].map(Dim::from));
    /// assert_eq!(x.at((.., at(None, None, 2), At::NewAxis, -1)).shape(), [6, 3, 1].map(Dim::from));
    /// assert_eq!(x.at(0).rank(), 2);
    /// ```
    ///
    /// # Errors
    /// As `index`.
    #[track_caller]
    pub fn at(&self, parts: impl Into<Parts>) -> LazyTensor {
        let (Parts(parts), location) = (parts.into(), Location::caller());
        if self.check().is_err() {
            return self.clone();
        }
        self.try_index(&parts, location)
            .unwrap_or_else(|cause| LazyTensor::failed(IrError::new(cause, location)))
    }
}
