use super::*;
#[test]
fn smoke() {
    let n = Dim::new("N", ..).unwrap();
    let m = Dim::new("M", ..).unwrap();
    assert_eq!((&n + &m) * (&n - &m), &n * &n - &m * &m);
    assert_eq!(n.ceildiv(&4.into()).to_string(), "floordiv(N + 3, 4)");
    assert_eq!((-Dim::index(0) + &n - 1).to_string(), "-i0 + N - 1");
}
