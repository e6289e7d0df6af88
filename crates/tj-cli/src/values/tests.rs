//! Arguments and what they mean.

use super::*;
use expect_test::expect;

fn input(text: &str) -> Result<InputData, ValueError> {
    let input: Input = text.parse()?;
    assert_eq!(input.name, "x");
    Ok(input.data)
}

#[test]
fn numbers_and_files() {
    use InputData::{File, Number as N};
    for (text, expected) in [
        ("x=7", N(Number::Int(7))),
        ("x=-9223372036854775808", N(Number::Int(i64::MIN.into()))),
        ("x=18446744073709551615", N(Number::Int(u64::MAX.into()))),
        ("x=-1e-3", N(Number::Float(-1e-3))),
        ("x=-inf", N(Number::Float(f64::NEG_INFINITY))),
        ("x=+1.5", N(Number::Float(1.5))),
        ("x=False", N(Number::Bool(false))),
        ("x=./7", File("./7".into())),
        ("x=a=b.npy", File("a=b.npy".into())),
        ("x=7.npy", File("7.npy".into())),
        ("x=c:\\data", File("c:\\data".into())),
        ("x=-True", File("-True".into())),
        ("x=1+2", File("1+2".into())),
        ("x=(1,2)", File("(1,2)".into())),
    ] {
        assert_eq!(input(text), Ok(expected), "{text}");
    }
    assert!(matches!(input("x=nan"), Ok(N(Number::Float(value))) if value.is_nan()));
}

#[test]
fn recipes() {
    let made = Made { dtype: "f32".into(), shape: vec![Extent::Name("N".into()), Extent::Size(784)] };
    let scalar = Made { dtype: "f64".into(), shape: vec![] };
    for (text, expected) in [
        ("x=rand:1", InputData::Random { seed: 1, made: None }),
        ("x=rand:1:f32:N,784", InputData::Random { seed: 1, made: Some(made) }),
        ("x=ones", InputData::Ones { made: None }),
        ("x=ones:f64:", InputData::Ones { made: Some(scalar) }),
    ] {
        assert_eq!(input(text), Ok(expected), "{text}");
    }
}

#[test]
fn outputs() {
    let check = |text: &str, name: Option<&str>, path: &str| {
        let expected = OutputFile { name: name.map(str::to_owned), path: path.into() };
        assert_eq!(text.parse(), Ok(expected));
    };
    check("out.npy", None, "out.npy");
    check("y=out.npy", Some("y"), "out.npy");
    check("./y=1/out.npy", None, "./y=1/out.npy");
}

#[test]
fn sizes_and_budgets() {
    assert_eq!("N=7".parse(), Ok(DimValue { name: "N".into(), value: 7 }));
    assert_eq!("N=0,1,2,7".parse(), Ok(Sweep { name: "N".into(), values: vec![0, 1, 2, 7] }));
    assert_eq!("auto".parse(), Ok(MaxBytes::Auto));
    assert_eq!("unlimited".parse(), Ok(MaxBytes::Unlimited));
    assert_eq!("2GiB".parse(), Ok(MaxBytes::Bytes(2 << 30)));
    assert_eq!("a.tj".parse(), Ok(Source::File("a.tj".into())));
    assert_eq!("a + tj".parse(), Ok(Source::Expression("a + tj".into())));
}

#[test]
fn mistakes_name_the_value() {
    let errors = [
        "x".parse::<Input>().err(),
        "1x=2".parse::<Input>().err(),
        "size=2".parse::<Input>().err(),
        "x=".parse::<Input>().err(),
        "x=18446744073709551616".parse::<Input>().err(),
        "x=-9223372036854775809".parse::<Input>().err(),
        "x=rand:".parse::<Input>().err(),
        "x=rand:1:f32".parse::<Input>().err(),
        "x=ones:f32:2x3,".parse::<Input>().err(),
        "".parse::<OutputFile>().err(),
        "y=".parse::<OutputFile>().err(),
        "N=-1".parse::<DimValue>().err(),
        "N=1,,2".parse::<Sweep>().err(),
        "2G".parse::<MaxBytes>().err(),
    ];
    let text: String = errors.into_iter().map(|error| format!("{}\n", error.unwrap())).collect();
    expect![[r#"
        `x` is not of the form NAME=VALUE
        `1x` cannot name anything in a program
        `size` cannot name anything in a program
        `x` has no value
        the integer 18446744073709551616 does not fit in 64 bits
        the integer -9223372036854775809 does not fit in 64 bits
        `rand:` makes no data; write `rand:SEED`, `rand:SEED:DTYPE:SHAPE`, `ones` or `ones:DTYPE:SHAPE`
        `rand:1:f32` makes no data; write `rand:SEED`, `rand:SEED:DTYPE:SHAPE`, `ones` or `ones:DTYPE:SHAPE`
        `ones:f32:2x3,` makes no data; write `rand:SEED`, `rand:SEED:DTYPE:SHAPE`, `ones` or `ones:DTYPE:SHAPE`
        `` has no value
        `y` has no value
        `-1` is not a size; a size is an integer from 0
        `` is not a size; a size is an integer from 0
        `2G` is not a number of bytes; write `1048576`, `512MB` or `2GiB`
    "#]].assert_eq(&text);
}
