//! Tests over the whole of the input side.

mod agreement;
mod explaining;
mod fixing;
mod hostile;
mod shapes;
mod types;
