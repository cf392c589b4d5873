//! Exact decimal numbers with PostgreSQL's rules for scale. (being built)
/// stub
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Numeric(i64);
impl Numeric {
    /// stub
    pub fn to_bytes(&self) -> Vec<u8> {
        vec![]
    }
    /// stub
    pub fn from_bytes(_b: &[u8]) -> Option<Numeric> {
        None
    }
}
