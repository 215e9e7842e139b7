import { realpathSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import type { Files } from '../files.ts'
import { sayOnce } from './websocket.ts'

/** A running Terre that serves this very project. */
export interface Terre {
  readonly url: string
  /** Sends every preview that Terre has open to a line of a scene. */
  push(scene: string, line: number): Promise<void>
}

const newer = 'webgal-editor-preview-sync.v1'
const askMs = 1_500
const largestAnswer = 4 << 20

/** The editor on this port, or why it is not one that shows this project. */
export async function findTerre(files: Files, home: string, port: number): Promise<Terre | { why: string }> {
  const list = await get(port, '/api/manageGame/gameList')
  if (!list) return { why: `no Terre answers on port ${port}` }
  const game = gamesIn(list).find((name) => leadsTo(files.root, home, name))
  if (game === undefined) return { why: `the Terre on port ${port} does not have this project among its games` }
  const path = `/games/${encodeURIComponent(game)}/`
  // Two Terres can have a game of the same name: what is served must be what is here.
  const shown = await get(port, `${path}game/config.txt`)
  const here = files.peek('game/config.txt')
  if (!shown || !here || !shown.equals(here)) return { why: `the Terre on port ${port} shows another game by this name` }
  return {
    url: `http://localhost:${port}${path}`,
    async push(scene, line) {
      const say = (protocol: string): string =>
        JSON.stringify(
          protocol === newer
            ? {
                kind: 'request',
                type: 'preview.command.sync-scene',
                requestId: `handrail-${Date.now()}`,
                payload: { sceneName: scene, sentenceId: line },
              }
            : {
                event: 'message',
                data: { command: 0, sceneMsg: { scene, sentence: line }, stageSyncMsg: {}, message: 'Sync' },
              },
        )
      const ask = (protocol?: string): Promise<string> =>
        sayOnce({ port, path: '/api/webgalsync', protocol, timeoutMs: askMs, say })
      // An older Terre does not know the newer protocol: it refuses it, or takes the connection without it.
      await ask(newer).catch(() => ask())
    },
  }
}

/** Names of game folders, as older and newer versions write the list. */
function gamesIn(list: Buffer): string[] {
  let parsed: unknown
  try {
    parsed = JSON.parse(list.toString('utf8'))
  } catch {
    return []
  }
  return (Array.isArray(parsed) ? parsed : [])
    .map((one: unknown) =>
      typeof one === 'string' ? one : ((one as { dir?: unknown })?.dir ?? (one as { name?: unknown })?.name),
    )
    .filter((name): name is string => typeof name === 'string' && name !== '' && !/[/\\]|^\.+$/.test(name))
}

/** Whether a game of this name, in the folder where this project lies or in Terre's own, is this project. */
function leadsTo(project: string, home: string, game: string): boolean {
  const beside = basename(dirname(project)) === 'games' ? [dirname(project)] : []
  return [...beside, join(home, '.webgal_terre', 'games')].some((games) => {
    try {
      return realpathSync(join(games, game)) === project
    } catch {
      return false
    }
  })
}

async function get(port: number, path: string): Promise<Buffer | undefined> {
  try {
    const answer = await fetch(`http://127.0.0.1:${port}${path}`, {
      headers: { Origin: `http://localhost:${port}` },
      redirect: 'error',
      signal: AbortSignal.timeout(askMs),
    })
    if (!answer.ok || !answer.body) return undefined
    // Counted as it comes: what is sent packed says nothing of what it holds.
    const pieces: Uint8Array[] = []
    let bytes = 0
    for await (const piece of answer.body) {
      if ((bytes += piece.length) > largestAnswer) return undefined
      pieces.push(piece)
    }
    return Buffer.concat(pieces)
  } catch {
    return undefined
  }
}
