//! A gateway in front of one service: `gateway DOCUMENT BASE_URL LISTEN [SCHEME TOKEN_URL]`. With a scheme, tokens for it are
//! asked for with the client that the files `CLIENT_ID_FILE` and `CLIENT_SECRET_FILE` of the environment name.

use std::{env, error::Error, fs, net::SocketAddr, path::PathBuf};

use redress_core::Registry;
use redress_import::{ReadOptions, openapi};
use redress_serve::Faces;
use redress_upstream::{ClientCredentials, Credential, SecretFrom, Upstream, UpstreamConfig};

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let [document, base_url, listen, oauth @ ..] = &arguments[..] else {
        return Err("gateway DOCUMENT BASE_URL LISTEN [SCHEME TOKEN_URL]".into());
    };
    let import = openapi::read(&fs::read(document)?, &ReadOptions::default())?;
    let mut config = UpstreamConfig::new("service");
    config.base_url = Some(base_url.clone());
    if let [scheme, token_url] = oauth {
        let file = |name: &str| env::var(name).map(|path| SecretFrom::File(PathBuf::from(path)));
        let mut client = ClientCredentials::new(file("CLIENT_ID_FILE")?, file("CLIENT_SECRET_FILE")?);
        client.token_url = Some(token_url.clone());
        config.credentials.insert(scheme.clone(), Credential::ClientCredentials(client));
    }
    let upstream = Upstream::new(import, config)?;
    let operations = upstream.operations().into_iter();
    let registry = operations.fold(Registry::builder(), |builder, operation| builder.add(operation)).build()?;
    let listener = tokio::net::TcpListener::bind(listen).await?;
    // Whoever calls from this machine is known by that.
    let router = Faces::new(registry).router().into_make_service_with_connect_info::<SocketAddr>();
    axum::serve(listener, router).await?;
    Ok(())
}
