import type { Runtime } from './contracts/runtime.ts'
import { answer, listen, type Listening } from './surfaces/listen.ts'
import { welcome } from './surfaces/welcome.ts'
import { mcpRoute } from './surfaces/mcp/http.ts'

/** Puts the HTTP surfaces behind the one listener. */
export function serveHttp(runtime: Runtime, port: number): Promise<Listening> {
  const { token } = runtime.token()
  return listen({
    port,
    token,
    open: {
      '/': welcome,
      '/healthz': (_, response) => answer(response, 200, { ok: true, name: 'handrail', version: runtime.version }),
    },
    guarded: { '/mcp': mcpRoute(runtime) },
  })
}
