import { readFileSync, readdirSync } from 'node:fs'
import { beforeEach, expect, test } from 'vitest'
import { redact } from '../../src/text/redact/redact.ts'
import { drawsWords } from '../support/seed.ts'

/** Forms an attack from outside came with after the first table was made: markup, logins, queries, prose, makers of 2025 and 2026. */
let pick = drawsWords('redaction-fresh')
// Each test draws the same, whichever ran before it.
beforeEach(() => void (pick = drawsWords('redaction-fresh')))
const upper = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ'
const lower = upper.toLowerCase()
const digits = '0123456789'
const any = (length: number): string => `K${pick(length - 3, upper + lower + digits)}q7`
const hex = (length: number): string => pick(length, '0123456789abcdef')
const b64 = (text: string): string => Buffer.from(text).toString('base64')

const forms: Record<string, (s: string) => string> = {
  netrc: (s) => `machine example.com login bob password ${s}`,
  'netrc lines': (s) => `machine example.com\n  login bob\n  password ${s}\n`,
  'netrc default': (s) => `default login anonymous password ${s}`,
  'PEM one line': (s) => `-----BEGIN PRIVATE KEY----- ${s} ${s} -----END PRIVATE KEY-----`,
  'PEM base64 body next': (s) => `key: |\n    -----BEGIN EC PRIVATE KEY-----\n    ${s}\n    -----END EC PRIVATE KEY-----\n`,
  'httpie header': (s) => `http GET https://x.io Authorization:"Bearer ${s}"`,
  'httpie header plain': (s) => `http GET https://x.io Authorization:${s}`,
  'httpie -A bearer': (s) => `http -A bearer -a ${s} https://x.io`,
  'httpie key header': (s) => `http x.io X-API-Token:${s}`,
  'curl oauth2-bearer': (s) => `curl --oauth2-bearer ${s} https://x.io`,
  'curl -b cookie': (s) => `curl -b "session=${s}" https://x.io`,
  'curl --cookie': (s) => `curl --cookie session=${s} https://x.io`,
  'curl -d': (s) => `curl -d 'grant_type=password&username=bob&password=${s}' https://x.io`,
  'curl -F': (s) => `curl -F password=${s} https://x.io`,
  'wget pw': (s) => `wget --user=bob --password=${s} https://x.io`,
  'wget header': (s) => `wget --header="X-Auth-Token: ${s}" https://x.io`,
  TOML: (s) => `[db]\npassword = "${s}"\n`,
  'TOML single': (s) => `token = '${s}'\n`,
  'TOML triple': (s) => `token = """${s}"""\n`,
  'YAML quoted key': (s) => `"api_key": '${s}'`,
  'YAML block': (s) => `password: |\n  ${s}\n`,
  'YAML folded': (s) => `password: >-\n  ${s}\nport: 1`,
  'YAML list env': (s) => `env:\n  - name: DB_PASSWORD\n    value: ${s}\n`,
  'YAML list env quoted': (s) => `- name: "API_TOKEN"\n  value: "${s}"`,
  'JSON name value': (s) => `{"name":"API_TOKEN","value":"${s}"}`,
  'JSON key value': (s) => `{"key": "DB_PASSWORD", "value": "${s}"}`,
  'k8s secret data': (s) => `kind: Secret\ndata:\n  password: ${b64(s)}\n`,
  'XML element': (s) => `<password>${s}</password>`,
  'XML maven': (s) => `<server><username>x</username><password>${s}</password></server>`,
  'XML attr': (s) => `<add key="ApiKey" value="${s}" />`,
  'XML attr pw': (s) => `<db user="x" password="${s}"/>`,
  nuget: (s) => `<add key="ClearTextPassword" value="${s}" />`,
  properties: (s) => `spring.datasource.password=${s}`,
  'npmrc _auth': (s) => `//registry.npmjs.org/:_auth=${b64('bob:' + s)}`,
  'npmrc token': (s) => `//registry.npmjs.org/:_authToken=${s}`,
  'npmrc _password': (s) => `//r.io/:_password=${b64(s)}`,
  pypirc: (s) => `[pypi]\nusername = __token__\npassword = ${s}`,
  pgpass: (s) => `localhost:5432:db:bob:${s}`,
  PGPASSWORD: (s) => `PGPASSWORD=${s} psql -h h`,
  MYSQL_PWD: (s) => `MYSQL_PWD=${s} mysql`,
  REDISCLI_AUTH: (s) => `REDISCLI_AUTH=${s} redis-cli`,
  libpq: (s) => `host=h user=bob password=${s} dbname=x`,
  'libpq quoted': (s) => `psql "host=h user=bob password='${s}' dbname=x"`,
  ADO: (s) => `Data Source=h;User ID=x;Pwd=${s}`,
  'ADO end': (s) => `Server=h;Password=a$b ${s}`,
  AMQP: (s) => `amqps://bob:${s}@h:5671/v`,
  SMTP: (s) => `smtp://bob%40x.io:${s}@smtp.x.io:587`,
  'SMTP auth plain': (s) => `AUTH PLAIN ${b64('\0bob\0' + s)}`,
  'smtp auth login': (s) => `AUTH LOGIN ${b64(s)}`,
  'S3 url': (s) => `s3://AKIAIOSFODNN7EXAMPLE:${s}@bucket`,
  'docker auth json': (s) => `{"auths":{"r.io":{"auth":"${b64('bob:' + s)}"}}}`,
  'kube token': (s) => `    token: ${s}`,
  'kube client-key-data': (s) => `    client-key-data: ${b64(s + s + s)}`,
  'SQL create user': (s) => `CREATE USER bob WITH PASSWORD '${s}'`,
  'SQL identified by': (s) => `CREATE USER 'bob'@'%' IDENTIFIED BY '${s}'`,
  'SQL alter': (s) => `ALTER ROLE bob PASSWORD '${s}'`,
  'net use': (s) => `net use Z: \\\\h\\s ${s} /user:bob`,
  'net user': (s) => `net user bob ${s} /add`,
  'ConvertTo-SecureString': (s) => `ConvertTo-SecureString "${s}" -AsPlainText -Force`,
  NetworkCredential: (s) => `New-Object System.Net.NetworkCredential("bob", "${s}")`,
  'kubectl from-literal': (s) => `kubectl create secret generic x --from-literal=password=${s}`,
  'kubectl from-literal2': (s) => `kubectl create secret generic x --from-literal=apikey=${s}`,
  'gh secret set': (s) => `gh secret set API_TOKEN --body "${s}"`,
  'gh secret -b': (s) => `gh secret set API_TOKEN -b ${s}`,
  'vault kv put': (s) => `vault kv put secret/db password=${s}`,
  heroku: (s) => `heroku config:set API_KEY=${s}`,
  fly: (s) => `fly secrets set FOO=${s}`,
  wrangler: (s) => `echo ${s} | wrangler secret put FOO`,
  'aws secretsmanager': (s) => `aws secretsmanager create-secret --name x --secret-string ${s}`,
  'aws ssm': (s) => `aws ssm put-parameter --name x --type SecureString --value ${s}`,
  'docker -e': (s) => `docker run -e MYSQL_ROOT_PASSWORD=${s} mysql`,
  'docker build-arg': (s) => `docker build --build-arg NPM_TOKEN=${s} .`,
  'helm set': (s) => `helm install x --set auth.password=${s}`,
  'terraform var': (s) => `terraform apply -var db_password=${s}`,
  'tf quoted': (s) => `terraform apply -var 'db_password=${s}'`,
  'git -c extraheader': (s) => `git -c http.extraheader="Authorization: Basic ${b64('x:' + s)}" fetch`,
  restic: (s) => `RESTIC_PASSWORD=${s} restic backup`,
  borg: (s) => `BORG_PASSPHRASE='${s}' borg create`,
  ansible: (s) => `ansible_become_pass=${s}`,
  otpauth: (s) => `otpauth://totp/x?secret=${s}&issuer=y`,
  wifi: (s) => `WIFI:T:WPA;S:net;P:${s};;`,
  'wpa psk': (s) => `psk="${s}"`,
  wireguard: (s) => `PrivateKey = ${b64(s + s).slice(0, 43)}=`,
  'wireguard psk': (s) => `PresharedKey = ${b64(s + s).slice(0, 43)}=`,
  'basic auth header JSON arr': (s) => `["Authorization","Basic ${b64('b:' + s)}"]`,
  'Set-Cookie': (s) => `Set-Cookie: sid=${s}; HttpOnly`,
  GraphQL: (s) => `mutation { login(user:"x", password:"${s}") { ok } }`,
  'python kw': (s) => `connect(host="h", password="${s}")`,
  'python dict': (s) => `{'api_key': '${s}'}`,
  ruby: (s) => `:password => "${s}"`,
  go: (s) => `Password: "${s}",`,
  fish: (s) => `set -x API_TOKEN ${s}`,
  csh: (s) => `setenv API_TOKEN ${s}`,
  'cmd set': (s) => `set API_TOKEN=${s}`,
  setx: (s) => `setx API_TOKEN "${s}"`,
  'Dockerfile ENV': (s) => `ENV API_TOKEN ${s}`,
  plist: (s) => `<key>password</key>\n<string>${s}</string>`,
  'client assertion': (s) => `client_assertion=${s}`,
  refresh: (s) => `refresh_token=${s}`,
  'ssh prompt': (s) => `bob@h's password: ${s}`,
  'Password prompt': (s) => `Password for 'https://bob@h': ${s}`,
  sentence: (s) => `the password is ${s}`,
  sentence2: (s) => `use password ${s} to log in`,
  'Chinese is': (s) => `密码是${s}`,
  German: (s) => `Passwort: ${s}`,
  French: (s) => `mot de passe : ${s}`,
  Spanish: (s) => `contraseña: ${s}`,
  Japanese: (s) => `パスワード：${s}`,
  Russian: (s) => `пароль: ${s}`,
  Korean: (s) => `비밀번호: ${s}`,
  'credential fill': (s) => `protocol=https\nhost=h\nusername=b\npassword=${s}`,
  'mongo shell': (s) => `db.createUser({user:"a",pwd:"${s}"})`,
  'redis conf': (s) => `requirepass ${s}`,
  'redis AUTH': (s) => `AUTH ${s}`,
  ftp: (s) => `USER bob\r\nPASS ${s}\r\n`,
  'ssh key': (s) => `-----BEGIN OPENSSH PRIVATE KEY-----\\n${s}\\n-----END OPENSSH PRIVATE KEY-----`,
  'key DER b64': (s) => `MIIEvQIBADANBgkqhkiG9w0BAQEFAASC${s}${s}${s}${s}`,
  'ssh2 enc': (s) => `---- BEGIN SSH2 ENCRYPTED PRIVATE KEY ----\n${s}\n`,
  putty: (s) => `PuTTY-User-Key-File-3: ssh-rsa\nPrivate-Lines: 1\n${s}${s}\nPrivate-MAC: ${hex(64)}`,
  'aws creds export': (s) => `aws_session_token=${s}`,
  gcp: (s) =>
    `"private_key_id": "${hex(40)}", "private_key": "-----BEGIN PRIVATE KEY-----\\n${s}\\n-----END PRIVATE KEY-----\\n"`,
}

const vendors: Record<string, () => string> = {
  Square: () => `sq0atp-${any(22)}`,
  Facebook: () => `EAAB${any(120)}`,
  'Slack, a browser': () => `xoxc-${any(40)}`,
  PostHog: () => `phx_${any(40)}`,
  Langfuse: () => `pk-lf-${hex(36)}`,
  '1Password': () => `ops_eyJ${any(60)}`,
  Render: () => `rnd_${any(28)}`,
  Vercel: () => `vercel_blob_rw_${any(40)}`,
  Fly: () => `FlyV1 fm2_${any(80)}`,
  Resend: () => `re_${any(8)}_${any(24)}`,
  Twilio: () => `SK${hex(32)}`,
  Mailgun: () => `key-${hex(32)}`,
  Mailchimp: () => `${hex(32)}-us19`,
  Brevo: () => `xkeysib-${hex(64)}-${any(16)}`,
  'New Relic': () => `NRAK-${pick(27, upper + digits)}`,
  HubSpot: () => `pat-na1-${hex(8)}-${hex(4)}-${hex(12)}`,
  Contentful: () => `CFPAT-${any(43)}`,
  Airtable: () => `pat${any(14)}.${hex(64)}`,
  Tavily: () => `tvly-dev-${any(32)}`,
  Firecrawl: () => `fc-${hex(32)}`,
  Jina: () => `jina_${any(60)}`,
  Sourcegraph: () => `sgp_${hex(16)}_${hex(40)}`,
  NuGet: () => `oy2${pick(43, lower + digits)}`,
  Shopify: () => `shptka_${hex(32)}`,
  Apify: () => `apify_api_${any(36)}`,
  Browserbase: () => `bb_live_${any(27)}`,
  Cerebras: () => `csk-${pick(48, lower + digits)}`,
  Fireworks: () => `fw_${any(24)}`,
  Together: () => `tgp_v1_${any(43)}`,
  Cursor: () => `key_${hex(64)}`,
  Buildkite: () => `bkua_${hex(40)}`,
  CircleCI: () => `CCIPAT_${any(22)}_${hex(40)}`,
  Stytch: () => `secret-live-${any(36)}=`,
  Plaid: () => `access-production-${hex(8)}-${hex(4)}-${hex(4)}-${hex(4)}-${hex(12)}`,
  PlanetScale: () => `pscale_tkn_${any(43)}`,
  Neon: () => `napi_${pick(64, lower + digits)}`,
  'Notion, old': () => `secret_${any(43)}`,
  Heroku: () => `HRKU-${any(58)}`,
  Artifactory: () => `cmVmdGtu${any(56)}`,
  Dynatrace: () => `dt0c01.${pick(24, upper)}.${pick(64, upper)}`,
  Octopus: () => `API-${pick(28, upper)}`,
  Asana: () => `1/${pick(16, digits)}:${hex(32)}`,
  Zhipu: () => `${hex(32)}.${any(16)}`,
  Alibaba: () => `LTAI5t${any(18)}`,
  'Linear webhook': () => `lin_wh_${any(40)}`,
  Mapbox: () => `sk.eyJ${any(60)}.${any(22)}`,
}

test('every fresh form is redacted', () => {
  const leaks: string[] = []
  for (const [what, form] of Object.entries(forms))
    for (const length of [12, 20, 40]) {
      const secret = any(length)
      const text = redact(form(secret))
      if ([secret, b64(secret), b64(`bob:${secret}`)].some((one) => text.includes(one)) || !text.includes('[secret: '))
        leaks.push(`${what}: ${text}`)
      if (redact(text) !== text) leaks.push(`${what}, again: ${redact(text)}`)
    }
  for (const [what, form] of Object.entries(vendors))
    for (const around of [
      (s: string) => `use ${s} now`,
      (s: string) => `"${s}"`,
      (s: string) => `x=${s}`,
      (s: string) => `(${s})\n`,
    ]) {
      const secret = form()
      const text = redact(around(secret))
      if (text.includes(secret.slice(-10))) leaks.push(`${what}: ${text}`)
    }
  expect(leaks).toEqual([])
})

test('what only looks alike stays to the letter', () => {
  const readable = [
    'the password is required',
    'the password is too short',
    'your token is invalid',
    'use password authentication',
    'token is expired since 2026',
    'Password for user bob:',
    'enter the password twice',
    'a secret to everybody',
    'the secret to success',
    'reset the password for bob@example.com',
    'CREATE USER bob',
    'ALTER TABLE users ADD password varchar(255)',
    "SELECT password FROM users WHERE id = '1'",
    'IDENTIFIED BY PASSWORD',
    '<name>password</name>',
    '<label>Password</label>',
    '<input type="password" name="password">',
    '<string>hello</string>',
    '<title>Secrets of the sea</title>',
    'name: build\nvalue: 3',
    '{"name":"PORT","value":"8080"}',
    '- name: PATH\n  value: /usr/bin',
    '<add key="Theme" value="dark" />',
    'description: |\n  A long text\n  about passwords\nport: 1',
    'script: >-\n  npm test',
    'src/a.ts:1234:5:error:Something1Else',
    'localhost:5432:db:bob:',
    '127.0.0.1:8080',
    'at 12:3456:78',
    'login bob',
    'PASS all tests',
    'AUTH required',
    'PASS test/a.test.ts',
    '✓ PASS 12',
    'AUTH LOGIN',
    '密码是什么？',
    '忘记密码：点击这里',
    'パスワードを入力してください',
    'пароль забыт',
    'mot de passe oublié',
    'la contraseña es obligatoria',
    'ENV NODE_ENV production',
    'set -x',
    'set -e PATH',
    'setenv PATH /usr/bin',
    'fly secrets list',
    'gh secret list',
    'gh secret set API_TOKEN',
    'net use',
    'net user',
    'curl -b cookies.txt https://x.io',
    'http -A bearer https://x.io',
    'aws ssm get-parameter --name x',
    're_export',
    'key-value-store',
    'fc-list : family',
    'API-DESIGN-GUIDELINES',
    'access-control-allow-origin',
    'pat-a-cake',
    'phc_',
    'fw_printenv',
    'secret_santa_list',
    'jina_embeddings',
    'SKILLS',
    'AAAAAAAAAAAAAAAAAAAAAAAA',
    'MIIT license',
    'snyk_test',
    `const sha = "${hex(40)}"`,
    `uuid ${hex(8)}-${hex(4)}-${hex(4)}-${hex(4)}-${hex(12)}`,
    `etag "${hex(32)}"`,
    `file.${hex(32)}.js`,
    `${hex(32)}.chunk.js`,
    `data:font/woff2;base64,d09GMg${any(80)}`,
    'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJ bob@host',
    'psk: Pressestelle Köln',
    'assertion failed: x === y',
    'AssertionError: expected 1 to be 2',
  ]
  expect(readable.map((text) => redact(text))).toEqual(readable)
})

test('our own source and docs stay as readable as they are', () => {
  const root = new URL('../../', import.meta.url).pathname
  const hit: string[] = []
  for (const folder of ['docs', 'docs/decisions', 'src/kernel', 'src/stores', 'src/surfaces/mcp', 'src/host'])
    for (const name of readdirSync(root + folder).filter((one) => /^(?!credentials|.*\.test\.).*\.(?:md|ts)$/.test(one)))
      for (const line of readFileSync(`${root}${folder}/${name}`, 'utf8').split('\n'))
        if (redact(line) !== line) hit.push(`${folder}/${name}: ${redact(line).trim()}`)
  expect(hit).toEqual([])
})

test('a text of nothing but beginnings is looked through once', () => {
  // Not measured: work that grows with the square of these would not end within the limit of a test.
  for (const part of [
    'name: password value',
    '<password>',
    'password: |\n  ',
    'login a password ',
    'token is ',
    'WIFI:',
    '---- BEGIN SSH2 PRIVATE KEY ----\n',
    "password for 'a",
    'a:5432:b:',
    'Private-Lines: 9\n',
    '密码是',
    'MIIEvQIBADANBgkqhkiG',
  ])
    expect(redact(part.repeat(Math.ceil(400_000 / part.length))).length, part).toBeGreaterThan(0)
})
