//! Kernels written by hand in C (`benches/hand`), as a process that is timed in turn with ours.
//!
//! They are compiled when asked for, for the machine that runs them; inputs and results pass through `.npy` files in a folder.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};

use tensorjit::{DType, Indices, Leaf, Level, Tensor, io};

use crate::Failure;
use crate::sparse::Data;

/// The program, and how many threads it may have.
#[derive(Debug)]
pub struct Program {
    path: PathBuf,
    /// More than one needs OpenMP.
    pub max_threads: usize,
}

/// Compiles the kernels into a folder.
///
/// # Errors
/// No C compiler.
pub fn compile(folder: &Path) -> Result<Program, Failure> {
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("hand");
    let path = folder.join("hand");
    let files = ["main.c", "products.c", "unions.c", "graphs.c", "tensors.c"];
    for (flag, max_threads) in [("-fopenmp", usize::MAX), ("-fopenmp-simd", 1)] {
        let mut command = Command::new("cc");
        command.args(["-O3", "-march=native", "-std=gnu11", flag, "-o"]).arg(&path);
        command.args(files.iter().map(|file| sources.join(file)));
        if command.stderr(Stdio::null()).status()?.success() {
            return Ok(Program { path, max_threads });
        }
    }
    Err(format!("cc does not compile {}", sources.display()).into())
}

/// Writes inputs as the kernels read them.
///
/// # Errors
/// A file that cannot be written; a tensor in a format that no kernel reads.
pub fn write_inputs(folder: &Path, data: &Data) -> Result<(), Failure> {
    let write = |name: &str, tensor: &Tensor| io::write(folder.join(format!("{name}.npy")), tensor);
    for (name, &number) in &data.numbers {
        write(name, &Tensor::from(vec![number]))?;
    }
    for (name, tensor) in &data.tensors {
        let Some(stored) = tensor.stored() else {
            write(name, tensor)?;
            continue;
        };
        let shape: Vec<i64> = tensor.shape().iter().map(|&extent| extent as i64).collect();
        write(&format!("{name}_shape"), &shape.into())?;
        let narrow = |indices: &Indices| indices.to_tensor().cast(DType::I32);
        for (l, level) in stored.levels().iter().enumerate() {
            let Level::Compressed { positions, coordinates } = level else { continue };
            let names = match stored.levels().len() {
                2 => [format!("{name}_positions"), format!("{name}_columns")],
                _ => [format!("{name}_positions{l}"), format!("{name}_list{l}")],
            };
            write(&names[0], &narrow(positions)?)?;
            write(&names[1], &narrow(coordinates)?)?;
        }
        let Leaf::Values(values) = stored.leaf() else {
            return Err(format!("{name} has no values of its own").into());
        };
        write(&format!("{name}_values"), values)?;
    }
    Ok(())
}

/// A process that has computed a case once.
#[derive(Debug)]
pub struct Peer {
    child: Child,
    answers: BufReader<ChildStdout>,
}

impl Program {
    /// Starts a case on the inputs of a folder, and waits for its first result.
    ///
    /// # Errors
    /// A case that was not written by hand; more threads than there may be.
    pub fn start(&self, case: &str, folder: &Path, threads: usize) -> Result<Peer, Failure> {
        let mut command = Command::new(&self.path);
        command.arg(case).arg(folder).arg(threads.to_string());
        // By default a thread that waits spins for some milliseconds, which a loaded machine pays for and no sample shows.
        command.env("GOMP_SPINCOUNT", "20000");
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let answers = child.stdout.take().ok_or("the process has no output")?;
        let mut peer = Peer { child, answers: BufReader::new(answers) };
        let line = peer.line()?;
        if !line.starts_with("ready ") {
            return Err(format!("the kernel of {case} says {line:?}").into());
        }
        Ok(peer)
    }
}

impl Peer {
    fn line(&mut self) -> Result<String, Failure> {
        let mut line = String::new();
        self.answers.read_line(&mut line)?;
        Ok(line.trim().to_string())
    }

    fn send(&mut self, word: &str) -> Result<(), Failure> {
        let input = self.child.stdin.as_mut().ok_or("the process has no input")?;
        writeln!(input, "{word}")?;
        Ok(input.flush()?)
    }

    /// The milliseconds of one call.
    ///
    /// # Errors
    /// A process that has ended.
    pub fn time(&mut self) -> Result<f64, Failure> {
        self.send("time")?;
        Ok(self.line()?.parse()?)
    }

    /// Ends the process.
    ///
    /// # Errors
    /// A process that has ended before.
    pub fn stop(mut self) -> Result<(), Failure> {
        self.send("stop")?;
        self.child.wait()?;
        Ok(())
    }
}

/// How far our result is from the one in a folder, relative to the greatest value; entries must be the same.
///
/// # Errors
/// Results of other sizes or with other entries.
pub fn difference(folder: &Path, ours: &Tensor) -> Result<f64, Failure> {
    let read = |name: &str| io::read(folder.join(format!("{name}.npy")));
    let (hand, ours) = if folder.join("result_values.npy").exists() {
        let shape = read("result_shape")?.to_vec::<i64>()?;
        let shape = [shape[0] as usize, shape[1] as usize];
        let parts = ["result_positions", "result_columns", "result_values"].map(read);
        let [positions, columns, values] = parts;
        let hand = Tensor::csr(shape, positions?, columns?, values?)?;
        let ((here, ours), (there, hand)) = (ours.to_entries()?, hand.to_entries()?);
        let same = here.iter().zip(&there).all(|(here, there)| here.bit_eq(there));
        if !same {
            return Err(
                format!("{} entries are not those {} by hand", ours.shape()[0], hand.shape()[0]).into()
            );
        }
        (hand, ours)
    } else {
        (read("result")?, ours.to_dense()?)
    };
    let numbers = |tensor: &Tensor| -> Result<Vec<f64>, Failure> {
        let flat = tensor.to_contiguous()?;
        Ok(flat.cast(DType::F64)?.to_vec::<f64>()?)
    };
    let (hand, ours) = (numbers(&hand)?, numbers(&ours)?);
    if hand.len() != ours.len() {
        return Err(format!("{} values are not {} by hand", ours.len(), hand.len()).into());
    }
    let greatest = hand.iter().fold(1.0, |most: f64, value| most.max(value.abs()));
    Ok(hand.iter().zip(&ours).fold(0.0, |most: f64, (a, b)| most.max((a - b).abs())) / greatest)
}
