//! The header against the library: both take the same sizes.

use std::fmt::Write as _;
use std::panic::Location;
use std::process::Command;

use tj_ir::{Condition, Dim, Guard, input};
use tj_kernel::verify::BoundGuard;
use tj_plan::DefaultScheduler;
use tj_tensor::DType;

use super::header::header;
use crate::bind::Values;
use crate::compile::compile;
use crate::observe::Silent;
use crate::options::CompileOptions;
use crate::program::Program;
use crate::toolchain::Toolchain;

#[test]
fn the_header_takes_the_sizes_that_the_library_takes() {
    if let Err(error) = Toolchain::from_env() {
        eprintln!("skipped: no C compiler ({error})");
        return;
    }
    let [n, m, k] = ["N", "int", "größe"].map(|name| Dim::new(name, ..).unwrap());
    let x = input("x", DType::F32, [n.clone(), m.clone()]).unwrap();
    let v = input("v", DType::F32, [k.clone()]).unwrap();
    let z = input("z", DType::F64, [&m * k]).unwrap();
    let outputs = [&x * 2.0, x.exp().sum(1) + &v, z.sum(())];
    // Each anew: a program remembers the sizes that it took.
    let compiled = || {
        let options = CompileOptions::default();
        compile(&outputs, &tj_ir::Known::new(), &options, &DefaultScheduler, &mut Silent)
            .map(|compiled| compiled.program)
    };
    let mut program = compiled().unwrap();
    let names: Vec<String> = program.fused.plan.symbols.iter().map(ToString::to_string).collect();
    assert_eq!(names, ["N", "int", "größe"]);
    agree(&program);
    program = compiled().unwrap();
    // Guards that bind evaluates, whether or not these kernels need them.
    program.bound_guards.push(BoundGuard {
        kernel: "k".to_string(),
        buffer: "x".to_string(),
        low: &n - 2,
        high: &n * &m,
        len: Dim::from(1_i64 << 61),
        enclosing: vec![m.clone(), &n * &n],
    });
    agree(&program);
    program = compiled().unwrap();
    program.fused.plan.guards.push(Guard {
        condition: Condition::Divides(n, m),
        reason: "a test".to_string(),
        location: Location::caller(),
    });
    agree(&program);
}

/// Compares the header's answers with the library's.
fn agree(program: &Program) {
    let values = [0, 1, 3, 1 << 29, 1 << 31, 1 << 59, 1 << 60, 1 << 61, 1 << 62];
    let mut main = header(program, "p", &["double"]).expect("names are right");
    main.push_str("#include <stdio.h>\nint main(void) {\n  p_sizes s;\n");
    let mut expected = String::new();
    for a in values {
        for b in values {
            for c in [a, 2] {
                let takes = program.bind(Values::from_slice(&[a, b, c]), &[]).is_ok();
                let _ = writeln!(
                    main,
                    "s.N = INT64_C({a}); s.int_ = INT64_C({b}); s.gruf6_udf_e = INT64_C({c});\n\
                     printf(\"{a} {b} {c} %d\\n\", p_check(&s) == 0);"
                );
                let _ = writeln!(expected, "{a} {b} {c} {}", i32::from(takes));
            }
        }
    }
    assert!(expected.contains(" 1\n") && expected.contains(" 0\n"));
    main.push_str(
        "  s.int_ = -1; if (!p_check(&s)) return 1;\n  s.N = s.int_ = s.gruf6_udf_e = INT64_C(1) << 62;\n  \
         return p_workspace(&s) != SIZE_MAX && p_check(&s) == 0;\n}\n",
    );
    let folder = tempfile::tempdir().expect("a folder");
    let (source, binary) = (folder.path().join("main.c"), folder.path().join("main"));
    std::fs::write(&source, main).expect("the folder is ours");
    let compiler = std::env::var("CC").unwrap_or_else(|_| "cc".to_string());
    let mut words = compiler.split_whitespace();
    let built = Command::new(words.next().unwrap_or("cc"))
        .args(words)
        .args(["-std=c99", "-Wall", "-Werror", "-o"])
        .args([&binary, &source])
        .arg("-lm")
        .output()
        .expect("there is a compiler");
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
    let output = Command::new(&binary).output().expect("it was built");
    assert!(output.status.success(), "{output:?}");
    assert_eq!(String::from_utf8_lossy(&output.stdout), expected);
}
