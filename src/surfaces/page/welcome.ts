import type { Route } from '../listen.ts'
import { html, sendPage } from './html.ts'

const body = html`<h1>Handrail is running</h1>
  <p>
    For agents: MCP at <code>/mcp</code> (older clients: <code>/sse</code>), with the token from the file that
    <code>handrail serve</code> names. Plain HTTP at <code>/agent/process</code>: <a href="/reference">the reference</a>.
  </p>
  <p>For you: <a href="/sign-in">sign in to see what waits for your answer</a>, or in a terminal:</p>
  <pre>
handrail approvals list   what waits for your answer
handrail audit show       what was done
handrail undo --last      take the last change back
handrail doctor           what works here</pre>`

/** What a person sees who opens the address in a browser: where to go, and nothing that matters. */
export const welcome: Route = {
  for: 'anyone',
  shows: 'document',
  methods: ['GET', 'HEAD'],
  handle: ({ response }) => sendPage(response, 200, 'Running', body),
}
