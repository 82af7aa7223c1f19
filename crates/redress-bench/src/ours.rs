//! Our server in the table: the operations that every server in it has, all faces on.

use std::{
    io::{self, Read as _},
    net::SocketAddr,
    sync::Arc,
};

use redress::{
    Caller, Ctx, Failure, Operation, Outcome, Registry, contract, data,
    mcp::{Mcp, McpOptions, RequestContext},
    operation,
    serve::Faces,
};
use tokio::{net::TcpListener, runtime::Runtime};

use crate::{order::Orders, process::Program};

/// Whom to greet, and how often.
#[data]
pub struct Greet {
    name: String,
    times: u32,
}

/// A greeting.
#[data]
pub struct Greeting {
    message: String,
}

/// What the orders cost.
#[data]
pub struct Total {
    total: f64,
}

#[derive(Debug, Failure)]
enum FindFailure {
    /// Nobody has the name.
    #[failure(kind = not_found, message = "nobody is called {name}",
              recover(call = "bench.people", bind(near = name),
                      hint = "List the people and take a name that is there.", why = "see who is there"))]
    PersonNotFound { name: String },
}

/// Greet a person.
#[operation(query, name = "bench.greet", access(scopes = "bench:use"))]
async fn greet(_ctx: &Ctx, input: Greet) -> Outcome<Greeting> {
    Ok(Greeting { message: format!("Hello {}, {} times", input.name, input.times) })
}

/// Find a person who is never there.
#[operation(query, name = "bench.find", access(scopes = "bench:use"))]
async fn find(_ctx: &Ctx, input: Greet) -> Outcome<Greeting, FindFailure> {
    Err(FindFailure::PersonNotFound { name: input.name }.into())
}

/// What the people listed are near to.
#[data]
pub struct Near {
    near: String,
}

/// List the people with a name that is near.
#[operation(query, name = "bench.people", access(scopes = "bench:use"))]
async fn people(_ctx: &Ctx, input: Near) -> Outcome<Vec<String>> {
    Ok(vec![input.near])
}

/// Add up what orders cost.
#[operation(query, name = "bench.total", access(scopes = "bench:use"))]
async fn total(_ctx: &Ctx, input: Orders) -> Outcome<Total> {
    Ok(Total { total: input.orders.iter().map(|order| order.price * f64::from(order.quantity)).sum() })
}

/// A registry with so many operations, those above among them.
pub(crate) fn registry(operations: usize) -> Registry {
    let mut builder = Registry::builder().add(greet).add(find).add(people).add(total);
    for number in 4..operations {
        let declaration =
            contract::OperationDeclaration::query(&format!("filler.operation_{number}")).with_summary("Filler.");
        builder = builder.add(Operation::dynamic(declaration).with_handler(|_, input| async move { Ok(input) }));
    }
    builder.build().expect("the declarations above are in order")
}

/// How the server with so many operations is started.
pub fn program(operations: usize) -> io::Result<Program> {
    let arguments = vec!["server".to_owned(), operations.to_string()];
    Ok(Program { path: std::env::current_exe()?, arguments })
}

/// How the server is started that speaks MCP over its input and output.
pub fn stdio_program() -> io::Result<Program> {
    Ok(Program { path: std::env::current_exe()?, arguments: vec!["stdio".to_owned()] })
}

/// All tools on one page, as the peers list them.
pub(crate) fn mcp(registry: Registry) -> Mcp {
    let mut options = McpOptions::default();
    options.discovery_above = usize::MAX;
    options.page = usize::MAX;
    Mcp::new(registry, options).expect("no profile is asked for")
}

pub(crate) fn runtime() -> Runtime {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build();
    runtime.expect("a runtime starts")
}

/// Serves on one worker thread, says its address on the first line, and ends when its input does.
pub fn serve(operations: usize) {
    end_with_input();
    runtime().block_on(serve_all(registry(operations)));
}

/// Ends the process when its input does.
pub(crate) fn end_with_input() {
    // Blocked in the kernel, so it costs the measured requests nothing.
    std::thread::spawn(|| {
        let _ = io::stdin().read_to_end(&mut Vec::new());
        std::process::exit(0);
    });
}

/// Serves all faces of `registry`, and says the address on the first line.
#[expect(clippy::print_stdout, reason = "the parent reads the address there")]
pub(crate) async fn serve_all(registry: Registry) {
    let faces = Faces::new(registry.clone()).mcp(mcp(registry));
    let listener = TcpListener::bind(SocketAddr::from(([127, 0, 0, 1], 0))).await.expect("a port is free");
    println!("{}", listener.local_addr().expect("a bound socket has an address"));
    faces.serve(listener, std::future::pending()).await.expect("the server runs");
}

/// Speaks MCP over its input and output.
pub fn stdio() {
    runtime().block_on(async {
        let asking = RequestContext { caller: Some(Arc::new(Caller::local())), ..RequestContext::default() };
        mcp(registry(10)).standard_io(asking).await.expect("the output can be written");
    });
}
