//! Functions against the obvious ways to compute them, their properties, and NumPy's answers.

mod gather;
mod order;
mod support;
