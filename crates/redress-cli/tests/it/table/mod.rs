//! One table of calls, every face, equal outcomes.
//!
//! Each row of [`rows`] goes through each of [`faces::all`], and every outcome, without what
//! differs from call to call, is the one that the call has in process. What a face lets out on
//! the way is searched by the leak canary, and the observers are told of each call once.
//! Another face is another file in `faces/` and another line in [`faces::all`].

mod cancel;
mod contained;
mod equal;
mod face;
mod faces;
mod outcome;
mod rows;
mod service;
mod site;
