//! Tensors as lists of levels: dtypes, scalars, dense strided storage and views.
