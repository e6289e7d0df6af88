//! Shapes as users write them.

use smallvec::SmallVec;

use crate::dim::Dim;

/// Sizes of a new shape, outermost first. One of them may be left open, as `None` or as the number -1, where an
/// operator can work it out.
///
/// ```
/// use tj_ir::{Dim, NewShape};
/// let n = Dim::new("N", ..)?;
/// assert_eq!(NewShape::from([2, -1]), NewShape::from(&[Some(2.into()), None]));
/// assert_eq!(NewShape::from([n.clone(), 2.into()]), NewShape::from(&[Some(n), Some(2.into())]));
/// # Ok::<(), tj_ir::DimError>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NewShape(SmallVec<[Option<Dim>; 4]>);

impl NewShape {
    /// The sizes; `None` is one that is left open.
    pub fn as_slice(&self) -> &[Option<Dim>] {
        &self.0
    }
}

/// -1 leaves a size open; other negative numbers are for the operator to refuse.
fn number(size: i64) -> Option<Dim> {
    (size != -1).then(|| Dim::from(size))
}

impl From<()> for NewShape {
    fn from((): ()) -> NewShape {
        NewShape::default()
    }
}

macro_rules! borrowed {
    ($($item:ty => |$x:ident| $to:expr),* $(,)?) => {
        $(
            impl From<&[$item]> for NewShape {
                fn from(sizes: &[$item]) -> NewShape {
                    NewShape(sizes.iter().map(|$x| $to).collect())
                }
            }

            impl<const N: usize> From<&[$item; N]> for NewShape {
                fn from(sizes: &[$item; N]) -> NewShape {
                    NewShape::from(sizes.as_slice())
                }
            }

            impl From<&Vec<$item>> for NewShape {
                fn from(sizes: &Vec<$item>) -> NewShape {
                    NewShape::from(sizes.as_slice())
                }
            }
        )*
    };
}

macro_rules! owned {
    ($($item:ty),*) => {
        $(
            impl<const N: usize> From<[$item; N]> for NewShape {
                fn from(sizes: [$item; N]) -> NewShape {
                    NewShape::from(sizes.as_slice())
                }
            }

            impl From<Vec<$item>> for NewShape {
                fn from(sizes: Vec<$item>) -> NewShape {
                    NewShape::from(sizes.as_slice())
                }
            }
        )*
    };
}

borrowed! {
    i64 => |size| number(*size),
    Dim => |size| Some(size.clone()),
    Option<Dim> => |size| size.clone(),
}

owned!(i64, Dim);
