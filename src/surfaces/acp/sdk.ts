/** The SDK of the Agent Client Protocol, loaded by `handrail acp` alone. */
export { agent, methods, ndJsonStream, RequestError, type AgentContext } from '@agentclientprotocol/sdk'
export type { ContentBlock, SessionUpdate, ToolCallContent, ToolCallLocation, ToolKind } from '@agentclientprotocol/sdk'
