import { homedir } from 'node:os'
import type { Config } from '../contracts/config.ts'
import { openDiffs } from '../host/diffs.ts'
import { openPrograms } from '../host/installed.ts'
import { openPython } from '../host/python.ts'
import { openRegexEngine } from '../host/regex.ts'
import { openSourceParser } from '../host/source-parser.ts'
import type { ServerRecords } from '../host/stage/server-records.ts'
import { openServers } from '../host/stage/servers.ts'
import { openWeb, type WebSettings } from '../host/web.ts'
import { openTraffic } from '../kernel/kernel.ts'
import type { SavedStates } from '../host/browser/sessions.ts'
import type { Keep } from './closing.ts'
import type { Place } from './place.ts'

export type Machine = ReturnType<typeof openMachine>

/** What runs on this machine for the project: threads, pages, servers, and whose turn it is. It goes on when the settings change. */
export function openMachine(
  { root, environment }: Place,
  config: () => Config,
  web: () => WebSettings,
  records: ServerRecords,
  logins: SavedStates,
  keep: Keep,
) {
  const installed = { path: environment['PATH'] ?? '', home: environment['HOME'] || homedir(), project: root.path }
  const servers = openServers(records)
  return {
    environment,
    regex: keep(openRegexEngine()),
    diffs: keep(openDiffs(() => config().limits.callTimeoutMs)),
    sources: keep(openSourceParser()),
    web: keep(openWeb({ project: root.path, environment, now: web, served: servers.hosts, logins })),
    servers,
    programs: openPrograms(installed),
    python: openPython(installed),
    traffic: openTraffic({
      get maxConcurrent() {
        return config().limits.maxConcurrent
      },
      get maxPrograms() {
        return config().limits.maxPrograms
      },
      get maxQueued() {
        return config().limits.maxQueued
      },
    }),
  }
}
