//! Wrong texts and what their author is told.

use crate::{Diagnostic, Style, parse_program};
use expect_test::{Expect, expect};

fn check_error(source: &str, expected: Expect) {
    let errors = parse_program(source).map(|program| program.to_string()).unwrap_err();
    let render = |error| Diagnostic::from(error).render("p.tj", source, Style::Plain);
    expected.assert_eq(&errors.iter().map(render).collect::<String>());
}

#[test]
fn unknown_characters() {
    check_error(
        "y = x \u{d7} 2; z = $",
        expect![[r#"
        error: unknown character U+00D7
         --> p.tj:1:7
          |
        1 | y = x × 2; z = $
          |       ^
          |
          = note: `*` multiplies
        error: unknown character `;`
         --> p.tj:1:10
          |
        1 | y = x × 2; z = $
          |          ^
          |
          = note: a line holds one statement
        error: unknown character `$`
         --> p.tj:1:16
          |
        1 | y = x × 2; z = $
          |                ^
    "#]],
    );
    check_error(
        "y = λ \\",
        expect![[r#"
        error: unknown character `λ` (U+03BB)
         --> p.tj:1:5
          |
        1 | y = λ \
          |     ^
          |
          = note: names are made of ASCII letters, digits and `_`
        error: unknown character `\`
         --> p.tj:1:7
          |
        1 | y = λ \
          |       ^
          |
          = note: brackets continue a line
    "#]],
    );
}

#[test]
fn numbers() {
    check_error(
        "a = 1.2.3\nb = 12abc\nc = 1__0\nd = 007\ne = 0x1F\nf = 18446744073709551616\ng = 1e\nh = x[1..2]",
        expect![[r#"
            error: `1.2.3` is not a number
             --> p.tj:1:5
              |
            1 | a = 1.2.3
              |     ^^^^^
            error: `12abc` is not a number
             --> p.tj:2:5
              |
            2 | b = 12abc
              |     ^^^^^
            error: `1__0` is not a number
             --> p.tj:3:5
              |
            3 | c = 1__0
              |     ^^^^
              |
              = note: `_` stands between two digits
            error: `007` is not a number
             --> p.tj:4:5
              |
            4 | d = 007
              |     ^^^
              |
              = note: an integer does not start with 0
            error: `0x1F` is not a number
             --> p.tj:5:5
              |
            5 | e = 0x1F
              |     ^^^^
            error: the integer 18446744073709551616 does not fit in 64 bits
             --> p.tj:6:5
              |
            6 | f = 18446744073709551616
              |     ^^^^^^^^^^^^^^^^^^^^
            error: `1e` is not a number
             --> p.tj:7:5
              |
            7 | g = 1e
              |     ^^
        "#]],
    );
}

#[test]
fn strings() {
    check_error(
        "y = einsum(\"ij, x)\nz = 'a\\n'",
        expect![[r#"
            error: this string is never closed
             --> p.tj:1:12
              |
            1 | y = einsum("ij, x)
              |            ^ opened here
              |
              = note: a string ends on its own line
            error: strings have no escapes
             --> p.tj:2:7
              |
            2 | z = 'a\n'
              |       ^
        "#]],
    );
}

#[test]
fn brackets() {
    check_error(
        "y = f(a, (b + c)\nz = a + b\noutput y = (z",
        expect![[r#"
        error: `(` is never closed
         --> p.tj:1:6
          |
        1 | y = f(a, (b + c)
          |      ^ opened here
        error: `(` is never closed
         --> p.tj:3:12
          |
        3 | output y = (z
          |            ^ opened here
    "#]],
    );
    check_error(
        "y = f(a]",
        expect![[r#"
        error: expected `,` or `)`, found `]`
         --> p.tj:1:8
          |
        1 | y = f(a]
          |      - ^
          |      |
          |      opened here
    "#]],
    );
    check_error(
        "y = a)",
        expect![[r#"
        error: expected the end of the line, found `)`
         --> p.tj:1:6
          |
        1 | y = a)
          |      ^
    "#]],
    );
    check_error(
        "y = f(\n  a\n  b\n)",
        expect![[r#"
        error: expected `,` or `)`, found `b`
         --> p.tj:3:3
          |
        1 | y = f(
          |      - opened here
        2 |   a
        3 |   b
          |   ^
    "#]],
    );
    check_error(
        "y = x[]",
        expect![[r#"
        error: expected an expression, found `]`
         --> p.tj:1:7
          |
        1 | y = x[]
          |      -^
          |      |
          |      opened here
    "#]],
    );
    check_error(
        &format!("y = {}a", "(".repeat(300)),
        expect![[r#"
        error: this is nested more than 200 deep
         --> p.tj:1:205
          |
        1 | ...((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((...
          |                                                       ^ the limit is reached here
          |
          = note: give inner parts a name with `name = ...`
    "#]],
    );
}

#[test]
fn bounds() {
    check_error(
        "size N in 0..",
        expect![[r#"
        error: the upper bound is missing
         --> p.tj:1:14
          |
        1 | size N in 0..
          |              ^
          |
          = note: write both, as in `0..=4096`, or leave out `in` and what follows
    "#]],
    );
    check_error(
        "size N in ..=7",
        expect![[r#"
        error: the lower bound is missing
         --> p.tj:1:11
          |
        1 | size N in ..=7
          |           ^^^
          |
          = note: write both, as in `0..=4096`, or leave out `in` and what follows
    "#]],
    );
    check_error(
        "size N in",
        expect![[r#"
        error: the lower bound is missing
         --> p.tj:1:10
          |
        1 | size N in
          |          ^
          |
          = note: write both, as in `0..=4096`, or leave out `in` and what follows
    "#]],
    );
    check_error(
        "size N in 7",
        expect![[r#"
        error: expected `..` or `..=` and the upper bound, found the end of the line
         --> p.tj:1:12
          |
        1 | size N in 7
          |            ^
    "#]],
    );
    check_error(
        "size N in -1..=7\nsize M in 4..4\nsize K in 0..=M",
        expect![[r#"
        error: expected a non-negative integer, found `-`
         --> p.tj:1:11
          |
        1 | size N in -1..=7
          |           ^
        error: the bounds 4..=3 hold no size
         --> p.tj:2:11
          |
        2 | size M in 4..4
          |           ^^^^
        error: expected a non-negative integer, found `M`
         --> p.tj:3:15
          |
        3 | size K in 0..=M
          |               ^
    "#]],
    );
}

#[test]
fn sizes() {
    check_error(
        "input x: f32[N / 2, 1.5]\ninput y: f32[max(N, key=2)]\ninput z f32\ninput in: f32",
        expect![[r#"
            error: `/` is not part of a size
             --> p.tj:1:14
              |
            1 | input x: f32[N / 2, 1.5]
              |              ^^^^^
              |
              = note: a size is made of integers, names, `+`, `-`, `*`, `//`, `%`, `min` and `max`
            error: this call of `max` is not part of a size
             --> p.tj:2:14
              |
            2 | input y: f32[max(N, key=2)]
              |              ^^^^^^^^^^^^^
              |
              = note: a size is made of integers, names, `+`, `-`, `*`, `//`, `%`, `min` and `max`
            error: expected `:` and the type of the input, found `f32`
             --> p.tj:3:9
              |
            3 | input z f32
              |         ^^^
            error: `in` is a keyword, not a name
             --> p.tj:4:7
              |
            4 | input in: f32
              |       ^^
              |
              = note: choose another name
        "#]],
    );
}

#[test]
fn comparisons() {
    check_error(
        "y = a < b <= c",
        expect![[r#"
        error: comparisons do not chain
         --> p.tj:1:11
          |
        1 | y = a < b <= c
          |       -   ^^ a second comparison
          |       |
          |       the first
          |
          = note: write `(a < b) & (b < c)`
    "#]],
    );
    check_error(
        "y = a and b",
        expect![[r#"
        error: expected the end of the line, found `and`
         --> p.tj:1:7
          |
        1 | y = a and b
          |       ^^^
          |
          = note: `&` is the elementwise and
    "#]],
    );
}

#[test]
fn keyword_arguments() {
    check_error(
        "y = f(axis=1, x)",
        expect![[r#"
        error: a positional argument follows a keyword argument
         --> p.tj:1:15
          |
        1 | y = f(axis=1, x)
          |       ----    ^ this one has no keyword
          |       |
          |       a keyword argument
          |
          = note: keyword arguments come last
    "#]],
    );
    check_error(
        "y = f(axis=1, axis=2)",
        expect![[r#"
        error: the keyword argument `axis` is given twice
         --> p.tj:1:15
          |
        1 | y = f(axis=1, axis=2)
          |       ----    ^^^^
          |       |
          |       the first
    "#]],
    );
    check_error(
        "y = f(x.axis=1)",
        expect![[r#"
        error: only a name can be a keyword argument
         --> p.tj:1:7
          |
        1 | y = f(x.axis=1)
          |       ^^^^^^
          |
          = note: `==` compares
    "#]],
    );
    check_error(
        "size = 3\ny = input + 1",
        expect![[r#"
            error: `size` is a keyword, not a name
             --> p.tj:1:1
              |
            1 | size = 3
              | ^^^^
              |
              = note: choose another name
            error: `input` is a keyword, not a name
             --> p.tj:2:5
              |
            2 | y = input + 1
              |     ^^^^^
              |
              = note: choose another name
        "#]],
    );
}

#[test]
fn targets_and_calls() {
    check_error(
        "f(x) = y\nx + 1\nC[0] += x\noutput x + 1\ny =\ny = f(x)(z)\ny = x z",
        expect![[r#"
        error: only a name or a name with indices can be assigned to
         --> p.tj:1:1
          |
        1 | f(x) = y
          | ^^^^
          |
          = note: `==` compares
        error: the value of this statement is not used
         --> p.tj:2:1
          |
        2 | x + 1
          | ^^^^^
          |
          = note: write `name = ...` or `output name = ...`
        error: expected the name of an index, found `0`
         --> p.tj:3:3
          |
        3 | C[0] += x
          |   ^
        error: expected `=`, `,` or the end of the line after the name of an output, found `+`
         --> p.tj:4:10
          |
        4 | output x + 1
          |          ^
        error: expected an expression, found the end of the line
         --> p.tj:5:4
          |
        5 | y =
          |    ^
        error: only functions and methods can be called
         --> p.tj:6:5
          |
        6 | y = f(x)(z)
          |     ^^^^ called here
          |
          = note: `*` multiplies
        error: expected the end of the line, found `z`
         --> p.tj:7:7
          |
        7 | y = x z
          |       ^
    "#]],
    );
}
