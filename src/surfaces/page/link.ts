import { randomBytes, timingSafeEqual } from 'node:crypto'
import { request } from 'node:http'
import { Fault } from '../../contracts/faults/fault.ts'
import type { Operator } from '../../contracts/operator.ts'
import type { ServedPage } from '../../contracts/served-page.ts'
import { programKey, proofOf, signInKey } from '../person-auth.ts'

const proofMs = 10_000
const longestProof = 1_000

/**
 * A link that signs in at this server and no other. It leads to the page's own name, where nobody else can have left cookies or a service
 * worker; `byAddress` is for browsers that do not find it.
 */
export function linkTo(operator: Operator, { instance, url, page }: ServedPage, byAddress = false): string {
  const origin = byAddress ? url : (page ?? url)
  return `${origin}/sign-in?key=${signInKey(operator.token('person').token, instance)}`
}

/** The same for a server of another process. */
export async function findSignInLink(operator: Operator, wanted: { port?: number; byAddress: boolean }): Promise<string> {
  return linkTo(operator, await findServed(operator, wanted), wanted.byAddress)
}

/** A key for the person's programs at a server of another process. */
export async function findProgramKey(operator: Operator, wanted: { port?: number }): Promise<{ url: string; key: string }> {
  const { url, instance } = await findServed(operator, wanted)
  return { url, key: programKey(operator.token('person').token, instance) }
}

/** Any program of this machine may sit on a port: nothing is made for one before it has proved to be ours. */
async function findServed(operator: Operator, wanted: { port?: number }): Promise<ServedPage> {
  const all = operator.servedPages.list()
  const found = all.filter(({ url }) => wanted.port === undefined || portOf(url) === wanted.port)
  const running = all.map(({ url }) => portOf(url)).join(', ')
  const [served] = found
  if (!served)
    throw new Fault(
      'not-found',
      `No \`handrail serve\` of this project is running${wanted.port === undefined ? '' : ` on port ${wanted.port}`}`,
      {
        hint: running
          ? `It runs on port ${running}: say which with --port.`
          : 'Start one with `handrail serve`, which prints a link as well, or answer here: `handrail approvals list`.',
      },
    )
  if (found.length > 1)
    throw new Fault('conflict', `Several \`handrail serve\` of this project are running: on port ${running}`, {
      hint: 'Say which with --port.',
    })
  const challenge = randomBytes(32).toString('base64url')
  const proof = await askForProof(served, challenge)
  const good = Buffer.from(proofOf(operator.token('person').token, served.instance, challenge))
  const given = Buffer.from(proof)
  if (given.length !== good.length || !timingSafeEqual(given, good))
    throw new Fault('policy', `Another program answers at ${served.url}: no link is made for it`, {
      hint: 'Find out what listens on that port. Start `handrail serve` again, or answer here: `handrail approvals list`.',
    })
  return served
}

function portOf(url: string): number {
  return Number(new URL(url).port || 80)
}

/** Whatever sits there answers: only so much of it is read, and only for so long. */
function askForProof({ url }: ServedPage, challenge: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const fail = (cause: unknown): void =>
      reject(
        new Fault('io', `The page at ${url} does not answer`, {
          hint: 'Try again, or answer here: `handrail approvals list`.',
          cause,
        }),
      )
    const asking = request(
      `${url}/sign-in/proof?challenge=${challenge}`,
      { agent: false, signal: AbortSignal.timeout(proofMs) },
      (response) => {
        let text = ''
        response.setEncoding('utf8').on('data', (piece: string) => {
          text += piece
          if (text.length > longestProof) response.destroy(new Error('too much'))
        })
        response.once('error', fail)
        response.once('end', () => {
          if (response.statusCode === 429 || response.statusCode === 503) return fail(new Error(`status ${response.statusCode}`))
          resolve(/^\{"proof":"([\w-]{43})"\}\s*$/.exec(text)?.[1] ?? '')
        })
      },
    )
    asking.once('error', fail).end()
  })
}
