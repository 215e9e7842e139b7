import type { Server, ServerContext, ServerNotifier } from '@modelcontextprotocol/server'

/**
 * What a server offers beside the runtime, with fixed names and fixed answers. None of it reaches the runtime, and the program has none:
 * the conformance suite's server (test/conformance) brings its own.
 */
export interface Fixtures {
  tools: { name: string }[]
  /** undefined: not a fixture, go on as usual. What it throws is a protocol error, to be passed on as it is. */
  call(name: string, input: Record<string, unknown>, context: ServerContext): Promise<object> | undefined
  resources: object[]
  templates: object[]
  read(uri: string): object | undefined
  prompts: object[]
  prompt(name: string, input: Record<string, string>, context: ServerContext): Promise<object> | undefined
  complete(params: unknown): object | undefined
}

/** The fixtures for one server instance. */
export type OpenFixtures = (surroundings: {
  server: Server
  notify: Pick<ServerNotifier, 'toolsChanged' | 'promptsChanged' | 'resourceUpdated'>
  state: { mint(payload: unknown, context: ServerContext): Promise<string> }
}) => Fixtures
