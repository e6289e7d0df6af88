//! Random trees and random token soup through printer and parser.

use crate::ast::{
    Arg, BinaryOp, Bounds, EinopOp, Expr, ExprId, Ident, Program, SequenceKind, Span, Stmt, StmtKind,
    Subscript, UnaryOp,
};
use crate::{parse_expression, parse_program};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

/// An expression before it is in an arena: a node whose children are still to come, in the order of the text.
#[derive(Clone, Debug)]
struct Tree(Node, Vec<Tree>);

#[derive(Clone, Debug)]
enum Node {
    Leaf(Expr),
    Unary(UnaryOp),
    Binary(BinaryOp),
    /// A function's name and how many arguments have a keyword.
    Call(String, usize),
    Method(String, usize),
    Attribute(String),
    /// Which parts each subscript has; the first tree is the base, missing ones leave parts out.
    Index(Vec<Parts>),
    Sequence(SequenceKind),
}

#[derive(Clone, Copy, Debug)]
enum Parts {
    At,
    Slice(bool, bool, bool),
    Ellipsis,
}

fn ident(text: impl Into<String>) -> Ident {
    Ident { text: text.into(), span: Span::default() }
}

fn add(tree: &Tree, program: &mut Program) -> ExprId {
    let Tree(node, children) = tree;
    let ids: Vec<ExprId> = children.iter().map(|child| add(child, program)).collect();
    let args = |ids: &[ExprId], n_keywords: usize| {
        let first_keyword = ids.len().saturating_sub(n_keywords);
        let keywords = ["axis", "size", "in", "nan", "min", "k"];
        ids.iter()
            .enumerate()
            .map(|(i, value)| {
                let keyword = (i >= first_keyword).then(|| ident(keywords[i - first_keyword]));
                Arg { keyword, value: *value }
            })
            .collect()
    };
    let expr = match node {
        Node::Leaf(expr) => expr.clone(),
        Node::Unary(op) => Expr::Unary { op: *op, arg: ids[0] },
        Node::Binary(op) => Expr::Binary { op: *op, left: ids[0], right: ids[1] },
        Node::Call(name, n) => Expr::Call { function: ident(name), args: args(&ids, *n) },
        Node::Method(name, n) => {
            Expr::Method { receiver: ids[0], method: ident(name), args: args(&ids[1..], *n) }
        }
        Node::Attribute(name) => Expr::Attribute { receiver: ids[0], name: ident(name) },
        Node::Index(parts) => {
            let mut rest = ids[1..].iter().copied();
            let mut subscripts = Vec::new();
            for part in parts {
                let mut part_if = |wanted: bool| if wanted { rest.next() } else { None };
                subscripts.push(match part {
                    Parts::At => part_if(true).map_or(Subscript::Ellipsis(Span::default()), Subscript::At),
                    Parts::Slice(start, stop, step) => Subscript::Slice {
                        start: part_if(*start),
                        stop: part_if(*stop),
                        step: part_if(*step),
                        span: Span::default(),
                    },
                    Parts::Ellipsis => Subscript::Ellipsis(Span::default()),
                });
            }
            subscripts.extend(rest.map(Subscript::At));
            Expr::Index { base: ids[0], subscripts }
        }
        Node::Sequence(kind) => Expr::Sequence { kind: *kind, items: ids },
    };
    program.add(expr, Span::default())
}

fn name() -> impl Strategy<Value = String> {
    select(vec!["x", "y", "W1", "_", "min", "max", "linalg", "e", "and", "int8"]).prop_map(str::to_owned)
}

fn word() -> impl Strategy<Value = String> {
    prop_oneof![name(), select(vec!["T", "size", "in", "inf"]).prop_map(str::to_owned)]
}

fn leaf() -> impl Strategy<Value = Tree> {
    let float = any::<f64>().prop_map(f64::abs);
    prop_oneof![
        4 => name().prop_map(Expr::Name),
        2 => prop_oneof![0_u64..10, any::<u64>()].prop_map(Expr::Int),
        2 => prop_oneof![select(vec![0.0, 1.0, 0.1, 1e300, f64::INFINITY, f64::NAN]), float].prop_map(Expr::Float),
        1 => any::<bool>().prop_map(Expr::Bool),
        1 => Just(Expr::None),
        1 => select(vec!["", "ij,jk->ik", "it's", "say \"x\"", "# é"]).prop_map(|s| Expr::Str(s.to_owned())),
    ]
    .prop_map(|expr| Tree(Node::Leaf(expr), vec![]))
}

fn tree() -> impl Strategy<Value = Tree> {
    leaf().prop_recursive(6, 40, 4, |inner| {
        let unary = select(vec![UnaryOp::Neg, UnaryOp::Pos, UnaryOp::Invert]);
        let part = prop_oneof![
            Just(Parts::At),
            any::<[bool; 3]>().prop_map(|[start, stop, step]| Parts::Slice(start, stop, step)),
            Just(Parts::Ellipsis),
        ];
        let kind = select(vec![SequenceKind::Tuple, SequenceKind::List]);
        prop_oneof![
            3 => (unary, inner.clone()).prop_map(|(op, x)| Tree(Node::Unary(op), vec![x])),
            6 => (select(BinaryOp::ALL.to_vec()), inner.clone(), inner.clone())
                .prop_map(|(op, x, y)| Tree(Node::Binary(op), vec![x, y])),
            1 => (name(), 0_usize..4, vec(inner.clone(), 0..4)).prop_map(|(f, n, xs)| Tree(Node::Call(f, n), xs)),
            1 => (word(), 0_usize..3, vec(inner.clone(), 1..4))
                .prop_map(|(f, n, xs)| Tree(Node::Method(f, n.min(xs.len() - 1)), xs)),
            1 => (word(), inner.clone()).prop_map(|(f, x)| Tree(Node::Attribute(f), vec![x])),
            1 => (vec(part, 1..4), vec(inner.clone(), 1..5)).prop_map(|(parts, xs)| Tree(Node::Index(parts), xs)),
            1 => (kind, vec(inner, 0..4)).prop_map(|(kind, xs)| Tree(Node::Sequence(kind), xs)),
        ]
    })
}

fn size_tree() -> impl Strategy<Value = Tree> {
    let leaf = prop_oneof![any::<u64>().prop_map(Expr::Int), name().prop_map(Expr::Name)]
        .prop_map(|expr| Tree(Node::Leaf(expr), vec![]));
    leaf.prop_recursive(3, 10, 2, |inner| {
        use BinaryOp as B;
        let op = select(vec![B::Add, B::Sub, B::Mul, B::FloorDiv, B::Rem]);
        prop_oneof![
            (op, inner.clone(), inner.clone()).prop_map(|(op, x, y)| Tree(Node::Binary(op), vec![x, y])),
            inner.clone().prop_map(|x| Tree(Node::Unary(UnaryOp::Neg), vec![x])),
            vec(inner, 1..3).prop_map(|xs| Tree(Node::Call("min".to_owned(), 0), xs)),
        ]
    })
}

#[derive(Clone, Debug)]
enum Statement {
    Size(String, Option<(u64, u64)>),
    Input(String, Vec<Tree>, Vec<String>, Option<Tree>),
    Bind(String, Tree),
    Output(String, Option<Tree>),
    Einop(String, Vec<String>, EinopOp, Tree),
}

fn statement() -> impl Strategy<Value = Statement> {
    prop_oneof![
        (name(), proptest::option::of(any::<(u64, u64)>())).prop_map(|(n, b)| Statement::Size(n, b)),
        (name(), vec(size_tree(), 0..3), vec(word(), 0..2), proptest::option::of(tree()))
            .prop_map(|(n, d, f, v)| Statement::Input(n, d, f, v)),
        (name(), tree()).prop_map(|(n, x)| Statement::Bind(n, x)),
        (name(), proptest::option::of(tree())).prop_map(|(n, x)| Statement::Output(n, x)),
        (name(), vec(name(), 0..3), select(EinopOp::ALL.to_vec()), tree())
            .prop_map(|(n, i, op, x)| Statement::Einop(n, i, op, x)),
    ]
}

fn build(statements: &[Statement]) -> Program {
    let mut program = Program::default();
    for statement in statements {
        let kind = match statement {
            Statement::Size(name, bounds) => {
                let bounds =
                    bounds.map(|(a, b)| Bounds { lower: a.min(b), upper: a.max(b), span: Span::default() });
                StmtKind::Size { name: ident(name), bounds }
            }
            Statement::Input(name, dims, format, fill) => StmtKind::Input {
                name: ident(name),
                dtype: ident("f32"),
                dims: dims.iter().map(|dim| add(dim, &mut program)).collect(),
                format: (!format.is_empty()).then(|| ident(format.join(" "))),
                fill: fill.as_ref().map(|fill| add(fill, &mut program)),
            },
            Statement::Bind(name, value) => {
                StmtKind::Bind { name: ident(name), value: add(value, &mut program) }
            }
            Statement::Output(name, value) => {
                let value = value.as_ref().map(|value| add(value, &mut program));
                StmtKind::Output { name: ident(name), value }
            }
            Statement::Einop(name, indices, op, value) => {
                let value = add(value, &mut program);
                if indices.is_empty() && *op == EinopOp::Assign {
                    StmtKind::Bind { name: ident(name), value }
                } else {
                    let indices = indices.iter().map(ident).collect();
                    StmtKind::Einop { target: ident(name), indices, op: *op, value }
                }
            }
        };
        program.stmts.push(Stmt { kind, span: Span::default() });
    }
    program
}

/// The arena and the statements without places, in a form in which a NaN equals itself.
fn shape(program: &Program) -> String {
    let text = format!("{:?} {:?}", program.exprs().map(|(_, expr)| expr).collect::<Vec<_>>(), program.stmts);
    let mut shape = String::new();
    for (i, piece) in text.split("Span {").enumerate() {
        shape.push_str(if i == 0 { piece } else { piece.split_once('}').unwrap().1 });
    }
    shape
}

fn soup() -> impl Strategy<Value = String> {
    let pieces = vec![
        "x", "N", "size", "input", "output", "in", "f", "min", "None", "inf", "0", "12", "1.5", "1e3", ".5",
        "(", ")", "[", "]", ",", ":", ".", "..", "..=", "...", "=", "+=", "==", "<", "<=", "|", "&", "<<",
        "+", "-", "*", "**", "@", "~", "//", "\"s\"", "'", "# c", "\n", "\n", " ", " ", "é", "1.2.3",
    ];
    vec(select(pieces), 0..24).prop_map(|pieces| pieces.concat())
}

fn check_text(source: &str) -> Result<(), TestCaseError> {
    for parse in [parse_program, parse_expression] {
        match parse(source) {
            Ok(program) => {
                let text = program.to_string();
                // An expression's program may print an output statement, which only the other parser reads.
                if let Ok(again) = parse(&text) {
                    prop_assert_eq!(again.to_string(), text);
                    prop_assert_eq!(shape(&again), shape(&program));
                } else {
                    prop_assert_eq!(parse_program(&text).unwrap().to_string(), text);
                }
            }
            Err(errors) => {
                prop_assert!(!errors.is_empty());
                for error in errors {
                    prop_assert!(source.get(error.span.range()).is_some(), "{:?}", error);
                    let text = crate::Diagnostic::from(&error).render("p", source, crate::Style::Plain);
                    prop_assert!(text.starts_with(&format!("error: {}\n", error.kind)), "{}", text);
                }
            }
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, ..ProptestConfig::default() })]

    #[test]
    fn printed_programs_parse_to_the_same_tree(statements in vec(statement(), 0..5)) {
        let program = build(&statements);
        let text = program.to_string();
        let again = parse_program(&text).map_err(|e| TestCaseError::fail(format!("{e:?} in\n{text}")))?;
        prop_assert_eq!(shape(&again), shape(&program), "{}", text);
        prop_assert_eq!(again.to_string(), text);
    }

    #[test]
    fn printed_expressions_parse_to_the_same_tree(tree in tree()) {
        let mut program = Program::default();
        let value = add(&tree, &mut program);
        program.stmts.push(Stmt { kind: StmtKind::Result { value }, span: Span::default() });
        let text = program.to_string();
        let again = parse_expression(&text).map_err(|e| TestCaseError::fail(format!("{e:?} in\n{text}")))?;
        prop_assert_eq!(shape(&again), shape(&program), "{}", text);
    }

    #[test]
    fn token_soup_parses_or_says_where_it_does_not(source in soup()) {
        check_text(&source)?;
    }

    #[test]
    fn any_text_parses_or_says_where_it_does_not(source in "\\PC{0,40}") {
        check_text(&source)?;
    }
}
