//! jsonrpsee: a typed failure is an error object with data.

use jsonrpsee::{
    RpcModule,
    server::Server,
    types::{ErrorObjectOwned, Params},
};

use crate::order::{Greet, Greeting, Missing, Orders};

pub(crate) async fn serve() {
    let server = Server::builder().build("127.0.0.1:0").await.expect("a port is free");
    crate::listening(server.local_addr().expect("a bound socket has an address"));
    let mut module = RpcModule::new(());
    module
        .register_async_method("bench.greet", async |params: Params<'static>, _, _| {
            Ok::<Greeting, ErrorObjectOwned>(params.parse::<Greet>()?.greeting())
        })
        .expect("the name is free");
    module
        .register_async_method("bench.find", async |params: Params<'static>, _, _| {
            let name = params.parse::<Greet>()?.name;
            let message = format!("nobody is called {name}");
            Err::<Greeting, _>(ErrorObjectOwned::owned(-32001, message, Some(Missing { name })))
        })
        .expect("the name is free");
    module
        .register_async_method("bench.total", async |params: Params<'static>, _, _| {
            Ok::<_, ErrorObjectOwned>(serde_json::json!(params.parse::<Orders>()?.total().total))
        })
        .expect("the name is free");
    server.start(module).stopped().await;
}
