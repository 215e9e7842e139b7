/** The MCP SDK's client, in a bundle of its own: only who calls a mounted server loads it (scripts/build.mjs). */
export {
  Client,
  ProtocolError,
  ProtocolErrorCode,
  SdkErrorCode,
  StreamableHTTPClientTransport,
  type Transport,
} from '@modelcontextprotocol/client'
