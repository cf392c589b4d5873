//! (being built)
use crate::*;
/// stub
pub fn write(_v: &Value, _out: &mut Vec<u8>) {}
/// stub
pub fn read(_ty: SqlType, _b: &[u8]) -> SqlResult<Value> {
    Err(SqlError::internal("stub"))
}
