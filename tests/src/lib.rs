//! Differential, golden and acceptance tests of the whole pipeline.
