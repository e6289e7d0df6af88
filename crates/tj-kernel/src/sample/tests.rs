use std::collections::BTreeSet;

use super::*;
use crate::interpret::LanesOrder;
use crate::verify::verify;

#[test]
fn samples_are_well_formed_and_independent_of_order() {
    let options = SampleOptions { dtypes: all_types(), max_extent: 40, ..SampleOptions::default() };
    let shuffled = Options { lanes_order: LanesOrder::Shuffled, check_lanes: true, ..Options::default() };
    let mut n_guards = 0;
    for seed in 0..80 {
        let sample = sample(seed, &options);
        let context = || format!("seed {seed}\n{}", sample.kernel);
        let guards = verify(&sample.kernel).unwrap_or_else(|f| panic!("{}{f:#?}", context()));
        n_guards += guards.len();
        for guard in guards {
            assert_eq!(guard.holds(&|s| sample.value_of(s)), Ok(true), "{guard}\n{}", context());
        }
        let (expected, counts) =
            sample.interpret(Options::default()).unwrap_or_else(|e| panic!("{}{e}", context()));
        let (found, found_counts) = sample.interpret(shuffled).unwrap_or_else(|e| panic!("{}{e}", context()));
        assert_eq!(sample.difference(&expected, &found), None, "{}", context());
        assert_eq!(counts, found_counts);

        // In pieces, from the last to the first.
        let (mut cut, Range { start, mut end }) = (sample.contents.clone(), sample.tasks.clone());
        while start < end {
            let piece = (start + end) / 2..end;
            end = piece.start;
            sample.interpret_on(Options::default(), &mut cut, piece).unwrap();
        }
        assert_eq!(sample.difference(&expected, &cut), None, "{}", context());
    }
    assert!(n_guards > 0);
}

#[test]
fn samples_cover_the_language() {
    let options = SampleOptions { dtypes: all_types(), ..SampleOptions::default() };
    let mut words = BTreeSet::new();
    for seed in 0..400 {
        let text = sample(seed, &options).kernel.to_string();
        words.extend(text.split(|c: char| !c.is_ascii_alphanumeric()).map(str::to_owned));
    }
    let ops = crate::ir::BinOp::ALL.map(|op| op.name()).into_iter();
    let ops =
        ops.chain(crate::ir::UnOp::ALL.map(|op| op.name())).chain(crate::ir::CmpOp::ALL.map(|op| op.name()));
    let other =
        "fma select cast bitcast load store get var for lanes while if else fold gemm scratch param size";
    let missing: Vec<&str> = ops.chain(other.split(' ')).filter(|&word| !words.contains(word)).collect();
    assert_eq!(missing, [""; 0]);
}

#[test]
fn the_same_seed_gives_the_same_sample() {
    let options = SampleOptions::default();
    let (a, b, c) = (sample(5, &options), sample(5, &options), sample(6, &options));
    assert_eq!((&a.kernel, &a.contents, &a.tasks), (&b.kernel, &b.contents, &b.tasks));
    assert_ne!(a.kernel, c.kernel);
}

fn all_types() -> Vec<DType> {
    DType::ALL.into_iter().filter(|d| !d.is_complex()).collect()
}
