//! The problems of the MiniMalloc paper fit their arena, and the text format survives a round trip.

use std::path::Path;
use std::time::Duration;

use tj_memory::{Answer, Effort, Error, Plan, Problem, pack, parse_csv, solve, to_csv, verify};

const CAPACITY: u64 = 1 << 20;

#[test]
fn all_eleven_fit() {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/minimalloc");
    for name in ["A", "B", "C", "D", "E", "F", "G", "H", "I", "J", "K"] {
        let text = std::fs::read_to_string(directory.join(format!("{name}.{CAPACITY}.csv"))).unwrap();
        let mut problem = parse_csv(&text).unwrap();
        assert_eq!(to_csv(&problem).trim(), text.trim());

        let packed = pack(&problem.intervals, Effort::Compile).unwrap();
        assert_eq!(verify(&problem.intervals, &packed), Ok(()));
        let Answer::Fits(plan) = solve(&problem.intervals, CAPACITY, Duration::from_secs(60)).unwrap() else {
            panic!("{name} fits {CAPACITY} bytes");
        };
        assert!(plan.peak <= CAPACITY && plan.bound <= plan.peak);
        assert_eq!(verify(&problem.intervals, &plan), Ok(()));

        problem.offsets = Some(plan.offsets.clone());
        let read = parse_csv(&to_csv(&problem)).unwrap();
        assert_eq!(read, problem);
        let offsets = read.offsets.unwrap();
        assert_eq!(verify(&read.intervals, &Plan { offsets, ..plan }), Ok(()));
    }
}

#[test]
fn columns_come_in_any_order() {
    let text = "size, offset ,upper,id,lower,alignment\n\n4,8,3,b 1,0,2\r\n";
    let problem = parse_csv(text).unwrap();
    assert_eq!(to_csv(&problem), "id,lower,upper,size,alignment,offset\nb 1,0,3,4,2,8\n");
    assert_eq!(parse_csv("id,lower,upper,size\n"), Ok(Problem::default()));
}

#[test]
fn errors_say_where_and_what() {
    let check = |text: &str, message: &str| {
        assert_eq!(parse_csv(text).unwrap_err().to_string(), message, "{text:?}");
    };
    check("", "line 1, column 1: expected a header with a column `id`, found ``");
    check(
        "id,lower,size\n",
        "line 1, column 1: expected a header with a column `upper`, found `id,lower,size`",
    );
    let header = "id,lower,upper,size,alignment";
    let row =
        |row: &str, message: &str| check(&format!("{header}\n{row}"), &format!("line 2, column {message}"));
    row("é,0,3", "6: expected as many columns as the header has, found `3 columns`");
    row("é, -1,3,4,1", "4: expected the first step (a whole number), found `-1`");
    row("b,3,3,4,1", "5: expected a step after `lower`, found `3`");
    row(
        "b,0,3,99999999999999999999,1",
        "7: expected a size in bytes (a whole number), found `99999999999999999999`",
    );
    row("b,0,3,4,3", "9: expected an alignment (a power of two), found `3`");
}

#[test]
fn what_cannot_be_placed_is_refused() {
    let problem = parse_csv("id,lower,upper,size\na,0,2,9223372036854775807\nb,5,6,1\n").unwrap();
    assert_eq!(pack(&problem.intervals, Effort::Bind), Err(Error::TooLarge { interval: 1, size: 1 }));
    assert_eq!(solve(&problem.intervals[..1], 1, Duration::ZERO), Ok(Answer::Impossible));
}
