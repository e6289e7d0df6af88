//! `tj convert`.

use std::path::Path;

use tensorjit::{Tensor, io};

use super::Failure;
use crate::args::ConvertArgs;
use crate::data::reading;
use crate::progress::Progress;

/// Reads all arrays of a file and writes them into another.
pub(super) fn convert(args: &ConvertArgs) -> Result<(), Failure> {
    // A name that cannot be written to is known before anything is read.
    io::is_archive(&args.output)?;
    let progress = Progress::new(None);
    let contents = io::read_all_observed(&args.input, &mut reading(&progress, &args.input))?;
    progress.say("converting");
    let format = args.format.as_deref();
    match contents {
        io::Contents::One(tensor) => {
            let tensor = stored_as(&tensor, format)?;
            io::write_any(&args.output, &tensor).map_err(|error| with_advice(&args.output, error))
        }
        io::Contents::Named(tensors) => {
            let tensors =
                tensors.iter().map(|(name, tensor)| Ok((name.as_str(), stored_as(tensor, format)?)));
            let tensors: Vec<(&str, Tensor)> = tensors.collect::<Result<_, Failure>>()?;
            let named = tensors.iter().map(|(name, tensor)| (*name, tensor));
            io::write_all(&args.output, named).map_err(|error| with_advice(&args.output, error))
        }
    }
}

/// The tensor in a format of that name.
fn stored_as(tensor: &Tensor, format: Option<&str>) -> Result<Tensor, Failure> {
    match format {
        None => Ok(tensor.clone()),
        Some("dense") => Ok(tensor.to_dense()?),
        Some(format) => Ok(tensor.with_format(&format.parse()?)?),
    }
}

/// What users of the library are told to do, in the words of the command line.
fn with_advice(output: &Path, error: io::IoError) -> Failure {
    match &error {
        io::IoError::CannotHold { format, what, .. } if what.contains("Tensor::to_dense") => {
            let what = what.split(';').next().unwrap_or(what);
            let output = output.display();
            let advice = "give --format dense to write every element";
            Failure::wrong(format!("{output}: a {format} file cannot hold {what}; {advice}"))
        }
        _ => error.into(),
    }
}
