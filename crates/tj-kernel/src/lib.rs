//! A small loop language for tensor kernels: lowering, verifier, interpreter, text form.
