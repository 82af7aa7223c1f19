//! Services behind the gateway: what they answer, what they do to us, and what nobody may see.

mod calls;
mod credentials;
mod documents;
mod faces;
mod faults;
mod hostile;
mod mock;
mod outcomes;
mod reach;
mod secrets;
mod streams;
mod values;
