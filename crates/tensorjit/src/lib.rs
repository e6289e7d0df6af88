//! A dynamic tensor compiler for CPUs: lazy arrays, symbolic sizes, fusion, planned memory.
