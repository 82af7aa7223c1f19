//! The faces over real sockets.

mod equality;
mod http;
mod leaving;
mod rpc;
mod service;
mod streams;
mod ws;
