//! A square matrix by columns.

use bytemuck::Pod;
use faer::sparse::{SparseColMatRef, SymbolicSparseColMatRef};
use faer::traits::ComplexField;
use tj_tensor::{Complex, Element};

use crate::LibraryError;
use crate::sparse::entries::{Entries, room};
use crate::sparse::values::elements;

/// What matrices consist of here.
pub(super) trait Number: ComplexField + Element + Pod {
    /// 1.
    const ONE: Self;
    /// The larger of its parts, up to their signs.
    fn size(self) -> f64;
    /// Whether it is neither infinite nor NaN.
    fn is_number(self) -> bool;
    /// Times a real number.
    fn scaled(self, by: f64) -> Self;
    /// The real part.
    fn real(self) -> f64;
    /// How far it is from the conjugate of another.
    fn to_conjugate_of(self, other: Self) -> f64;
}

impl Number for f64 {
    const ONE: f64 = 1.0;

    fn size(self) -> f64 {
        self.abs()
    }

    fn is_number(self) -> bool {
        self.is_finite()
    }

    fn scaled(self, by: f64) -> f64 {
        self * by
    }

    fn real(self) -> f64 {
        self
    }

    fn to_conjugate_of(self, other: f64) -> f64 {
        (self - other).abs()
    }
}

impl Number for Complex<f64> {
    const ONE: Complex<f64> = Complex::new(1.0, 0.0);

    fn size(self) -> f64 {
        self.re.abs().max(self.im.abs())
    }

    fn is_number(self) -> bool {
        self.re.is_finite() && self.im.is_finite()
    }

    fn scaled(self, by: f64) -> Complex<f64> {
        self * by
    }

    fn real(self) -> f64 {
        self.re
    }

    fn to_conjugate_of(self, other: Complex<f64>) -> f64 {
        Number::size(self - other.conj())
    }
}

/// A square matrix of finite numbers by columns, each by increasing rows.
pub(super) struct Columns<T> {
    /// Where columns start, and where the last one ends.
    positions: Vec<usize>,
    pub rows: Vec<usize>,
    pub values: Vec<T>,
}

impl<T: Number> Columns<T> {
    /// From entries by columns, each by rows; no column is empty, so that memory is in proportion to the entries.
    pub fn new(function: &'static str, entries: &Entries) -> Result<Columns<T>, LibraryError> {
        let n = entries.shape[0];
        let mut positions = room(n + 1)?;
        positions.resize(n + 1, 0);
        entries.columns[0].iter().for_each(|&column| positions[column as usize + 1] += 1);
        (0..n).for_each(|column| positions[column + 1] += positions[column]);
        let mut rows = room(entries.len())?;
        rows.extend(entries.columns[1].iter().map(|&row| row as usize));
        let mut values: Vec<T> = room(entries.len())?;
        values.extend_from_slice(elements(&entries.values.to_contiguous()?));
        let columns = Columns { positions, rows, values };
        let strange = columns.iter().find(|(_, _, value)| !value.is_number());
        match strange {
            None => Ok(columns),
            Some((row, column, value)) => {
                let value = value.into_scalar();
                let problem = format!("the element at [{row}, {column}] of the matrix is {value}");
                Err(LibraryError::Argument { function, problem })
            }
        }
    }

    /// The number of columns.
    pub fn n(&self) -> usize {
        self.positions.len() - 1
    }

    /// Rows, columns and values.
    pub fn iter(&self) -> impl Iterator<Item = (usize, usize, T)> {
        let places =
            |column: usize| (self.positions[column]..self.positions[column + 1]).map(move |at| (column, at));
        (0..self.n()).flat_map(places).map(|(column, at)| (self.rows[at], column, self.values[at]))
    }

    /// An element.
    pub fn get(&self, row: usize, column: usize) -> T {
        let places = self.positions[column]..self.positions[column + 1];
        match self.rows[places.clone()].binary_search(&row) {
            Ok(at) => self.values[places.start + at],
            Err(_) => T::default(),
        }
    }

    /// What faer takes.
    pub fn view(&self) -> SparseColMatRef<'_, usize, T> {
        let n = self.n();
        let structure = SymbolicSparseColMatRef::new_checked(n, n, &self.positions, None, &self.rows);
        SparseColMatRef::new(structure, &self.values)
    }
}

/// The first column without an entry.
pub(super) fn empty_column(entries: &Entries) -> Option<usize> {
    let mut next = 0;
    for &column in &entries.columns[0] {
        if column as usize > next {
            return Some(next);
        }
        next = column as usize + 1;
    }
    (next < entries.shape[0]).then_some(next)
}
