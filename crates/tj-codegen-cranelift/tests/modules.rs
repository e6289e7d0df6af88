//! Modules of several kernels: memory that lives long enough, object files, texts, errors.

mod common;

use std::thread;

use common::{Case, call, elementwise, expected, grid, numbers};
use object::{Object, ObjectSymbol};
use tj_codegen_cranelift::{Error, Features, Jit, Options, clif, disassembly, emit_object};
use tj_ir::dim::Dim;
use tj_kernel::{Access, BinOp, Builder, Kernel, LoopKind};
use tj_tensor::DType;

fn named(name: &str, op: BinOp) -> Kernel {
    let kernel = elementwise(100, LoopKind::Lanes(32), &[DType::F32; 2], DType::F32, |b, x| {
        let y = b.binary(op, x[0], x[1]);
        b.fma(y, x[0], x[1])
    });
    Kernel { name: name.to_owned(), ..kernel }
}

#[test]
fn code_lives_as_long_as_any_clone() {
    let kernels = [named("sum", BinOp::Add), named("product", BinOp::Mul)];
    let jit = Jit::compile(&[&kernels[0], &kernels[1]], &Options::default()).unwrap();
    assert_eq!(format!("{jit:?}"), r#"["sum", "product"]"#);
    assert!(jit.kernel("difference").is_none());
    let clone = jit.clone();
    let entry = jit.kernel("product").unwrap();
    drop(jit);
    let case = |kernel: &Kernel| Case::new(kernel.clone(), vec![numbers(DType::F32, 100); 3], 0..100);
    assert_eq!(call(entry, &case(&kernels[1])), expected(&case(&kernels[1])));
    // It may move to another thread and be shared with it.
    thread::scope(|scope| {
        scope.spawn(|| {
            let entry = clone.kernel("sum").unwrap();
            assert_eq!(call(entry, &case(&kernels[0])), expected(&case(&kernels[0])));
        });
    });
}

#[test]
fn no_kernels_are_a_module_too() {
    assert_eq!(Jit::compile(&[], &Options::default()).unwrap().kernels().len(), 0);
}

#[test]
fn objects_export_kernels() {
    let kernels = [named("sum", BinOp::Add), named("product", BinOp::Mul)];
    for features in [Features::Host, Features::Baseline] {
        let bytes = emit_object(&[&kernels[0], &kernels[1]], "program", &Options { features }).unwrap();
        assert_eq!(
            emit_object(&[&kernels[0], &kernels[1]], "program", &Options { features }).unwrap(),
            bytes
        );
        let file = object::File::parse(&*bytes).unwrap();
        let names = |undefined: bool| -> Vec<&str> {
            let symbols = file.symbols().filter(|s| s.is_global() && s.is_undefined() == undefined);
            symbols.map(|s| s.name().unwrap()).collect()
        };
        assert_eq!(names(false), ["sum", "product"]);
        // Every machine that tests run on has instructions for all operations but this one.
        let libm: &[&str] =
            if features == Features::Baseline && cfg!(target_arch = "x86_64") { &["fmaf"] } else { &[] };
        assert_eq!(names(true), libm);
    }
}

#[test]
fn texts() {
    let kernel = named("sum", BinOp::Add);
    let text = clif(&kernel, &Options::default()).unwrap();
    assert!(text.contains("fadd") && text.contains("f32x4") && text.contains("region0 = 0 \"x0\""), "{text}");
    assert!(disassembly(&kernel, &Options::default()).unwrap().contains("ret"));
}

#[test]
fn complex_values_are_refused() {
    let mut b = Builder::new("complex", grid(1));
    let x = b.buffer("x", DType::C64, Dim::from(1), Access::Read);
    let zero = b.int(0);
    let only_declared = b.finish();
    Jit::compile(&[&only_declared], &Options::default()).unwrap();
    let mut b = Builder::new("complex", grid(1));
    let again = b.buffer("x", DType::C64, Dim::from(1), Access::Read);
    assert_eq!((x, zero), (again, b.int(0)));
    b.load(x, zero);
    let error = Jit::compile(&[&b.finish()], &Options::default()).unwrap_err();
    assert!(matches!(error, Error::Dtype { dtype: DType::C64, .. }));
    assert_eq!(error.to_string(), "kernel `complex` uses c64, which this back end cannot compute with");
}

#[test]
fn equal_names_are_refused() {
    let kernels = [named("same", BinOp::Add), named("same", BinOp::Mul)];
    let error = Jit::compile(&[&kernels[0], &kernels[1]], &Options::default()).unwrap_err();
    assert!(matches!(&error, Error::Codegen { kernel, .. } if kernel == "same"), "{error}");
}
