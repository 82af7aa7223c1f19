//! Tests over the whole of the input side.

mod agreement;
mod explaining;
mod fixing;
mod growth;
mod hostile;
mod random;
mod shapes;
mod types;
