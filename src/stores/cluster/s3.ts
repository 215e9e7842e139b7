import { Fault } from '../../contracts/faults/fault.ts'
import type { ArtifactStore } from '../../contracts/run-ports.ts'
import type { Postgres } from '../../host/postgres.ts'
import { gone, isArtifactId, isNamed, mustBe } from './artifacts.ts'

export interface S3Place {
  /** Where the bucket is, with its name as the path: `https://s3.example.org/my-bucket`. */
  url: string
  region: string
  keyId: string
  secret: string
}

/** An answer that takes longer is none. */
const answerMs = 60_000
/** Listed in one request, as S3 has it. */
const mostListed = 1_000

/** Contents of artifacts as objects of a bucket, signed for by aws4fetch. Which there are stands in the database all the same. */
export async function openS3Artifacts(place: S3Place, db: Postgres, space: string): Promise<ArtifactStore> {
  const { AwsClient } = await import('aws4fetch')
  const client = new AwsClient({
    accessKeyId: place.keyId,
    secretAccessKey: place.secret,
    region: place.region,
    service: 's3',
    retries: 3,
  })
  const prefix = `handrail/${encodeURIComponent(space)}/`
  const base = place.url.replace(/\/+$/, '')
  const ask = async (path: string, init: RequestInit & { headers?: Record<string, string> } = {}): Promise<Response> => {
    try {
      return await client.fetch(`${base}${path}`, { ...init, signal: AbortSignal.timeout(answerMs) })
    } catch (cause) {
      throw refused((cause as Error).message, cause)
    }
  }
  const object = (id: string): string => `/${prefix}${id}`
  const must = async (response: Response): Promise<Response> => {
    if (response.ok) return response
    const says = /<Code>([A-Za-z]{1,60})<\/Code>/.exec(await response.text())?.[1] ?? ''
    throw refused(`${response.status} ${says}`.trim())
  }
  return {
    async put(id, bytes) {
      mustBe(id)
      await must(await ask(object(id), { method: 'PUT', body: bytes as Uint8Array<ArrayBuffer> }))
    },
    async read(id, offset, length) {
      mustBe(id)
      if (length <= 0) return new Uint8Array()
      const response = await ask(object(id), { headers: { range: `bytes=${offset}-${offset + length - 1}` } })
      if (response.status === 404) throw gone(id)
      // Past the end, or an object without a byte.
      if (response.status === 416) return new Uint8Array()
      const bytes = new Uint8Array(await (await must(response)).arrayBuffer())
      // One that does not know of ranges sends all of it.
      return response.status === 206 ? bytes : bytes.subarray(offset, offset + length)
    },
    async remove(id) {
      if (!isArtifactId(id) || (await isNamed(db, id))) return
      const response = await ask(object(id), { method: 'DELETE' })
      if (response.status !== 404) await must(response)
    },
    async writtenBefore(time) {
      const found: string[] = []
      for (let more = ''; ;) {
        const query = new URLSearchParams({ 'list-type': '2', prefix, 'max-keys': String(mostListed) })
        if (more) query.set('continuation-token', more)
        const text = await (await must(await ask(`/?${query}`))).text()
        for (const [, entry = ''] of text.matchAll(/<Contents>(.*?)<\/Contents>/gs)) {
          const id = /<Key>([^<]*)<\/Key>/.exec(entry)?.[1]?.split('/').at(-1) ?? ''
          const at = Date.parse(/<LastModified>([^<]*)<\/LastModified>/.exec(entry)?.[1] ?? '')
          if (isArtifactId(id) && at < time) found.push(id)
        }
        more = decode(/<NextContinuationToken>([^<]*)<\/NextContinuationToken>/.exec(text)?.[1] ?? '')
        if (!more) return found
      }
    },
  }
}

const entities: Record<string, string> = { '&amp;': '&', '&lt;': '<', '&gt;': '>', '&quot;': '"', '&apos;': "'" }
const decode = (text: string): string => text.replace(/&(?:amp|lt|gt|quot|apos);/g, (one) => entities[one] ?? one)

function refused(says: string, cause?: unknown): Fault {
  return new Fault('io', `The storage of artifacts (cluster.artifacts) did not do it: ${says.slice(0, 200)}`, {
    hint: 'Is the bucket there, and may this key read, write and list it? Nothing is acknowledged that was not stored.',
    cause,
  })
}
