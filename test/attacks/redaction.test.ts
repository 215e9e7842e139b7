import { readFileSync } from 'node:fs'
import { beforeEach, expect, test } from 'vitest'
import { redactLong } from '../../src/text/redact/long.ts'
import { redact } from '../../src/text/redact/redact.ts'
import { scrub, scrubDeep } from '../../src/kernel/redacted-input.ts'
import { drawsWords } from '../support/seed.ts'
import { openInside, runInside } from '../support/inside.ts'
import { openWorld } from '../support/world.ts'

let pick = drawsWords('redaction')
// Each test draws the same, whichever ran before it.
beforeEach(() => void (pick = drawsWords('redaction')))
const upper = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ'
const digits = '0123456789'
const alnum = upper + upper.toLowerCase() + digits
const hex = (length: number): string => pick(length, '0123456789abcdef')
const any = (length: number): string => `${pick(1, upper)}${pick(length - 2, alnum)}${pick(1, digits)}`
const base64 = (text: string): string => Buffer.from(text).toString('base64')

/** Every form of the facts' table, with the secret alone where it is not the whole text. */
type Form = (secret: string) => string
const pem = (secret: string, newline: string): string =>
  ['-----BEGIN RSA PRIVATE KEY-----', secret, secret, '-----END RSA PRIVATE KEY-----'].join(newline)

const forms: Record<string, Form> = {
  userinfo: (s) => `git clone https://bob:${s}@example.com/r.git`,
  'userinfo with a slash': (s) => `git clone https://bob:x/${s}@example.com/r.git`,
  'userinfo, a token alone': (s) => `git clone https://${s}${s}1@github.com/o/r`,
  'userinfo, a short token alone': (s) => `git clone https://aB3${s.slice(0, 9)}@git.example/o/r`,
  'userinfo of Oracle': (s) => `jdbc:oracle:thin:scott/${s}@db:1521/x`,
  'userinfo, encoded': (s) => `open https://x.io/?next=https%3A%2F%2Fbob%3A${s}%40h.io`,
  'a login without scheme': (s) => `connect bob:${s}@db.example.com`,
  'a query': (s) => `get https://x.io/f?user=bob&token=${s}&page=2`,
  'a signed address': (s) => `get https://b.s3.amazonaws.com/f?X-Amz-Signature=${s}`,
  'a shared access signature': (s) => `get https://b.blob.core.windows.net/c?sv=2024&sig=${s}%3D`,
  'a code': (s) => `open http://127.0.0.1/cb?code=${s}`,
  '--password X': (s) => `deploy --password ${s} --verbose`,
  '--password=X': (s) => `deploy --password=${s} --verbose`,
  '--passwd in quotes': (s) => `deploy --passwd "${s} ${s}" now`,
  '-password X': (s) => `java -password ${s} Main`,
  '--token': (s) => `gh x --token ${s}`,
  '--api-key': (s) => `x --api-key='${s}'`,
  '--api_key': (s) => `x --api_key ${s}`,
  '--client-secret': (s) => `az login --client-secret ${s}`,
  '--auth': (s) => `x --auth ${s}`,
  '--db-password': (s) => `x --db-password \\\n  ${s}`,
  'curl -u': (s) => `curl -u bob:${s} https://x.io`,
  'curl -uX': (s) => `/usr/bin/curl -sS -ubob:${s} https://x.io`,
  'curl --user': (s) => `curl --user 'bob:${s}' https://x.io`,
  'curl in quotes': (s) => `sh -c "cd x && curl -u bob:${s} https://x.io"`,
  'mysql -pX': (s) => `mysql -h db -u root -p${s} shop`,
  'mysql -p in quotes': (s) => `mysqldump -uroot -p'${s}' shop`,
  sshpass: (s) => `sshpass -p ${s} ssh bob@h`,
  'docker login': (s) => `docker login -u bob -p ${s} registry.io`,
  'echo to stdin': (s) => `echo ${s} | docker login -u bob --password-stdin`,
  'a here-string': (s) => `gh auth login --with-token <<< ${s}`,
  chpasswd: (s) => `echo "bob:${s}" | sudo chpasswd`,
  htpasswd: (s) => `htpasswd -bB .htpasswd bob ${s}`,
  'redis-cli': (s) => `redis-cli -h r -a ${s} ping`,
  mongosh: (s) => `mongosh -u bob -p ${s} --host h`,
  ldapsearch: (s) => `ldapsearch -D cn=bob -w ${s} -b dc=x`,
  smbclient: (s) => `smbclient -U bob%${s} //h/s`,
  sqlcmd: (s) => `sqlcmd -S h -U sa -P ${s}`,
  openssl: (s) => `openssl rsa -in k.pem -passin pass:${s}`,
  zip: (s) => `zip -P ${s} a.zip f`,
  '7z': (s) => `7z x -p${s} a.7z`,
  keytool: (s) => `keytool -list -storepass ${s}`,
  vault: (s) => `vault login ${s}`,
  'aws configure': (s) => `aws configure set aws_secret_access_key ${s}`,
  'npm config': (s) => `npm config set //registry.npmjs.org/:_authToken ${s}`,
  'Authorization: Bearer': (s) => `curl -H "Authorization: Bearer ${s}" https://x.io`,
  'Authorization: Basic': (s) => `Authorization: Basic ${base64(`bob:${s}`)}`,
  'Authorization: Token': (s) => `-H 'Authorization: Token ${s}'`,
  'Authorization in JSON': (s) => JSON.stringify({ headers: { Authorization: `Bearer ${s}` } }),
  'Authorization, signed': (s) => `Authorization: AWS4-HMAC-SHA256 Credential=x/y, Signature=${s}`,
  'X-Api-Key': (s) => `-H 'X-Api-Key: ${s}'`,
  'PRIVATE-TOKEN': (s) => `curl --header "PRIVATE-TOKEN: ${s}" https://gitlab.io`,
  Cookie: (s) => `Cookie: theme=dark; session=${s}; other=${s}`,
  'Basic alone': (s) => `it says Basic ${base64(`bob:${s}`)}`,
  'an environment name': (s) => `DB_PASSWORD=${s} npm start`,
  export: (s) => `export GITHUB_TOKEN='${s}'`,
  'a heredoc': (s) => `cat > x <<EOF\nAPI_SECRET=${s}\nPORT=80\nEOF`,
  'a key by name': (s) => `OPENAI_KEY=${s}`,
  PowerShell: (s) => `$env:API_TOKEN = "${s}"`,
  YAML: (s) => `db:\n  password: ${s}\n  port: 1`,
  INI: (s) => `[default]\naws_secret_access_key = ${s}`,
  JSON: (s) => `{"user":"bob","password":"${s}","port":1}`,
  'JSON in JSON': (s) => JSON.stringify({ body: JSON.stringify({ clientSecret: s }) }),
  code: (s) => `const apiKey = "${s}";`,
  Chinese: (s) => `数据库密码：${s}，端口 3306`,
  PEM: (s) => pem(s, '\n'),
  'PEM, escaped': (s) => JSON.stringify({ private: pem(s, '\n') }),
  'PEM, cut': (s) => `-----BEGIN PRIVATE KEY-----\n${s}\n${s}`,
  PGP: (s) => `-----BEGIN PGP PRIVATE KEY BLOCK-----\n${s}\n-----END PGP PRIVATE KEY BLOCK-----`,
  'a JSON web token': (s) => `eyJ${s}.eyJ${s}.${s}`,
  'a JSON web token, cut': (s) => `see eyJ${s}.eyJ${s}`,
  PostgreSQL: (s) => `psql postgresql://bob:${s}@h:5432/db`,
  MongoDB: (s) => `mongodb+srv://bob:${s}@c.mongodb.net/x`,
  Redis: (s) => `rediss://:${s}@h:6379/0`,
  'SQL Server': (s) => `Server=h;User Id=sa;Password=${s};Encrypt=true`,
  'SQL Server, odd characters': (s) => `Server=h;Password=a b${s}&,x;Encrypt=true`,
  JDBC: (s) => `jdbc:mysql://h/db?user=bob&password=${s}`,
  'Azure Storage': (s) => `AccountName=x;AccountKey=${s}==;EndpointSuffix=core`,
  'Service Bus': (s) => `Endpoint=sb://x/;SharedAccessKey=${s};EntityPath=q`,
  'Go DSN': (s) => `bob:${s}@tcp(localhost:3306)/db`,
  'an AWS secret beside its id': (s) => `AKIA${pick(16, upper)} ${`${s}${any(40)}`.slice(0, 38)}aB`,
  Telegram: (s) => `https://api.telegram.org/bot${pick(9, digits)}:${`${s}${any(40)}`.slice(0, 35)}/x`,
  'a Slack webhook': (s) => `https://hooks.slack.com/services/T0/B0/${s}`,
  'a Discord webhook': (s) => `https://discord.com/api/webhooks/123456789012345678/${s}${s}`,
}
const vendors: Record<string, (s: string) => string> = Object.fromEntries(
  (
    'ghp_ gho_ ghu_ ghs_ ghr_ github_pat_ glpat- gldt- glrt- glcbt- glptt- glft- glsoat- glagent- gloas- npm_ pypi-AgE rubygems_ dckr_pat_ ' +
    'dckr_oat_ AKCp xoxb- xoxp- xapp-1- sk_live_ rk_test_ whsec_ shpat_ shpss_ sk-ant-api03- sk-ant-oat01- sk-proj- sk-svcacct- sk-or-v1- sk- hf_ gsk_ ' +
    'xai- r8_ pplx- nvapi- lsv2_pt_ AIza ya29. GOCSPX- hvs. hvb. dp.pt. glsa_ sntrys_ tskey-auth- figd_ lin_api_ ntn_ sbp_ nfp_ ATATT3 ABSK'
  )
    .split(' ')
    .map((prefix) => [prefix, (s: string) => prefix + s]),
)
Object.assign(vendors, {
  AKIA: () => `AKIA${pick(16, `${upper}234567`)}`,
  ASIA: () => `ASIA${pick(16, `${upper}234567`)}`,
  dop_v1_: () => `dop_v1_${hex(64)}`,
  dapi: () => `dapi${hex(32)}`,
  'PMAK-': () => `PMAK-${hex(24)}-${hex(34)}`,
  'pul-': () => `pul-${hex(40)}`,
  cfut_: () => `cfut_${pick(40, alnum)}${hex(8)}`,
  'SG.': (s: string) => `SG.${s}.${s}`,
  atlas: (s: string) => `${pick(14, alnum)}.atlasv1.${s}`,
  'AGE-SECRET-KEY-1': () => `AGE-SECRET-KEY-1${pick(58, upper + digits)}`,
  'Azure client secret': () => `${pick(3, alnum)}8Q~${pick(34, alnum)}`,
  'Azure key': () => `${pick(86, alnum)}==`,
  'ghs_ of 2026': () => `ghs_${any(200)}.${any(200)}.${any(100)}`,
})

test('B2 every form in which a secret is written is redacted, said by kind and length, and what stands beside it stays', () => {
  const leaks: string[] = []
  for (const [what, form] of Object.entries(forms))
    for (const length of [12, 24]) {
      const secret = any(length)
      const text = redact(form(secret))
      if (text.includes(secret) || text.includes(base64(`bob:${secret}`)) || !/\[secret: [A-Za-z ]+, \d+ characters\]/.test(text))
        leaks.push(`${what}: ${text}`)
    }
  for (const [what, form] of Object.entries(vendors)) {
    const secret = form(any(40))
    for (const text of [`use ${secret} now`, `"${secret}"`, `x=${secret}`, `(${secret})`])
      if (redact(text).includes(secret.slice(-12)) || redact(text).includes(secret.slice(8, 20)))
        leaks.push(`${what}: ${redact(text)}`)
  }
  expect(leaks).toEqual([])
  expect(redact(`curl -u bob:${any(12)} https://x.io/path`)).toBe(
    'curl -u bob:[secret: value of a flag, 12 characters] https://x.io/path',
  )
  expect(redact(`push ghp_${any(36)} to main`)).toBe('push [secret: GitHub token, 40 characters] to main')
})

test('B3 what is harmless stays readable: hashes, ids, pictures, code about tokens, dialogue, scripts, placeholders', () => {
  const readable = [
    `git show ${hex(40)}`,
    `sha256 ${hex(64)} file.tgz`,
    `"integrity": "sha512-${base64(hex(64)).slice(0, 86)}"`,
    `id ${[8, 4, 4, 4, 12].map(hex).join('-')}`,
    `data:image/png;base64,iVBORw0KGgo${pick(200, alnum)}`,
    'AUTHOR=Jane Doe 1234',
    'KEYBOARD=us-intl-1234',
    'PUBLIC_KEY=ssh-ed25519AAAA1234',
    'max_tokens: 4096, total_tokens=12345',
    'SSH_AUTH_SOCK_PATH=/run/x1',
    'curl -u $USER:$PASS https://x.io',
    'deploy --password "$DB_PASSWORD" --token ${TOKEN} --secret {{ secret }} --auth ***',
    'export API_TOKEN=$(cat /run/secrets/x)',
    'PASSWORD=********',
    '--password-file /run/secrets/db1 --token-stdin --secret id=npm,src=.npmrc',
    'docker run -p 8080:80 -u 1000:1000 nginx:1.27@sha256:abc',
    'ssh -p 2222 bob@example.com',
    'cp -p a1b2c3d4 e5f6g7h8',
    'const token = await nextToken(reader1)',
    'function auth(token: string, password?: string): Promise<Token2>',
    'if (token === tokens[index1]) return cache.get(key)',
    'interface Key { key: string; primary_key: number }',
    'token = tokenizer.next()',
    'search password\\s*[:=]\\s*(\\w+)',
    'the --password flag is required, the token expired, a basic authentication, the bearer capability',
    'Password: required. Key: value. Secret: unknown',
    'https://registry.npmjs.org/@types/node/-/node-20.1.0.tgz',
    'https://example.com:8443/a/b?page=2&sort=key1&q=a%3Ab',
    'git@github.com:owner/repo1.git',
    'npm install react@18.2.0 npm:preact@10.1.1',
    'mailto:bob@example.com',
    '小明：我忘记了密码，怎么办？钥匙在你那里吗？',
    'WebGAL:欢迎来到海边！ -v1.ogg;',
    'changeBg:beach_01.webp -next;',
    'choose:拿起钥匙:key_scene|离开:leave_scene1;',
    'setVar:token=5;',
    'jumpLabel:secret_ending_2;',
    'src/auth/token-store.test.ts',
    'handrail approvals approve appr_0123456789abcdef',
  ]
  expect(readable.map((text) => redact(text))).toEqual(readable)
})

test('B3 what is redacted stays as it is when it is redacted again, and marks cannot be forged', () => {
  for (const form of Object.values(forms)) {
    const once = redact(form(any(20)))
    expect(redact(once)).toBe(once)
  }
  const secret = any(20)
  expect(redact(`\uf8fe0\uf8ff --password ${secret} \uf8fe1\uf8ff`)).toBe(
    '\ufffd0\ufffd --password [secret: value of a flag, 20 characters] \ufffd1\ufffd',
  )
})

test('a secret at the cut, behind it, or longer than what is looked at leaves nothing', () => {
  const leaks: string[] = []
  for (const [what, form] of Object.entries({ ...forms, ...vendors }))
    for (const lead of [395, 399, 7_990, 8_100]) {
      const secret = any(24)
      const text = scrub(`${'x '.repeat(lead / 2)}${form(secret)}`)
      if (text.length > 460 || text.includes(secret.slice(0, 6))) leaks.push(`${what} at ${lead}: ${text.slice(-80)}`)
    }
  const long = any(20_000)
  for (const form of Object.values(forms))
    if (scrub(form(long)).includes(long.slice(0, 12))) leaks.push(`long: ${scrub(form(long)).slice(0, 80)}`)
  expect(leaks).toEqual([])
})

test('structured arguments are known by position and by name, at any depth that is kept', () => {
  const leaks: string[] = []
  const look = (what: string, make: (secret: string) => unknown): void => {
    const secret = any(14)
    const text = JSON.stringify(scrubDeep(make(secret)))
    if (text.includes(secret)) leaks.push(`${what}: ${text}`)
  }
  look('argv', (s) => ['deploy', '--password', s, '--verbose'])
  look('argv, joined', (s) => ['deploy', `--password=${s}`])
  look('argv, with blanks', (s) => ['deploy', '--password', `${s} two words`])
  look('argv, short', (s) => ['/usr/bin/mysql', '-uroot', `-p${s}`])
  look('argv, curl', (s) => ['curl', '-u', `bob:${s}`, 'https://x.io'])
  look('argv of a shell', (s) => ['sh', '-c', `curl -u bob:${s} https://x.io`])
  look('argv, a pair', (s) => ['-e', `API_TOKEN=${s}`])
  look('a map of the environment', (s) => ({ env: { API_TOKEN: s, PATH: '/bin' } }))
  look('a number', (s) => ({ pin: 1, password: Number.parseInt(s.replace(/\D/g, '') || '1', 10), dbPassword: s }))
  look('a list of names and values', (s) => [{ name: 'DB_PASSWORD', value: s }])
  look('pairs', (s) => [['DB_PASSWORD', s]])
  look('a list under a secret name', (s) => ({ tokens: 1, secrets: [s, { a: s }] }))
  look('a secret in a name', (s) => ({ [`ghp_${s}${s}`]: 1 }))
  look('headers', (s) => ({ headers: { 'X-Api-Key': s, Cookie: `a=${s}` } }))
  look('deep', (s) => ({ a: { b: { c: { d: { e: { password: s, f: [s] } } } } } }))
  look('behind the fiftieth', (s) => [...Array.from({ length: 60 }, () => 'x'), '--password', s])
  expect(leaks).toEqual([])
  expect(scrubDeep({ argv: ['npm', 'run', 'build'], env: { PATH: '/bin', AUTHOR: 'Jane' }, n: 1, ok: true })).toEqual({
    argv: ['npm', 'run', 'build'],
    env: { PATH: '/bin', AUTHOR: 'Jane' },
    n: 1,
    ok: true,
  })
  let wide: unknown = 'x'
  for (let depth = 0; depth < 5; depth++) wide = Array.from({ length: 50 }, () => wide)
  expect(JSON.stringify(scrubDeep(wide)).length).toBeLessThan(200_000)
})

test('texts made to be slow are looked at in time that grows with their length, and others have their turn', async () => {
  const small = 1 << 13
  const bad: string[] = []
  for (const unit of [
    '://',
    'eyJ',
    'sk-',
    '-----BEGIN ',
    "'",
    '"a',
    'curl -u a:b ',
    'password=',
    'a:a@',
    'a.a:',
    '%3A%2F%2F',
    'token: ',
    '-p ',
    'authorization: ',
    '\\"',
    "--password='",
    'AKIA',
    'Bearer ',
    '<<<x ',
    'x',
    '://a:',
    '"a b" -',
    '0',
    '{"key":',
    'echo -S|',
    '--with-token <<<a ',
    'set ',
    'htpasswd -b ',
    'a=',
    'Pwd=',
    'https://a:b@c?token=',
    '[secret: a',
    '\uf8fe',
    '密码:',
    '`a',
    'a\\',
    '$(',
    'x-x-x-',
    'Aa0/',
  ]) {
    // Steps, not time: what is not linear is far slower on sixteen times as much.
    const cost = (length: number): number => {
      const text = unit.repeat(Math.ceil(length / unit.length))
      const before = process.cpuUsage()
      redact(text)
      const { user, system } = process.cpuUsage(before)
      return (user + system) / 1_000
    }
    cost(small)
    const [little, much] = [Math.max(cost(small), 4), cost(small * 16)]
    if (much / little > 16 * 12) bad.push(`${unit}: ${little} ms, then ${much} ms`)
  }
  expect(bad).toEqual([])
  const secret = any(30)
  const text = `${'a line of a log\n'.repeat(70_000)}${pem(secret, '\n')}\n${'more\n'.repeat(1_000)}export TOKEN=${secret}\n${'y'.repeat(300_000)}`
  let turns = 0
  const counting = setInterval(() => turns++, 0)
  const clean = await redactLong(text)
  clearInterval(counting)
  expect(turns).toBeGreaterThan(3)
  expect(clean).not.toContain(secret)
  expect(clean.split('\n').length).toBeGreaterThan(70_000)
  expect(clean.startsWith('a line of a log\n')).toBe(true)
})

test('no form of a secret reaches the log, the sessions, the questions or stderr, whichever way it came', async () => {
  await using world = await openWorld({
    files: { 'a.txt': 'one\n', 'package.json': '{}\n' },
    flags: { 'write-requires-diff': 'false', 'approval-wait-ms': '0' },
  })
  const secrets: [string, string][] = []
  const draw = (what: string): string => {
    const secret = any(20)
    secrets.push([what, secret])
    return secret
  }
  const go = (tool: string, input: unknown, given = {}): Promise<unknown> => world.call(tool, input, given).catch(() => undefined)
  for (const [what, form] of Object.entries({ ...forms, ...vendors })) {
    if (['userinfo', '--password X', 'PEM', 'JSON'].includes(what))
      await go('search_files', { path: '.', regex: form(draw(`${what} in a regex`)) })
    await go('list_files', { path: '.', globs: [form(draw(`${what} in a list`))] })
  }
  for (const form of [forms['curl -u'], forms['--password X'], forms['YAML']] as Form[]) {
    const client = form(draw('the name of a client'))
    world.runtime.openSession({ id: 'sess_named', surface: 'mcp-stdio', client })
    await go('read_file', { path: form(draw('a path')) }, { client })
    await go(
      'write_to_file',
      { path: 'package.json', content: `${client.length}\n`, dryRun: false, idempotencyKey: form(draw('a key')) },
      { client },
    )
    await go('ask_followup_question', { question: form(draw('a question')) })
    await go('attempt_completion', { result: form(draw('a result')) })
    const [asked] = world.runtime.approvals.list('pending')
    if (asked)
      world.runtime.approvals.decide(asked.id, {
        approve: false,
        by: `person ${form(draw('who decides'))}`,
        note: form(draw('a note')),
      })
  }
  await using peer = await openInside(world.project)
  await peer.call('search_files', { path: '.', regex: (forms['curl -u'] as Form)(draw('over stdio')) })
  const resource = await peer.client.readResource({ uri: 'handrail://audit' })
  world.runtime.audit.verify()
  const shown: Record<string, string> = {
    log: readFileSync(world.state('audit.jsonl'), 'utf8'),
    sessions: JSON.stringify([world.runtime.sessions(), world.runtime.notes('sess_test')]),
    inputs: JSON.stringify(
      world.runtime.approvals.list().map(({ id, client }) => [world.runtime.approvals.get(id)?.input, client]),
    ),
    resource: JSON.stringify(resource),
    show: (await runInside(world.project, ['audit', 'show', '--json', '--limit', '500'])).out,
  }
  const leaks = Object.entries(shown).flatMap(([where, text]) =>
    secrets
      .filter(([, secret]) => text.includes(secret) || text.includes(base64(`bob:${secret}`)))
      .map(([what]) => `${what} in ${where}`),
  )
  expect(leaks).toEqual([])
  expect(shown['log']).toContain('[secret: ')
})
