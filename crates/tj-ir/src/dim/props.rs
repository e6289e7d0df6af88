//! Properties, checked against a direct evaluation of random expressions.
//!
//! The oracle is [`Tree::value`]: the tree a `Dim` was built from, evaluated node by node without any rule.

use proptest::prelude::*;

use super::interval::Interval;
use super::opaque::OpaqueKind;
use super::{Dim, Facts, Ranges, Symbol, SymbolKind, rules};

/// How an expression was written.
#[derive(Debug, Clone)]
enum Tree {
    Const(i64),
    Symbol(usize),
    Add(Box<Tree>, Box<Tree>),
    Sub(Box<Tree>, Box<Tree>),
    Mul(Box<Tree>, Box<Tree>),
    Pow(Box<Tree>, u32),
    CeilDiv(Box<Tree>, Box<Tree>),
    Opaque(OpaqueKind, Box<Tree>, Box<Tree>),
}

/// The symbols of all trees with the values they take here: sizes that may and may not be 0, and loop indices.
const N_SYMBOLS: usize = 7;

fn symbols() -> [(Symbol, std::ops::RangeInclusive<i64>); N_SYMBOLS] {
    let declared = |name, lo, hi| (Symbol::declared(name, lo..=hi).unwrap(), lo..=hi);
    [
        (Symbol::declared("N", ..).unwrap(), 0..=5),
        (Symbol::declared("M", ..).unwrap(), 0..=4),
        declared("B", 1, 4),
        declared("K", 2, 6),
        (Symbol::fresh(3, 0..=7).unwrap(), 0..=7),
        (Symbol::index(0), -3..=6),
        (Symbol::index(1), -3..=6),
    ]
}

type Values = [i64; N_SYMBOLS];

fn values() -> impl Strategy<Value = Values> {
    symbols().map(|(_, values)| values)
}

fn valuation(values: Values) -> impl Fn(&Symbol) -> Option<i64> {
    move |symbol| {
        let nth = match symbol.kind() {
            SymbolKind::Declared(name) => ["N", "M", "B", "K"].iter().position(|known| *known == name)?,
            SymbolKind::Fresh(_) => 4,
            SymbolKind::Index(number) => 5 + number as usize,
            SymbolKind::Deferred(_) | SymbolKind::Counted(_) => return None,
        };
        Some(values[nth])
    }
}

fn tree_over(constant: BoxedStrategy<i64>) -> impl Strategy<Value = Tree> {
    let leaf = prop_oneof![constant.prop_map(Tree::Const), (0..N_SYMBOLS).prop_map(Tree::Symbol)];
    leaf.prop_recursive(5, 24, 2, |tree| {
        let pair = (tree.clone(), tree.clone()).prop_map(|(a, b)| (Box::new(a), Box::new(b)));
        let kind = proptest::sample::select(OpaqueKind::ALL.to_vec());
        prop_oneof![
            3 => pair.clone().prop_map(|(a, b)| Tree::Add(a, b)),
            2 => pair.clone().prop_map(|(a, b)| Tree::Sub(a, b)),
            3 => pair.clone().prop_map(|(a, b)| Tree::Mul(a, b)),
            1 => (tree, 0..4u32).prop_map(|(a, exponent)| Tree::Pow(Box::new(a), exponent)),
            1 => pair.clone().prop_map(|(a, b)| Tree::CeilDiv(a, b)),
            4 => (kind, pair).prop_map(|(kind, (a, b))| Tree::Opaque(kind, a, b)),
        ]
    })
}

fn tree() -> impl Strategy<Value = Tree> {
    tree_over(prop_oneof![-3..=8i64, Just(12), Just(24)].boxed())
}

/// Trees whose constants are near the limits of `i64`.
fn wild_tree() -> impl Strategy<Value = Tree> {
    let edge = prop_oneof![Just(i64::MIN), Just(i64::MAX), Just(1 << 62), Just(-1), Just(2), Just(1 << 31)];
    tree_over(edge.boxed())
}

impl Tree {
    fn dim(&self) -> Dim {
        match self {
            Tree::Const(value) => Dim::from(*value),
            Tree::Symbol(nth) => Dim::symbol(&symbols()[*nth].0),
            Tree::Add(a, b) => a.dim() + b.dim(),
            Tree::Sub(a, b) => a.dim() - b.dim(),
            Tree::Mul(a, b) => a.dim() * b.dim(),
            Tree::Pow(a, exponent) => a.dim().pow(*exponent),
            Tree::CeilDiv(a, b) => a.dim().ceildiv(&b.dim()),
            Tree::Opaque(kind, a, b) => rules::apply(*kind, &a.dim(), &b.dim(), &Facts::none()),
        }
    }

    /// `None` if a step does not fit.
    fn value(&self, values: &Values) -> Option<i128> {
        let pair = |a: &Tree, b: &Tree| a.value(values).zip(b.value(values));
        match self {
            Tree::Const(value) => Some((*value).into()),
            Tree::Symbol(nth) => Some(values[*nth].into()),
            Tree::Add(a, b) => pair(a, b).and_then(|(a, b)| a.checked_add(b)),
            Tree::Sub(a, b) => pair(a, b).and_then(|(a, b)| a.checked_sub(b)),
            Tree::Mul(a, b) => pair(a, b).and_then(|(a, b)| a.checked_mul(b)),
            Tree::Pow(a, exponent) => a.value(values)?.checked_pow(*exponent),
            Tree::CeilDiv(a, b) => {
                let (a, b) = pair(a, b)?;
                Some(if b == 0 { 0 } else { floor(a, b)? + i128::from(a.checked_rem(b)? != 0) })
            }
            Tree::Opaque(kind, a, b) => {
                let (a, b) = pair(a, b)?;
                Some(match kind {
                    OpaqueKind::FloorDiv if b == 0 => 0,
                    OpaqueKind::FloorDiv => floor(a, b)?,
                    OpaqueKind::Modulo if b == 0 => 0,
                    OpaqueKind::Modulo => a.checked_sub(b.checked_mul(floor(a, b)?)?)?,
                    OpaqueKind::Min => a.min(b),
                    OpaqueKind::Max => a.max(b),
                })
            }
        }
    }
}

/// The greatest `q` with `q*b <= a` (`>=` for negative `b`), found without the library's own rounding.
fn floor(a: i128, b: i128) -> Option<i128> {
    let (a, b) = if b < 0 { (a.checked_neg()?, b.checked_neg()?) } else { (a, b) };
    Some(a.div_euclid(b))
}

/// Ranges for both indices, as rows and columns of something of extent `ends`.
fn ranges(ends: &[Dim; 3]) -> Ranges {
    let mut ranges = Ranges::new();
    ranges.set_extent(0, &ends[0]);
    ranges.set(1, ends[1].clone(), ends[2].clone());
    ranges
}

/// Ends of ranges: mostly what shapes give, sometimes anything without indices but the outer one.
fn ends() -> impl Strategy<Value = [Dim; 3]> {
    let d = |nth: usize| Dim::symbol(&symbols()[nth].0);
    let extents = vec![d(0), d(1), d(2), d(3), d(0) * d(1), d(2) * 2, d(4) + 1, Dim::from(4), d(0) - d(1)];
    let lows = vec![Dim::ZERO, Dim::ONE, d(1), d(5), Dim::from(-1)];
    let highs =
        vec![d(1) - 1, d(0) - 1, d(2) - 1, d(3) - 1, d(0) * d(1) - 1, d(5), d(3) - d(5) - 1, Dim::from(3)];
    let select = proptest::sample::select::<Dim>;
    (select(extents), select(lows), select(highs)).prop_map(|(extent, lo, hi)| [extent, lo, hi])
}

/// The given sizes with every pair of indices in their ranges.
fn points_in(ends: &[Dim; 3], values: Values) -> Vec<Values> {
    let mut points = Vec::new();
    let [n, m, b, k, s, ..] = values;
    let at = |dim: &Dim, i: i64| dim.eval(&valuation([n, m, b, k, s, i, 0])).unwrap();
    for i in 0..at(&ends[0], 0) {
        points.extend((at(&ends[1], i)..=at(&ends[2], i)).map(|j| [n, m, b, k, s, i, j]));
    }
    points
}

/// Index maps as reshapes make them: sums of indices times sizes, divided by sizes.
fn index_map() -> impl Strategy<Value = Dim> {
    let d = |nth: usize| Dim::symbol(&symbols()[nth].0);
    let scales =
        vec![Dim::ONE, d(0), d(1), d(2), d(3), d(0) * d(1), d(2) * d(3), d(2) * 2, 4.into(), 12.into()];
    let scale = move || proptest::sample::select(scales.clone());
    let linear = (scale(), scale(), -2..=4i64).prop_map(move |(a, b, c)| a * d(5) + b * d(6) + c);
    (linear, proptest::collection::vec((0..3u8, scale(), scale()), 1..4)).prop_map(|(flat, steps)| {
        steps.into_iter().fold(flat.clone(), |dim, (step, a, b)| match step {
            0 => dim.floordiv(&a),
            1 => dim.modulo(&a),
            _ => dim.floordiv(&a) * &b + flat.modulo(&b),
        })
    })
}

/// A size against its number of tiles, which proofs often turn on by one.
fn tiling() -> impl Strategy<Value = Dim> {
    let n = Dim::symbol(&symbols()[0].0);
    let by = prop_oneof![
        (1..5i64).prop_map(Dim::from),
        (1..4usize).prop_map(|nth| Dim::symbol(&symbols()[nth].0))
    ];
    (by, -3..5i64, -5..5i64, prop_oneof![Just(1), Just(-1)])
        .prop_map(move |(by, inner, outer, sign)| ((&n + inner).floordiv(&by) * by - &n) * sign + outer)
}

fn interval() -> impl Strategy<Value = (Interval, i128)> {
    let end = || prop_oneof![4 => -6..=6i128, 1 => Just(i64::MIN.into()), 1 => Just(i64::MAX.into())];
    let open = prop_oneof![6 => Just((false, false)), 1 => Just((true, false)), 1 => Just((false, true))];
    (end(), end(), end(), open).prop_map(|(a, b, c, (open_lo, open_hi))| {
        let mut ends = [a, b, c];
        ends.sort_unstable();
        let (lo, hi) = (if open_lo { i128::MIN } else { ends[0] }, if open_hi { i128::MAX } else { ends[2] });
        (Interval { lo, hi }, ends[1])
    })
}

fn hash(dim: &Dim) -> u64 {
    use std::hash::BuildHasher;
    rustc_hash::FxBuildHasher.hash_one(dim)
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn building_preserves_the_value(tree in tree(), values in values()) {
        let dim = tree.dim();
        if let Some(value) = tree.value(&values) && !dim.is_poisoned() {
            prop_assert_eq!(dim.eval(&valuation(values)).map(i128::from), Ok(value), "{}", dim);
        }
    }

    #[test]
    fn overflow_is_an_error_and_never_a_wrong_value(tree in wild_tree(), values in values()) {
        let evaluated = tree.dim().eval(&valuation(values));
        if let (Some(expected), Ok(value)) = (tree.value(&values), evaluated) {
            prop_assert_eq!(i128::from(value), expected);
        }
    }

    #[test]
    fn intervals_contain_what_they_should((a, x) in interval(), (b, y) in interval(), exponent in 1..5u32) {
        let operation = |kind: OpaqueKind| (kind.interval(a, b), kind.apply(x, y));
        let [quotient, remainder, least, greatest] = OpaqueKind::ALL.map(operation);
        let (sum, product) = ((a.add(b), x.checked_add(y)), (a.mul(b), x.checked_mul(y)));
        let power = (a.pow(exponent), x.checked_pow(exponent));
        for (interval, value) in [quotient, remainder, least, greatest, sum, product, power] {
            if let Some(value) = value {
                prop_assert!(interval.lo <= value && value <= interval.hi, "{:?} lacks {}", interval, value);
            }
        }
    }

    #[test]
    fn ring_laws_are_equalities(a in tree(), b in tree(), c in tree()) {
        let (a, b, c) = (a.dim(), b.dim(), c.dim());
        let sides = [
            (&a + &b, &b + &a),
            (&a * &b, &b * &a),
            ((&a + &b) + &c, &a + (&b + &c)),
            ((&a * &b) * &c, &a * (&b * &c)),
            ((&a + &b) * &c, &a * &c + &b * &c),
            (&a - &b, &a + -&b),
            (&a + &b - &b, a.clone()),
            ((&a - &b).pow(2), &a * &a - 2 * &a * &b + &b * &b),
            (a.pow(3), &a * &a * &a),
        ];
        for (left, right) in sides {
            if !left.is_poisoned() && !right.is_poisoned() {
                prop_assert_eq!(&left, &right);
                prop_assert_eq!(hash(&left), hash(&right));
                prop_assert!(left.structural_cmp(&right).is_eq());
            }
        }
        prop_assert_eq!(a.structural_cmp(&b), b.structural_cmp(&a).reverse());
        prop_assert_eq!(a.structural_cmp(&b).is_eq(), a == b);
    }

    #[test]
    fn what_is_known_is_true(
        (a, b) in prop_oneof![
            (tree(), tree()).prop_map(|(a, b)| (a.dim(), b.dim())),
            tiling().prop_map(|a| (a, Dim::ZERO)),
        ],
        values in values(),
        factor in 0..8i64,
    ) {
        let at = valuation(values);
        let (Ok(x), Ok(y)) = (a.eval(&at), b.eval(&at)) else { return Ok(()) };
        let answers = [
            ("=", a.known_eq(&b), x == y),
            ("<=", a.known_le(&b), x <= y),
            ("<", a.known_lt(&b), x < y),
            (">= 0", a.known_ge_zero(), x >= 0),
            ("multiple", a.known_multiple_of(factor), if factor == 0 { x == 0 } else { x % factor == 0 }),
        ];
        for (question, known, truth) in answers {
            prop_assert!(known.is_none_or(|known| known == truth), "{} {} {}: {:?}", a, question, b, known);
        }
        let (lo, hi) = a.bounds();
        prop_assert!(lo <= x.into() && i128::from(x) <= hi);
    }

    #[test]
    fn simplifying_preserves_the_value(
        dim in prop_oneof![index_map(), tree().prop_map(|tree| tree.dim())],
        ends in ends(),
        values in values(),
    ) {
        let ranges = ranges(&ends);
        let simple = dim.simplify_in(&ranges);
        let (known, bounds) = (dim.known_ge_zero_in(&ranges), dim.bounds_in(&ranges));
        for values in points_in(&ends, values) {
            let at = valuation(values);
            let Ok(value) = dim.eval(&at) else { continue };
            if !simple.is_poisoned() {
                prop_assert_eq!(simple.eval(&at), Ok(value), "{} became {}", dim, simple);
            }
            prop_assert!(known.is_none_or(|known| known == (value >= 0)), "{}", dim);
            if let Some((lo, hi)) = &bounds {
                prop_assert!(!lo.has_index() && !hi.has_index());
                prop_assert!(lo.eval(&at).is_ok_and(|lo| lo <= value), "{} below {}", dim, lo);
                prop_assert!(hi.eval(&at).is_ok_and(|hi| value <= hi), "{} above {}", dim, hi);
            }
        }
    }

    #[test]
    fn text_reads_back(dim in prop_oneof![index_map(), tree().prop_map(|tree| tree.dim())]) {
        let text = dim.to_string();
        let known = symbols().map(|(symbol, _)| symbol);
        let read = Dim::parse(&text, &mut |name| known.iter().find(|s| s.to_string() == name).cloned()).unwrap();
        prop_assert_eq!(read.to_string(), text);
        prop_assert_eq!(read, dim);
    }

    #[test]
    fn substitution_commutes_with_evaluation(dim in tree(), with in tree(), nth in 0..N_SYMBOLS, values in values()) {
        let (dim, with) = (dim.dim(), with.dim());
        let (symbol, range) = symbols()[nth].clone();
        let replaced = dim.substitute(&|s| (*s == symbol).then(|| with.clone()));
        let Ok(value) = with.eval(&valuation(values)) else { return Ok(()) };
        if range.contains(&value) && !replaced.is_poisoned() {
            let mut inner = values;
            inner[nth] = value;
            prop_assert_eq!(replaced.eval(&valuation(values)), dim.eval(&valuation(inner)), "{}", replaced);
        }
        prop_assert_eq!(dim.substitute(&|s| Some(Dim::symbol(s))), dim);
    }

    #[test]
    fn exact_division_undoes_multiplication(a in tree(), b in tree()) {
        let (a, b) = (a.dim(), b.dim());
        let product = &a * &b;
        if b != 0 && !product.is_poisoned() {
            prop_assert_eq!(product.div_exact(&b), Some(a.clone()));
        }
        if let Some(quotient) = a.div_exact(&b) {
            prop_assert_eq!(quotient * b, a);
        }
    }

    #[test]
    fn linear_parts_add_up(tree in tree(), nth in 0..N_SYMBOLS, values in values()) {
        let (dim, (symbol, range)) = (tree.dim(), symbols()[nth].clone());
        let Some(coeff) = dim.coefficient_of(&symbol) else { return Ok(()) };
        prop_assert!(!coeff.mentions(&symbol));
        prop_assert_eq!(coeff * Dim::symbol(&symbol) + dim.without(&symbol), dim.clone());
        let others = |s: &Symbol| if *s == symbol { None } else { valuation(values)(s) };
        let Ok(target) = dim.eval(&valuation(values)) else { return Ok(()) };
        if let Ok(solution) = dim.solve_linear_for(&symbol, &others, target) {
            prop_assert_eq!(solution, values[nth]);
        } else {
            // The only excuse: the coefficient is 0 there.
            let elsewhere = if values[nth] == *range.start() { *range.end() } else { *range.start() };
            let mut moved = values;
            moved[nth] = elsewhere;
            prop_assert_eq!(dim.eval(&valuation(moved)), Ok(target));
        }
    }
}
