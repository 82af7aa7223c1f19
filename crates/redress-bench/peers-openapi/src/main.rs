//! rmcp-openapi with the operations of one document: `redress-bench-peers-openapi DOCUMENT`. It speaks MCP over its input
//! and output, as the other servers do that import is measured with.

use std::{error::Error, fs};

use rmcp::{ServiceExt as _, transport::stdio};
use rmcp_openapi::Server;
use url::Url;

fn main() -> Result<(), Box<dyn Error>> {
    let path = std::env::args().nth(1).ok_or("redress-bench-peers-openapi DOCUMENT")?;
    let document = serde_json::from_slice(&fs::read(path)?)?;
    let mut server = Server::builder().openapi_spec(document).base_url(Url::parse("http://127.0.0.1:9")?).build();
    server.load_openapi_spec()?;
    tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?.block_on(async {
        server.serve(stdio()).await?.waiting().await?;
        Ok(())
    })
}
