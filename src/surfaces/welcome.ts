import type { Route } from './listen.ts'

const page = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>Handrail</title>
<style>
  body { font: 16px/1.6 system-ui, sans-serif; max-width: 42rem; margin: 4rem auto; padding: 0 1rem; color: #222; background: #fafafa }
  code, pre { font: 14px/1.5 ui-monospace, monospace; background: #eee; border-radius: 4px; padding: .1em .3em }
  pre { padding: .8em 1em; overflow-x: auto }
  @media (prefers-color-scheme: dark) { body { color: #ddd; background: #161616 } code, pre { background: #262626 } }
</style>
<h1>Handrail is running</h1>
<p>This address is for agents: MCP at <code>/mcp</code>, with the token from <code>.handrail/token</code> in the project. Nothing about the project is shown here.</p>
<p>For you, in a terminal:</p>
<pre>handrail approvals list   what waits for your answer
handrail audit show       what was done
handrail undo --last      take the last change back
handrail doctor           what works here</pre>
</html>
`

/** What a person sees who opens the address in a browser: where to go, and nothing that matters. */
export const welcome: Route = (_, response) => {
  response.writeHead(200, {
    'Content-Type': 'text/html; charset=utf-8',
    'Content-Security-Policy': "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'",
  })
  response.end(page)
}
