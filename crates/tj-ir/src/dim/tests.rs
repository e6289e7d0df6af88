//! Cases worth naming, as text in and text out.

use super::*;

/// Reads a size: capitals are declared with default bounds (`P` and `Q` at least 1), `i` and `s` as printed.
fn dim(text: &str) -> Dim {
    Dim::parse(text, &mut |name| match (name, name.split_at(1)) {
        ("P" | "Q", _) => Symbol::declared(name, 1..).ok(),
        (_, ("i", number)) => Some(Symbol::index(number.parse().unwrap())),
        (_, ("s", number)) => Symbol::fresh(number.parse().unwrap(), ..).ok(),
        _ => Symbol::declared(name, ..).ok(),
    })
    .unwrap()
}

/// Index `n` runs over `lo..=hi`.
fn ranges(ends: &[(&str, &str)]) -> Ranges {
    let mut ranges = Ranges::new();
    for (number, (lo, hi)) in (0..).zip(ends) {
        ranges.set(number, dim(lo), dim(hi));
    }
    ranges
}

#[test]
fn sizes_cross_threads() {
    fn check<T: Send + Sync>(value: T) -> T {
        value
    }
    assert_eq!(check(dim("floordiv(N, M) + 1")), dim("1 + floordiv(N, M)"));
}

#[test]
fn canonical_text() {
    let cases = [
        ("1 + 2*N", "2*N + 1"),
        ("N - 1 - i0", "-i0 + N - 1"),
        ("M*i0 + i1", "i0*M + i1"),
        ("s2 + N + i3 + 0*M", "i3 + N + s2"),
        ("(N + 1)*(N - 1)", "N^2 - 1"),
        ("N - N", "0"),
        ("-9223372036854775808*N - 9223372036854775808", "-9223372036854775808*N - 9223372036854775808"),
        ("max(N, 3)*floordiv(N, 2)^2", "floordiv(N, 2)^2*max(N, 3)"),
        ("min(M, N) - min(N, M)", "0"),
    ];
    for (text, expected) in cases {
        assert_eq!(dim(text).to_string(), expected, "{text}");
    }
}

#[test]
fn quotients_and_remainders() {
    let cases = [
        // Constants: rounding down, the sign of the divisor, total at 0.
        ("floordiv(-7, 2)", "-4"),
        ("modulo(-7, 2)", "1"),
        ("floordiv(7, -2)", "-4"),
        ("modulo(7, -2)", "-1"),
        ("floordiv(7, 0) + modulo(7, 0)", "0"),
        ("floordiv(N, 0) + modulo(N, 0)", "0"),
        ("floordiv(0, N) + modulo(0, N)", "0"),
        ("floordiv(N, -1)", "-N"),
        ("floordiv(N, -3)", "floordiv(-N, 3)"),
        // Splitting.
        ("floordiv(4*N + 7, 4)", "N + 1"),
        ("floordiv(4*N + M, 4)", "N + floordiv(M, 4)"),
        ("modulo(4*N + M + 5, 4)", "modulo(M + 1, 4)"),
        ("floordiv(N - 9223372036854775808, 3)", "floordiv(N + 1, 3) - 3074457345618258603"),
        ("floordiv(P*N, P)", "N"),
        ("floordiv(N*M, M)", "floordiv(M*N, M)"),
        ("modulo(N*M, M)", "0"),
        ("modulo(M, M)", "0"),
        ("floordiv(P, P)", "1"),
        ("floordiv(P + N, P)", "floordiv(N, P) + 1"),
        ("floordiv(P - 1, P)", "0"),
        ("floordiv(i0*(N + 1) + i1, N + 1)", "i0 + floordiv(i1, N + 1)"),
        ("floordiv(N, N + 1)", "0"),
        ("modulo(N, N + 1)", "N"),
        // Common factors and nests.
        ("floordiv(6*N + 9, 12)", "floordiv(N + 1, 2)"),
        ("modulo(6*N + 10, 12)", "6*modulo(N + 1, 2) + 4"),
        ("floordiv(P*N, P*Q)", "floordiv(N, Q)"),
        ("floordiv(P*N, P*M)", "floordiv(N*P, M*P)"),
        ("floordiv(floordiv(N, 2), 3)", "floordiv(N, 6)"),
        ("floordiv(floordiv(N + 1, 2) + 1, 2)", "floordiv(N + 3, 4)"),
        ("floordiv(floordiv(N, M), K)", "floordiv(N, K*M)"),
        ("modulo(modulo(N, 12), 4)", "modulo(N, 4)"),
        ("modulo(2*modulo(N, 4) + M, 6)", "modulo(M + 2*modulo(N, 4), 6)"),
        ("modulo(3*modulo(N, 4) + M, 12)", "modulo(M + 3*N, 12)"),
        ("floordiv(2*N - 3, 2*P)", "floordiv(N - 2, P)"),
        ("floordiv(modulo(N, 2*i0), 2)", "floordiv(modulo(N, 2*i0), 2)"),
        ("floordiv(modulo(N, 12), 4)", "modulo(floordiv(N, 4), 3)"),
        ("modulo(modulo(N, M), M)", "modulo(N, M)"),
        ("floordiv(modulo(N, 4), 4)", "0"),
    ];
    for (text, expected) in cases {
        assert_eq!(dim(text).to_string(), expected, "{text}");
    }
}

#[test]
fn extrema() {
    let cases = [
        ("min(N, N + 1)", "N"),
        ("max(N, N + 1)", "N + 1"),
        ("max(N, 0)", "N"),
        ("max(N - 1, 0)", "max(N - 1, 0)"),
        ("max(P - 1, 0)", "P - 1"),
        ("min(N*M + N, N)", "N"),
        ("min(modulo(N, 4), 3)", "modulo(N, 4)"),
        ("max(N, M)", "max(M, N)"),
    ];
    for (text, expected) in cases {
        assert_eq!(dim(text).to_string(), expected, "{text}");
    }
}

#[test]
fn reshapes_compose() {
    let rows = ranges(&[("0", "N - 1"), ("0", "M - 1"), ("0", "K - 1"), ("0", "N*M*K - 1")]);
    let cases = [
        // Flattening, then splitting, though any size may be 0.
        ("floordiv(i0*M + i1, M)", "i0"),
        ("modulo(i0*M + i1, M)", "i1"),
        ("floordiv((i0*M + i1)*K + i2, M*K)", "i0"),
        ("modulo(floordiv((i0*M + i1)*K + i2, K), M)", "i1"),
        ("floordiv(modulo((i0*M + i1)*K + i2, M*K), K)", "i1"),
        ("modulo((i0*M + i1)*K + i2, K)", "i2"),
        // Splitting, then flattening.
        ("floordiv(i3, K)*K + modulo(i3, K)", "i3"),
        ("(floordiv(i3, M*K)*M + modulo(floordiv(i3, K), M))*K + modulo(i3, K)", "i3"),
        ("floordiv(i3, M*K)*M*K + floordiv(modulo(i3, M*K), K)*K + modulo(modulo(i3, M*K), K)", "i3"),
        // Another factor: M*K as one axis against K*2 parts.
        ("floordiv(i1*K + i2, M*K)", "0"),
        ("modulo(i0*M + i1, 2*M)", "modulo(i0, 2)*M + i1"),
        ("floordiv(i0*M + i1, 2*M)", "floordiv(i0, 2)"),
        // Flips and slices.
        ("floordiv(i0*M + M - 1 - i1, M)", "i0"),
        ("modulo(i0*M + M - 1 - i1, M)", "-i1 + M - 1"),
        ("max(0, min(i1, M - 1))", "i1"),
        ("max(i0, i1 - M)", "i0"),
        // No row index, no claim: M may be 0.
        ("floordiv(i0*M, M)", "floordiv(i0*M, M)"),
    ];
    for (text, expected) in cases {
        assert_eq!(dim(text).simplify_in(&rows).to_string(), dim(expected).to_string(), "{text}");
    }
    // Six by four, read as eight by three, read as six by four again.
    let eight = dim("i0*4 + i1");
    let (row, column) = (eight.floordiv(&3.into()), eight.modulo(&3.into()));
    let six = row * 3 + column;
    let table = ranges(&[("0", "5"), ("0", "3")]);
    assert_eq!(six.floordiv(&4.into()).simplify_in(&table), dim("i0"));
    assert_eq!(six.modulo(&4.into()).simplify_in(&table), dim("i1"));
    let tiles = ranges(&[("0", "floordiv(N + 3, 4) - 1"), ("0", "min(3, N - 1 - 4*i0)")]);
    assert_eq!(dim("floordiv(4*i0 + i1, 4)").simplify_in(&tiles), dim("i0"));
    assert_eq!(dim("N - 1 - 4*i0 - i1").known_ge_zero_in(&tiles), Some(true));
    let fixed = ranges(&[("0", "5"), ("0", "3")]);
    assert_eq!(dim("floordiv(4*i0 + i1, 8)").simplify_in(&fixed), dim("floordiv(i0, 2)"));
    assert_eq!(dim("modulo(4*i0 + i1, 12)").simplify_in(&fixed).to_string(), "i1 + 4*modulo(i0, 3)");
}

#[test]
fn bounds_of_index_maps() {
    let rows = ranges(&[("0", "N - 1"), ("0", "i0"), ("1", "3")]);
    let cases = [
        ("i0*M + 2", Some(("2", "M*N - M + 2"))),
        ("N - 1 - i0", Some(("0", "N - 1"))),
        ("i0 - i1", Some(("0", "N - 1"))),
        ("floordiv(i0, 2) + modulo(i0, 2)", Some(("0", "floordiv(N - 1, 2) + 1"))),
        ("i2*(M - 2)", Some(("min(M - 2, 3*M - 6)", "max(M - 2, 3*M - 6)"))),
        ("i0^2", None),
        ("i9", None),
    ];
    for (text, expected) in cases {
        let expected = expected.map(|(lo, hi)| (dim(lo), dim(hi)));
        assert_eq!(dim(text).bounds_in(&rows), expected, "{text}");
    }
}

#[test]
fn what_is_known() {
    let (yes, no, open) = (Some(true), Some(false), None);
    let equal = [
        ("N + N", "2*N", yes),
        ("2*N", "2*M + 1", no),
        ("N", "N + 1", no),
        ("N", "M", open),
        ("N", "-P", no),
        ("3*floordiv(P, 3) + modulo(P, 3)", "P", yes),
        ("M*floordiv(N, M) + modulo(N, M)", "N", open),
        ("N*9223372036854775807", "-N*9223372036854775807", open),
    ];
    for (a, b, known) in equal {
        assert_eq!(dim(a).known_eq(&dim(b)), known, "{a} = {b}");
    }
    let at_most = [
        ("0", "N", yes),
        ("N", "N + M", yes),
        ("N + 1", "N", no),
        ("N", "M", open),
        ("N", "N*P", yes),
        ("P + Q", "P*Q + 1", yes),
        ("N", "4*floordiv(N + 3, 4)", yes),
        ("N", "4*floordiv(N + 2, 4)", open),
        ("4*floordiv(N, 4)", "N", yes),
        ("4*floordiv(N + 1, 4)", "N", open),
        ("modulo(N, P)", "P - 1", yes),
        ("min(N, M)", "N", yes),
        ("max(N, M)", "N + M", yes),
        ("N^2", "N^3", open),
    ];
    for (a, b, known) in at_most {
        assert_eq!(dim(a).known_le(&dim(b)), known, "{a} <= {b}");
    }
    let multiples =
        [("6*N + 9", 3, yes), ("6*N + 8", 3, no), ("N", 3, open), ("N", 1, yes), ("0", 0, yes), ("P", 0, no)];
    for (a, factor, known) in multiples {
        assert_eq!(dim(a).known_multiple_of(factor), known, "{factor} | {a}");
    }
}

#[test]
fn overflow_poisons() {
    let n = dim("N");
    let big = &n * i64::MAX;
    let cases = [
        (&big + &n, "9223372036854775807*N + N"),
        (&n - (&n * i64::MIN), "N - (-9223372036854775808*N)"),
        (-(&n * i64::MIN), "-(-9223372036854775808*N)"),
        (Dim::from(i64::MAX) + 1, "9223372036854775807 + 1"),
        (Dim::from(1i64 << 33) * (1i64 << 34), "8589934592 * 17179869184"),
        ((&n + 1) * i64::MAX * 2, "(9223372036854775807*N + 9223372036854775807) * 2"),
        (Dim::from(i64::MIN).floordiv(&(-1).into()), "floordiv(-9223372036854775808, -1)"),
        (Dim::from(3).pow(64), "3 ^ 64"),
        (n.pow(u32::MAX) * &n, "N^4294967295 * N"),
        (Dim::from(usize::MAX), "18446744073709551615"),
    ];
    for (poisoned, culprit) in cases {
        assert_eq!(poisoned.to_string(), "overflow");
        let message = poisoned.eval(&|_| Some(1)).unwrap_err().to_string();
        assert_eq!(message, format!("{culprit} does not fit in 64 bits"));
        for derived in [&poisoned + 1, -&poisoned, poisoned.min(&n), n.floordiv(&poisoned), poisoned.pow(0)] {
            assert_eq!(derived.check(), poisoned.check());
        }
        assert_eq!((poisoned.known_eq(&poisoned), poisoned.known_ge_zero()), (None, None));
        assert_eq!((poisoned.hint(), poisoned.div_exact(&n)), (None, None));
        assert_eq!(dim(&poisoned.to_string()), poisoned);
    }
    // Coefficients that fit, values that do not.
    assert_eq!(
        big.eval(&|_| Some(2)).unwrap_err().to_string(),
        "9223372036854775807*N does not fit in 64 bits"
    );
    let axis = |id| Dim::symbol(&Symbol::fresh(id, ..).unwrap());
    assert_eq!(
        (axis(0) * axis(12) * &n * 2).eval(&|_| Some(1 << 40)).unwrap_err().to_string(),
        "2*N*1099511627776*1099511627776 does not fit in 64 bits"
    );
    assert_eq!(
        (n.pow(9) * dim("M")).eval(&|s| Some(if *s == Symbol::declared("M", ..).unwrap() {
            0
        } else {
            i64::MAX
        })),
        Ok(0)
    );
}

#[test]
fn size_is_bounded() {
    let mut nest = dim("N");
    for _ in 0..100_000 {
        nest = nest.max(&dim("M")).floordiv(&dim("K"));
    }
    assert_eq!(nest.to_string(), "too_deep");
    let message = nest.check().unwrap_err().to_string();
    assert!(message.ends_with("... is too big: more than 100 nested operations"), "{message}");
    // Sharing would make the text of this nest exponential.
    let mut shared = dim("N");
    for _ in 0..100 {
        shared = (&shared + 1).floordiv(&(&shared * &dim("M") + 2));
    }
    assert_eq!(shared.to_string(), "too_large");
    assert_eq!(dim("(A + B + C + D)^60").to_string(), "too_large");
    let deep = format!("{}N{}", "(".repeat(100_000), ")".repeat(100_000));
    let error = Dim::parse(&deep, &mut |name| Symbol::declared(name, ..).ok()).unwrap_err();
    assert!(error.to_string().ends_with("more than 100 nested parentheses"), "{error}");
}

#[test]
fn the_deepest_nest_works() {
    // Rules 4 and 5 do not apply to these, so the nest is as deep as it looks.
    let mut text = "N".to_owned();
    for nth in 0..MAX_DEPTH {
        text = if nth % 2 == 0 { format!("floordiv({text}, M)") } else { format!("max(K, {text})") };
    }
    let nest = dim(&text);
    assert_eq!(nest.depth(), MAX_DEPTH);
    assert_eq!(nest.to_string(), text);
    assert_eq!(nest.eval(&|_| Some(1)), Ok(1));
    assert_eq!(nest.simplify_in(&Ranges::new()), nest);
    assert_eq!(nest.substitute(&|_| Some(Dim::ONE)), 1);
    assert_eq!((&nest + 1).known_le(&nest), Some(false));
    let over_index = nest.substitute(&|s| (*s == Symbol::declared("N", ..).unwrap()).then(|| Dim::index(0)));
    let mut ranges = Ranges::new();
    ranges.set_extent(0, &(dim("N") + 1));
    assert_eq!(over_index.simplify_in(&ranges), over_index);
    assert_eq!(over_index.bounds_in(&ranges), None, "no proof has fuel for this many levels");
}

#[test]
fn symbols_and_names() {
    for name in ["", "1N", "a b", "min", "overflow", "i0", "s12", "N-1"] {
        assert!(matches!(Dim::new(name, ..), Err(DimError::InvalidName { .. })), "{name:?}");
    }
    for name in ["N", "_", "i", "s", "i0x", "batch_size", "größe"] {
        assert!(Dim::new(name, ..).is_ok(), "{name:?}");
    }
    assert_eq!(
        Dim::new("N", -1..).unwrap_err().to_string(),
        "bounds -1..=4611686018427387904 of N must satisfy 0 <= lo <= hi"
    );
    assert!(Dim::new("N", 5..5).is_err());
    let hinted = Symbol::fresh(7, 2..=9).unwrap().with_hint(4);
    assert_eq!((hinted.bounds(), hinted.hint(), hinted.kind()), ((2, 9), Some(4), SymbolKind::Fresh(7)));
    assert_eq!((Dim::symbol(&hinted) * 2 + 1).hint(), Some(9));
    assert_eq!(dim("N*2 + 1").hint(), None);
    let names: Vec<String> = dim("s2*N + floordiv(i3 + M, N)").symbols().map(|s| s.to_string()).collect();
    assert_eq!(names, ["i3", "M", "N", "s2"]);
}

#[test]
fn solving() {
    let n = Symbol::declared("N", 2..=8).unwrap();
    let m = |value| move |_: &Symbol| Some(value);
    let cases = [
        ("2*N + 1", 0, 9, "Ok(4)"),
        ("M*N - M", 3, 6, "Ok(3)"),
        ("-N", 0, -8, "Ok(8)"),
        ("2*N + 1", 0, 8, "2*N + 1 = 8 has no whole solution for N: 7 / 2 leaves 1"),
        ("2*N", 0, 2, "N = 1 is outside its bounds 2..=8"),
        ("M*N", 0, 0, "M*N = 0 does not determine N, whose coefficient is 0"),
        ("N^2", 0, 4, "N^2 is not linear in N"),
        ("floordiv(N, M)", 2, 4, "floordiv(N, M) is not linear in N"),
    ];
    for (text, value_of_m, target, expected) in cases {
        let solved = dim(text).solve_linear_for(&n, &m(value_of_m), target);
        let shown = solved.map_or_else(|error| error.to_string(), |value| format!("Ok({value})"));
        assert_eq!(shown, expected, "{text}");
    }
    assert_eq!(
        dim("M*N").solve_linear_for(&n, &|_| None, 4).unwrap_err().to_string(),
        "symbol M in M has no value"
    );
}

#[test]
fn unreadable_text() {
    let cases = [
        ("", "at byte 0: expected a number, a name or ("),
        ("N +", "at byte 3: expected a number, a name or ("),
        ("N M", "at byte 2: expected the end"),
        ("floordiv(N)", "at byte 10: expected ','"),
        ("(N", "at byte 2: expected ')'"),
        ("9223372036854775808", "at byte 19: the number does not fit in 64 bits"),
        ("N^x", "at byte 2: expected an exponent"),
        ("N + min", "at byte 7: expected '('"),
        ("N + 1x", "at byte 5: expected the end"),
        ("N + 2*z", "at byte 6: unknown symbol z"),
    ];
    for (text, expected) in cases {
        let known = |name: &str| if name == "z" { None } else { Symbol::declared(name, ..).ok() };
        let error = Dim::parse(text, &mut { known }).unwrap_err().to_string();
        assert!(error.ends_with(expected), "{text:?}: {error}");
    }
}
