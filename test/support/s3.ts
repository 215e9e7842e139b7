import { createHash, createHmac, timingSafeEqual } from 'node:crypto'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

const sha = (text: string | Buffer): string => createHash('sha256').update(text).digest('hex')
const hmac = (key: string | Buffer, text: string): Buffer => createHmac('sha256', key).update(text).digest()

export interface S3 {
  readonly url: string
  readonly objects: Map<string, { bytes: Buffer; at: number }>
  /** Requests that were refused, and why. */
  readonly refused: string[]
  /** At most so many in one list: what is beyond comes with a token. */
  page: number
  [Symbol.asyncDispose](): Promise<void>
}

/** A small S3 on loopback with one bucket. It checks every signature (AWS Signature Version 4) by itself, from the specification. */
export async function openS3(keyId: string, secret: string, region: string): Promise<S3> {
  const objects: S3['objects'] = new Map()
  const refused: string[] = []
  const wrongWith = ({ headers, method = '', url = '' }: IncomingMessage, body: Buffer): string | undefined => {
    const given =
      /^AWS4-HMAC-SHA256 Credential=([^/]+)\/(\d{8})\/([^/]+)\/s3\/aws4_request, ?SignedHeaders=([^,]+), ?Signature=([0-9a-f]{64})$/.exec(
        headers.authorization ?? '',
      )
    if (!given) return 'MissingSecurityHeader'
    const [, who, day = '', where = '', signed = '', signature = ''] = given
    if (who !== keyId) return 'InvalidAccessKeyId'
    const date = String(headers['x-amz-date'])
    const hash = String(headers['x-amz-content-sha256'])
    if (!date.startsWith(day) || where !== region) return 'AuthorizationHeaderMalformed'
    if (hash !== 'UNSIGNED-PAYLOAD' && hash !== sha(body)) return 'XAmzContentSHA256Mismatch'
    if (!signed.split(';').includes('host')) return 'AccessDenied'
    const [path = '', query = ''] = url.split('?')
    const encode = (text: string): string =>
      encodeURIComponent(text).replace(/[!'()*]/g, (one) => `%${one.charCodeAt(0).toString(16).toUpperCase()}`)
    const parameters = [...new URLSearchParams(query)].map(([name, value]) => `${encode(name)}=${encode(value)}`).toSorted()
    const named = signed.split(';').map((name) => `${name}:${String(headers[name]).trim().replace(/ +/g, ' ')}\n`)
    const request = [method, path, parameters.join('&'), named.join(''), signed, hash].join('\n')
    const scope = `${day}/${where}/s3/aws4_request`
    const key = hmac(hmac(hmac(hmac(`AWS4${secret}`, day), where), 's3'), 'aws4_request')
    const wanted = hmac(key, ['AWS4-HMAC-SHA256', date, scope, sha(request)].join('\n'))
    return timingSafeEqual(wanted, Buffer.from(signature, 'hex')) ? undefined : 'SignatureDoesNotMatch'
  }
  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const parts: Buffer[] = []
    for await (const part of request) parts.push(part as Buffer)
    const body = Buffer.concat(parts)
    const wrong = wrongWith(request, body)
    if (wrong !== undefined) {
      refused.push(wrong)
      return void response.writeHead(403).end(`<Error><Code>${wrong}</Code></Error>`)
    }
    const { pathname, searchParams } = new URL(request.url ?? '', 'http://s3')
    const key = decodeURIComponent(pathname.replace(/^\/bucket\/?/, ''))
    if (request.method === 'PUT') {
      objects.set(key, { bytes: body, at: Date.now() })
      return void response.writeHead(200).end()
    }
    if (request.method === 'DELETE') {
      objects.delete(key)
      return void response.writeHead(204).end()
    }
    if (searchParams.get('list-type') === '2') {
      const after = searchParams.get('continuation-token') ?? ''
      const keys = [...objects.keys()].filter((one) => one.startsWith(searchParams.get('prefix') ?? '') && one > after).toSorted()
      const shown = keys.slice(0, s3.page)
      const rows = shown.map(
        (one) =>
          `<Contents><Key>${one}</Key><LastModified>${new Date(objects.get(one)?.at ?? 0).toISOString()}</LastModified></Contents>`,
      )
      const more = keys.length > shown.length ? `<NextContinuationToken>${shown.at(-1)}</NextContinuationToken>` : ''
      return void response.writeHead(200).end(`<ListBucketResult>${rows.join('')}${more}</ListBucketResult>`)
    }
    const found = objects.get(key)?.bytes
    if (!found) return void response.writeHead(404).end('<Error><Code>NoSuchKey</Code></Error>')
    const range = /^bytes=(\d+)-(\d+)$/.exec(request.headers.range ?? '')
    if (!range) return void response.writeHead(200).end(found)
    const [from, to] = [Number(range[1]), Number(range[2])]
    if (from >= found.length) return void response.writeHead(416).end('<Error><Code>InvalidRange</Code></Error>')
    response.writeHead(206).end(found.subarray(from, to + 1))
  }
  const server = createServer((request, response) => void answer(request, response))
  await new Promise<void>((ready) => server.listen(0, '127.0.0.1', ready))
  const { port } = server.address() as AddressInfo
  const s3: S3 = {
    url: `http://127.0.0.1:${port}/bucket`,
    objects,
    refused,
    page: 1_000,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      await new Promise((done) => server.close(done))
    },
  }
  return s3
}
