//! Plans of tensor queries: canonical form, fusion, the scheduler interface, and the interpreter that is the oracle.
