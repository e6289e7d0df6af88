//! Memory of the caller that holds rubbish, so that an element which nobody writes shows.

use tensorjit::{CompileOptions, CompiledGraph, DType, Error, LazyTensor, OutputView, Tensor};

use crate::engines::{Call, Outcome, differ};

/// Runs the calls into memory full of rubbish. Programs with outputs of `bool` are left out, since rubbish is not a
/// `bool`, and so are calls with bindings, which `call_into` does not take.
///
/// # Errors
/// The first difference from `expected`, in words.
pub fn writes_every_element(
    outputs: &[LazyTensor],
    calls: &[Call<'_>],
    expected: &[Outcome],
) -> Result<(), String> {
    if outputs.iter().any(|output| output.dtype().is_bool()) {
        return Ok(());
    }
    let options = CompileOptions { threads: 3, parallel_work: Some(0), ..Default::default() };
    let graph = CompiledGraph::new(outputs, options).map_err(|e| e.to_string())?;
    for (call, outcome) in calls.iter().zip(expected) {
        let (Ok(expected), []) = (outcome, call.bindings.as_slice()) else { continue };
        let mut memory: Vec<Rubbish> = expected.iter().map(Rubbish::like).collect::<Result<_, _>>()?;
        let views = memory.iter_mut().zip(expected).map(|(memory, tensor)| memory.view(tensor.shape()));
        let mut views = views.collect::<Result<Vec<_>, _>>().map_err(|e| e.to_string())?;
        graph.call_into(&call.inputs, &mut views).map_err(|e| e.to_string())?;
        drop(views);
        let written = memory.into_iter().zip(expected).map(|(memory, tensor)| memory.tensor(tensor.shape()));
        let problem = differ(&Ok(written.collect::<Result<_, _>>()?), outcome);
        problem.map_or(Ok(()), |problem| Err(format!("written into memory of the caller: {problem}")))?;
    }
    Ok(())
}

enum Rubbish {
    I32(Vec<i32>),
    I64(Vec<i64>),
    F32(Vec<f32>),
    F64(Vec<f64>),
}

impl Rubbish {
    fn like(tensor: &Tensor) -> Result<Rubbish, String> {
        let count = tensor.count().map_err(|e| e.to_string())?;
        match tensor.dtype() {
            DType::I32 => Ok(Rubbish::I32(vec![-1_515_870_811; count])),
            DType::I64 => Ok(Rubbish::I64(vec![-6_510_615_555_426_900_571; count])),
            DType::F32 => Ok(Rubbish::F32(vec![-1.234e-5; count])),
            DType::F64 => Ok(Rubbish::F64(vec![-1.234e-5; count])),
            DType::Bool
            | DType::I8
            | DType::I16
            | DType::U8
            | DType::U16
            | DType::U32
            | DType::U64
            | DType::F16
            | DType::BF16
            | DType::C64
            | DType::C128 => Err(format!("no rubbish of dtype {}", tensor.dtype())),
        }
    }

    fn view(&mut self, shape: &[usize]) -> Result<OutputView<'_>, Error> {
        match self {
            Rubbish::I32(memory) => OutputView::new(shape, memory),
            Rubbish::I64(memory) => OutputView::new(shape, memory),
            Rubbish::F32(memory) => OutputView::new(shape, memory),
            Rubbish::F64(memory) => OutputView::new(shape, memory),
        }
    }

    fn tensor(self, shape: &[usize]) -> Result<Tensor, String> {
        let tensor = match self {
            Rubbish::I32(memory) => Tensor::from_shape_vec(shape, memory),
            Rubbish::I64(memory) => Tensor::from_shape_vec(shape, memory),
            Rubbish::F32(memory) => Tensor::from_shape_vec(shape, memory),
            Rubbish::F64(memory) => Tensor::from_shape_vec(shape, memory),
        };
        tensor.map_err(|e| e.to_string())
    }
}
