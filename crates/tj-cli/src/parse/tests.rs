//! Texts and what comes of them.

mod errors;

use super::MAX_DEPTH;
use crate::ast::{Expr, StmtKind};
use crate::syntax::SyntaxErrorKind;
use crate::{parse_expression, parse_program};

/// Checks the fully parenthesised form of an expression.
fn check_expr(source: &str, expected: &str) {
    let program = parse_expression(source).unwrap_or_else(|errors| panic!("{source}: {errors:?}"));
    // Children come first, so their texts are ready.
    let mut texts: Vec<String> = Vec::new();
    for (_, expr) in program.exprs() {
        let text = |id: &crate::ExprId| texts[id.index()].clone();
        texts.push(match expr {
            Expr::Unary { op, arg } => format!("({}{})", op.symbol(), text(arg)),
            Expr::Binary { op, left, right } => format!("({} {} {})", text(left), op.symbol(), text(right)),
            Expr::Attribute { receiver, name } => format!("({}.{})", text(receiver), name.text),
            Expr::Name(name) => name.clone(),
            other => format!("{other:?}"),
        });
    }
    assert_eq!(texts.last().map(String::as_str), Some(expected), "{source}");
}

fn check_program(source: &str, expected: &str) {
    let program = parse_program(source).unwrap_or_else(|errors| panic!("{source}: {errors:?}"));
    assert_eq!(program.to_string(), expected);
}

#[test]
fn precedence_is_pythons() {
    check_expr("a + b * c - d", "((a + (b * c)) - d)");
    check_expr("a * b @ c / d", "(((a * b) @ c) / d)");
    check_expr("-a ** -b ** c", "(-(a ** (-(b ** c))))");
    check_expr("~a.T ** b", "(~((a.T) ** b))");
    check_expr("a | b ^ c & d << e + f", "(a | (b ^ (c & (d << (e + f)))))");
    check_expr("a & b == c | d", "((a & b) == (c | d))");
    check_expr("a // b % c", "((a // b) % c)");
    check_expr("(a - (b - c))", "(a - (b - c))");
    check_expr("a --b", "(a - (-b))");
}

#[test]
fn literals() {
    let check = |source: &str, expected: Expr| {
        let program = parse_expression(source).unwrap();
        assert_eq!(program.exprs().last().unwrap().1, &expected, "{source}");
    };
    check("1_000", Expr::Int(1000));
    check("18446744073709551615", Expr::Int(u64::MAX));
    check("1_0.5_0e-1_0", Expr::Float(10.5e-10));
    check("1.", Expr::Float(1.0));
    check(".5", Expr::Float(0.5));
    check("2e3", Expr::Float(2000.0));
    check("inf", Expr::Float(f64::INFINITY));
    check("True", Expr::Bool(true));
    check("'ij->ji'", Expr::Str("ij->ji".to_owned()));
    check("(1)", Expr::Int(1));
}

#[test]
fn statements() {
    check_program(
        "\u{feff}size N in 0..=4096  # all\r\nsize M in 1..8\nsize K\n\n\
         input x: f32[N, 784]\ninput A: f64[2*N+1, min(N,K)//2%3] csr sorted\ninput s: i8\ninput t: i8[]\n\
         input B: f64[4, 4] bcsr(2,2) fill -1.5\n\
         input D: f64[4, 4] {d0: dense, d1: interval(..+1)} iso # all\ninput m: bool[3] fill True\n",
        "size N in 0..=4096\nsize M in 1..=7\nsize K\ninput x: f32[N, 784]\n\
         input A: f64[2 * N + 1, min(N, K) // 2 % 3] csr sorted\ninput s: i8\ninput t: i8\n\
         input B: f64[4, 4] bcsr(2,2) fill -1.5\n\
         input D: f64[4, 4] {d0: dense, d1: interval(..+1)} iso\ninput m: bool[3] fill True\n",
    );
    check_program(
        "h = relu(x @ w\n  + b,  # continues\n)\noutput y = h.sum(axis=(0, 1,), keepdims=True)\noutput h, x",
        "h = relu(x @ w + b)\noutput y = h.sum(axis=(0, 1), keepdims=True)\noutput h\noutput x\n",
    );
    check_program(
        "C[i,j] += A[i,k]*B[k,j]\nd[i] min= A[i,k]\ns max= d[i]\ne[i,] = d[i]\nmin = s\nf[i] |= g[i]",
        "C[i, j] += A[i, k] * B[k, j]\nd[i] min= A[i, k]\ns max= d[i]\ne[i] = d[i]\nmin = s\nf[i] |= g[i]\n",
    );
    check_program(
        "y = x[1:, ::2, None, ..., -1, a:b:c, :, N//2:N-1, (1,)].T.sum().size",
        "y = x[1:, ::2, None, ..., -1, a:b:c, :, N // 2:N - 1, (1,)].T.sum().size\n",
    );
    check_program("y = clip(x, min=0, max=1)", "y = clip(x, min=0, max=1)\n");
    check_program(" # nothing\n\n", "");
}

#[test]
fn spans_cover_the_text() {
    let source = "y = (a + b) * f(c, axis=1)[0:2]";
    let program = parse_program(source).unwrap();
    let texts: Vec<_> = program.exprs().map(|(id, _)| &source[program.span(id).range()]).collect();
    let f = "f(c, axis=1)[0:2]";
    assert_eq!(
        texts,
        ["a", "b", "a + b", "c", "1", "f(c, axis=1)", "0", "2", f, "(a + b) * f(c, axis=1)[0:2]"]
    );
    let Some((_, Expr::Call { args, .. })) = program.exprs().nth(5) else { panic!("not a call") };
    assert_eq!(&source[args[1].keyword.as_ref().unwrap().span.range()], "axis");
    assert_eq!(program.stmts[0].span.range(), 0..source.len());
}

#[test]
fn free_names_are_what_is_missing() {
    let check = |source: &str, expected: &[&str]| {
        let program = parse_expression(source).or_else(|_| parse_program(source)).unwrap();
        let names: Vec<String> = program.free_names().into_iter().map(|name| name.text).collect();
        assert_eq!(names, expected, "{source}");
    };
    check("f(x @ w + x, axis=b)", &["x", "w", "b"]);
    check("C[i,j] += A[i,k] * B[p[k],j] + s", &["A", "B", "p", "s"]);
    check("size N\ninput x: f32[N, M]\ny = x + z\noutput y\noutput q\n", &["M", "z", "q"]);
}

#[test]
fn long_chains_and_wide_lists_need_no_stack() {
    let sum = vec!["a"; 100_000].join(" + ");
    let attributes = format!("a{}", ".T".repeat(100_000));
    let list = format!("f({})", vec!["a"; 100_000].join(", "));
    for source in [sum, attributes, list] {
        assert_eq!(parse_expression(&source).unwrap().to_string(), source + "\n");
    }
}

#[test]
fn nesting_is_bounded() {
    let costliest = "a < a | a ^ a & a << a + a * ";
    for (open, core, close) in [
        ("(", "a", ")"),
        ("[", "", "]"),
        ("f(", "a", ")"),
        ("a[", "a", "]"),
        ("-", "a", ""),
        ("a ** ", "a", ""),
    ] {
        for repeat in [MAX_DEPTH, MAX_DEPTH + 1, 100_000] {
            let open =
                if open == "(" && repeat <= MAX_DEPTH { format!("{costliest}(") } else { open.to_owned() };
            let source = format!("{}{core}{}", open.repeat(repeat), close.repeat(repeat));
            let result = parse_expression(&source);
            match result {
                Ok(program) => {
                    assert!(repeat <= MAX_DEPTH);
                    assert!(parse_expression(&program.to_string()).is_ok());
                }
                Err(errors) => {
                    assert!(repeat > MAX_DEPTH, "{source}");
                    assert_eq!(errors[0].kind, SyntaxErrorKind::TooDeep { limit: MAX_DEPTH });
                }
            }
        }
    }
}

#[test]
fn an_expression_is_one_output() {
    let program = parse_expression("x +\n y").unwrap();
    assert!(matches!(program.stmts[..], [crate::Stmt { kind: StmtKind::Result { .. }, .. }]));
    let kind = |source| parse_expression(source).unwrap_err().remove(0).kind;
    assert_eq!(kind(" # nothing"), SyntaxErrorKind::Empty);
    let expected = "the end of the expression";
    assert_eq!(kind("y = x"), SyntaxErrorKind::Unexpected { expected, found: "`=`".to_owned() });
}

#[test]
fn a_source_has_a_largest_size() {
    let source = " ".repeat(super::MAX_SOURCE_BYTES + 1);
    let bytes = source.len();
    let errors = parse_program(&source).unwrap_err();
    assert_eq!(errors[0].kind, SyntaxErrorKind::TooLarge { bytes, limit: super::MAX_SOURCE_BYTES });
}

#[test]
fn at_most_twenty_mistakes_are_reported() {
    assert_eq!(parse_program(&"y = )\n".repeat(100)).unwrap_err().len(), 20);
    assert_eq!(parse_program(&"y = ?\n".repeat(100)).unwrap_err().len(), 20);
}
