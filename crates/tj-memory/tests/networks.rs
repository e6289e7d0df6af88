//! Programs in the shape of real networks are packed within 2 % of the bound.

use tj_memory::{BufferId, Effort, Interval, Step, lifetimes, order_for_peak, pack, verify};

/// A program that is written one operation after another.
#[derive(Default)]
struct Net {
    steps: Vec<Step>,
    sizes: Vec<u64>,
}

impl Net {
    /// One kernel that reads `inputs` and writes `size` elements.
    fn op(&mut self, inputs: &[BufferId], size: u64) -> BufferId {
        let output = BufferId(self.sizes.len() as u32);
        self.sizes.push(4 * size);
        self.steps.push(Step { reads: inputs.to_vec(), writes: vec![output] });
        output
    }

    fn check(&self, name: &str) {
        let order = order_for_peak(&self.steps, &self.sizes);
        let lives = lifetimes(&order, &self.steps, self.sizes.len());
        let intervals: Vec<Interval> = lives
            .iter()
            .zip(&self.sizes)
            .map(|(life, &size)| {
                life.map(|(first, last)| Interval::new(first, last, size)).expect("all are used")
            })
            .collect();
        assert!((30..=200).contains(&intervals.len()), "{name}: {}", intervals.len());
        let plan = pack(&intervals, Effort::Compile).expect("lifetimes and alignments are in order");
        assert_eq!(verify(&intervals, &plan), Ok(()), "{name}");
        assert!(plan.peak <= plan.bound + plan.bound / 50, "{name}: {} of {}", plan.peak, plan.bound);
        assert!(plan.peak < self.sizes.iter().sum(), "{name} shares nothing");
    }
}

#[test]
fn mlp() {
    for batch in [1, 7, 128] {
        let mut net = Net::default();
        let mut x = net.op(&[], batch * 784);
        for layer in 0..24 {
            let width = [1024, 1000, 333, 64][layer % 4];
            let product = net.op(&[x], batch * width);
            x = net.op(&[product], batch * width);
        }
        net.check("mlp");
    }
}

#[test]
fn transformer() {
    for (batch, length) in [(1, 17), (2, 128), (8, 333)] {
        let (model, heads, hidden) = (256, 8, 1024);
        let rows = batch * length;
        let mut net = Net::default();
        let mut x = net.op(&[], rows * model);
        for _ in 0..12 {
            let normal = net.op(&[x], rows * model);
            let [q, k, v] = [(); 3].map(|()| net.op(&[normal], rows * model));
            let scores = net.op(&[q, k], batch * heads * length * length);
            let weights = net.op(&[scores], batch * heads * length * length);
            let mixed = net.op(&[weights, v], rows * model);
            let projected = net.op(&[mixed], rows * model);
            let sum = net.op(&[x, projected], rows * model);
            let normal = net.op(&[sum], rows * model);
            let wide = net.op(&[normal], rows * hidden);
            let active = net.op(&[wide], rows * hidden);
            let narrow = net.op(&[active], rows * model);
            x = net.op(&[sum, narrow], rows * model);
        }
        net.check("transformer");
    }
}

#[test]
fn u_net() {
    for (side, channels) in [(64, 16), (100, 12), (37, 5)] {
        let area = |level: u32| (side >> level) * (side >> level) * (channels << level);
        let mut net = Net::default();
        let mut x = net.op(&[], side * side * 3);
        let mut skips = Vec::new();
        for level in 0..4 {
            for _ in 0..2 {
                let convolved = net.op(&[x], area(level));
                x = net.op(&[convolved], area(level));
            }
            skips.push(x);
            x = net.op(&[x], area(level) / 4);
        }
        for (level, skip) in skips.into_iter().enumerate().rev() {
            let up = net.op(&[x], area(level as u32));
            x = net.op(&[up, skip], 2 * area(level as u32));
            for _ in 0..2 {
                let convolved = net.op(&[x], area(level as u32));
                x = net.op(&[convolved], area(level as u32));
            }
        }
        net.check("u-net");
    }
}

#[test]
fn dense_net() {
    let mut net = Net::default();
    for (layers, area) in [(6u64, 3136), (12, 784), (24, 196), (16, 49)] {
        let mut x = net.op(&[], 64 * area);
        for layer in 1..=layers {
            let narrow = net.op(&[x], 128 * area);
            let grown = net.op(&[narrow], 32 * area);
            x = net.op(&[x, grown], (64 + 32 * layer) * area);
        }
        net.op(&[x], area);
    }
    net.check("dense net");
}

#[test]
fn inception() {
    let mut net = Net::default();
    let mut x = net.op(&[], 192 * 784);
    for (block, area) in [784u64, 784, 196, 196, 196, 196, 49, 49].into_iter().enumerate() {
        let width = 64 + 16 * block as u64;
        let one = net.op(&[x], width * area);
        let narrow = net.op(&[x], 96 * area);
        let three = net.op(&[narrow], 2 * width * area);
        let narrow = net.op(&[x], 16 * area);
        let five = net.op(&[narrow], width / 2 * area);
        let pooled = net.op(&[x], 192 * area);
        let pool = net.op(&[pooled], 32 * area);
        x = net.op(&[one, three, five, pool], (width * 7 / 2 + 32) * area);
    }
    net.check("inception");
}

/// Forward, then backward over everything kept: long lifetimes nested in each other.
#[test]
fn training() {
    let mut net = Net::default();
    let widths = [784, 512, 300, 300, 128, 1000, 64, 10];
    let mut kept = vec![net.op(&[], 32 * widths[0])];
    for &width in widths.iter().cycle().skip(1).take(40) {
        let last = *kept.last().unwrap();
        let product = net.op(&[last], 32 * width);
        kept.push(net.op(&[product], 32 * width));
    }
    let mut gradient = net.op(&[*kept.last().unwrap()], 320);
    for pair in kept.windows(2).rev() {
        let size = net.sizes[pair[0].0 as usize] / 4;
        let inner = net.op(&[gradient, pair[1]], net.sizes[pair[1].0 as usize] / 4);
        gradient = net.op(&[inner, pair[0]], size);
    }
    net.check("training");
}
