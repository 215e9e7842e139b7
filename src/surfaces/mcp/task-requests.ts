import {
  CLIENT_CAPABILITIES_META_KEY,
  ProtocolError,
  ProtocolErrorCode,
  type Server,
  type ServerContext,
} from '@modelcontextprotocol/server'
import { mustHaveTasks, type Asker, type TaskViews } from './tasks.ts'

type AskerOf = (context: ServerContext) => Asker

/** In the form the SDK takes: it knows the names of these requests, and not what stands in them. */
const byId = {
  '~standard': {
    version: 1,
    vendor: 'handrail',
    validate(given: unknown) {
      const { taskId } = (given ?? {}) as { taskId?: unknown }
      return typeof taskId === 'string' ? { value: { taskId } } : { issues: [{ message: 'taskId must be a string' }] }
    },
  },
} as const

/** The requests of the tasks extension (2026). Whoever has not said to have it is told so. */
export function serveTasks(server: Server, tasks: TaskViews['modern'], asker: AskerOf): void {
  const guarded =
    (act: (taskId: string, who: Asker) => Promise<Record<string, unknown>>) =>
    async ({ taskId }: { taskId: string }, context: ServerContext) => {
      mustHaveTasks((context.mcpReq.envelope as Record<string, unknown> | undefined)?.[CLIENT_CAPABILITIES_META_KEY])
      return act(taskId, asker(context)) as never
    }
  const schemas = { params: byId } as never
  server.setRequestHandler('tasks/get' as never, schemas, guarded(tasks.get) as never)
  server.setRequestHandler('tasks/cancel' as never, schemas, guarded(tasks.cancel) as never)
  server.setRequestHandler('tasks/update' as never, schemas, guarded(tasks.update) as never)
}

/** The requests of the version of 2025-11-25. */
export function serveLegacyTasks(server: Server, tasks: TaskViews['legacy'], asker: AskerOf): void {
  const handle = (method: string, act: (params: { taskId: string; cursor?: string }, who: Asker) => Promise<object>): void =>
    server.setRequestHandler(
      method as never,
      (async (request: { params?: { taskId: string } }, context: ServerContext) =>
        act(request.params ?? { taskId: '' }, asker(context))) as never,
    )
  handle('tasks/get', ({ taskId }, who) => tasks.get(taskId, who))
  handle('tasks/result', ({ taskId }, who) => tasks.result(taskId, who))
  handle('tasks/cancel', ({ taskId }, who) => tasks.cancel(taskId, who))
  handle('tasks/list', ({ cursor }, who) => tasks.list(cursor, who))
}

/** A tool whose calls answer themselves is not made into a task. */
export function noTaskOf(name: string): ProtocolError {
  return new ProtocolError(ProtocolErrorCode.MethodNotFound, `A call of ${name.slice(0, 100)} cannot be a task`)
}
