import type { TestProject } from 'vitest/node'
import { findPostgres, findRedis, startPostgres, startRedis, type Server } from './postgres.ts'

/** One PostgreSQL and one Redis for the whole run, started when the first test that wants them is about to. */
export default async function startServers(project: TestProject): Promise<() => Promise<void>> {
  const servers: Server[] = []
  const add = async (start: () => Promise<Server>): Promise<string> => {
    const server = await start()
    servers.push(server)
    return server.url
  }
  project.provide('database', findPostgres() === undefined ? '' : await add(startPostgres))
  project.provide('redis', findRedis() === undefined ? '' : await add(startRedis))
  return async () => {
    for (const server of servers) await server.stop()
  }
}

declare module 'vitest' {
  interface ProvidedContext {
    database: string
    redis: string
  }
}
