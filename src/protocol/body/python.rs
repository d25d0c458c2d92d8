//! placeholder
use super::super::problem::{Problem, ProblemKind};
use super::{Calls, ItemReader, Scope};
/// x
#[derive(Clone, Debug)]
pub struct PythonReader;
impl ItemReader for PythonReader {
    type Form = crate::dialect::Python;
    fn new(_: &Self::Form, _: usize, _: &Scope) -> Self {
        Self
    }
    fn begins(_: &Self::Form, _: &[u8]) -> Option<bool> {
        Some(false)
    }
    fn read(&mut self, _: &Self::Form, _: &[u8], _: &mut Calls) -> Result<Option<usize>, Problem> {
        Err(Problem { kind: ProblemKind::NoName(0), at: 0 })
    }
    fn cut_off(&mut self, _: &Self::Form, _: &[u8], _: &mut Calls) -> Result<(), Problem> {
        Ok(())
    }
}
