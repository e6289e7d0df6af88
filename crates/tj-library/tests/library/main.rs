//! Functions against the obvious ways to compute them, their properties, and NumPy's answers.

mod fft;
mod gather;
mod golden;
mod linalg;
mod order;
mod shapes;
mod support;
