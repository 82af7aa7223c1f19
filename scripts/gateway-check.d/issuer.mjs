// An authorization server with one client, which may ask for tokens for itself.
import { Provider } from "oidc-provider";

const port = Number(process.argv[2]);
const issuer = `http://127.0.0.1:${port}`;
const provider = new Provider(issuer, {
  clients: [
    {
      client_id: "gateway",
      client_secret: "a-secret-that-is-nowhere-else",
      grant_types: ["client_credentials"],
      redirect_uris: [],
      response_types: [],
    },
  ],
  scopes: ["notes"],
  features: {
    clientCredentials: { enabled: true },
    introspection: { enabled: true },
    devInteractions: { enabled: false },
  },
  // Short enough to be exchanged while the check runs.
  ttl: { ClientCredentials: 5 },
});
provider.listen(port, "127.0.0.1");
