import { isPlaceholder, isSecretName } from './names.ts'
import { byVerb, endOf, verbPrograms } from './verbs.ts'

/** Where the secret is in the value of a short flag: all of it, or what follows the first of these characters (`user:password`). */
type Part = '' | ':' | '%' | ',' | '='

interface Short {
  /** Programs, by their file name without an ending. */
  programs: string
  /** A word that must be among the first of the command, since the same flag means something else in others. */
  sub?: string
  flags: string
  part?: Part
  /** `-pX` in one word; otherwise the value is the next word. Both where it is `both`. */
  attached?: 'only' | 'both'
}

/** `-p` is a password here and a port there: what a short flag means is known by its program only. */
const shorts: readonly Short[] = [
  { programs: 'curl curlie http https xh xhs httpie', flags: '-u -U --user --proxy-user -a', part: ':', attached: 'both' },
  { programs: 'curl curlie', flags: '-b --cookie', part: '=', attached: 'both' },
  { programs: 'gh', sub: 'secret', flags: '-b --body', attached: 'both' },
  { programs: 'aws', flags: '--secret-string --secret-binary' },
  { programs: 'aws', sub: 'put-parameter', flags: '--value' },
  {
    programs: 'mysql mysqldump mysqladmin mysqlimport mysqlsh mysqlcheck mysqlshow mysqlbinlog mariadb mariadb-dump',
    flags: '-p',
    attached: 'only',
  },
  { programs: 'sshpass', flags: '-p', attached: 'both' },
  { programs: 'docker podman nerdctl buildah skopeo helm crane oras az', sub: 'login', flags: '-p', attached: 'both' },
  { programs: 'oc', sub: 'login', flags: '-p', attached: 'both' },
  { programs: 'redis-cli valkey-cli', flags: '-a' },
  { programs: 'mongo mongosh mongodump mongorestore mongoexport mongoimport', flags: '-p', attached: 'both' },
  { programs: 'cqlsh rabbitmqadmin influx lftp', flags: '-p', attached: 'both' },
  { programs: 'lftp ncftp', flags: '-u', part: ',' },
  { programs: 'ldapsearch ldapmodify ldapadd ldapdelete ldapwhoami ldappasswd', flags: '-w -s', attached: 'both' },
  { programs: 'smbclient rpcclient net smbget', flags: '-U', part: '%', attached: 'both' },
  { programs: 'sqlcmd osql bcp isql', flags: '-P', attached: 'both' },
  { programs: 'zip unzip zipcloak', flags: '-P', attached: 'both' },
  { programs: '7z 7za 7zr 7zz rar unrar', flags: '-p -hp', attached: 'only' },
  { programs: 'openssl', flags: '-passin -passout -pass -k -K -iv', part: '' },
  { programs: 'xfreerdp rdesktop wfreerdp', flags: '/p: -p', attached: 'both' },
  { programs: 'keytool jarsigner apksigner', flags: '-storepass -keypass -srcstorepass -deststorepass' },
  { programs: 'signtool', flags: '/p -p' },
  { programs: 'gpg gpg2', flags: '--passphrase' },
  { programs: 'snmpget snmpwalk snmpset', flags: '-c -A -X' },
  { programs: 'ipmitool', flags: '-P' },
  { programs: 'vncviewer tigervnc', flags: '-passwd' },
  { programs: 'aria2c wget wget2', flags: '--http-passwd --ftp-passwd' },
  { programs: 'twine', sub: 'upload', flags: '-p', attached: 'both' },
  { programs: 'uv poetry vsce ovsx hatch', sub: 'publish', flags: '-p -t', attached: 'both' },
  { programs: 'ssh-keygen', flags: '-N -P', attached: 'both' },
  { programs: 'security', sub: 'add-generic-password', flags: '-w' },
  { programs: 'security', sub: 'add-internet-password', flags: '-w' },
  { programs: 'security', sub: 'unlock-keychain', flags: '-p' },
  { programs: 'security', sub: 'create-keychain', flags: '-p' },
  { programs: 'security', sub: 'import', flags: '-P' },
  { programs: 'dotnet', sub: 'push', flags: '-k' },
  { programs: 'dotnet', sub: 'source', flags: '-p' },
  { programs: 'snowsql cypher-shell', flags: '-p', attached: 'both' },
  { programs: 'mosquitto_pub mosquitto_sub mosquitto_rr', flags: '-P' },
  { programs: 'doctl', sub: 'init', flags: '-t' },
  // What lftp is told in quotes.
  { programs: 'open', flags: '-u', part: ',' },
]

const byProgram = new Map<string, Short[]>()
for (const short of shorts)
  for (const program of short.programs.split(' ')) byProgram.set(program, [...(byProgram.get(program) ?? []), short])

/** A text with none of these words has no short flags to look for. */
export const programNames = [
  ...byProgram.keys(),
  ...verbPrograms,
  'htpasswd',
  'vault',
  'configure',
  'config',
  'sudo',
  'chpasswd',
  'setx',
  'setenv',
  'set',
  'ENV',
  'secret',
  'secrets',
  'stdin',
  '--with-token',
]

/** A secret among words: from this character of the word to its end. */
export interface Found {
  word: number
  from: number
  kind: string
}

/** Which words of a command are secrets by where they stand: `--password X`, `-u user:X`, `htpasswd -b file user X`. */
export function secretsAmong(words: readonly string[]): Found[] {
  const found: Found[] = []
  const add = (word: number, from: number, kind: string): void => {
    const value = (words[word] ?? '').slice(from)
    if (value !== '' && !isPlaceholder(value)) found.push({ word, from, kind })
  }
  words.forEach((word, index) => {
    const flag = /^(--?[A-Za-z][\w.-]{0,80}|\/(?:p|pass|password|token)(?=:))(=|:)?/.exec(word)
    if (!flag) return
    const [all, name = '', sign] = flag
    if (!isSecretFlag(name)) return
    if (sign !== undefined) add(index, all.length, 'value of a flag')
    else if (all.length === word.length && !isFlag(words[index + 1])) add(index + 1, 0, 'value of a flag')
  })
  // Each program once, by its first place: what follows is looked through from there.
  const seen = new Set<string>()
  words.forEach((word, index) => {
    const program = programOf(word)
    if (seen.has(program)) return
    seen.add(program)
    for (const short of byProgram.get(program) ?? []) shortFlags(short, words, index, add)
    byPlace(program, words, index, add)
    byVerb(program, words, index, add)
  })
  positional(words, add)
  return found
}

type Add = (word: number, from: number, kind: string) => void

function shortFlags({ flags, sub, part = '', attached }: Short, words: readonly string[], program: number, add: Add): void {
  if (sub !== undefined && !words.slice(program + 1, program + 5).includes(sub)) return
  for (let index = program + 1; index < words.length; index++)
    for (const flag of flags.split(' ')) {
      const word = words[index] as string
      const value = word === flag && attached !== 'only' ? index + 1 : index
      const lead = value === index ? flag.length : 0
      if (value === index && (attached === undefined || word === flag || !word.startsWith(flag) || flag.startsWith('--')))
        continue
      if (value > index && isFlag(words[value])) continue
      const cut = part === '' ? lead : (words[value] ?? '').indexOf(part, lead) + 1
      if (part === '' || cut > 0) add(value, cut, 'value of a flag')
    }
}

/** Commands that take a secret by its place alone. */
function byPlace(program: string, words: readonly string[], index: number, add: Add): void {
  const last = endOf(words, index) - 1
  if (program === 'htpasswd' && last - index >= 3 && words.slice(index + 1).some((one) => /^-\w*b/.test(one)))
    add(last, 0, 'password')
  if (program === 'vault' && words[index + 1] === 'login' && !isFlag(words[last]) && !(words[last] ?? '').includes('='))
    add(last, 0, 'token')
  if (/^(?:https?|xhs?)$/.test(program) && words.some((one) => /^(?:--auth-type=)?bearer$/.test(one)))
    add(words.findIndex((one, at) => at > index && /^(?:-a|--auth)$/.test(one)) + 1 || -1, 0, 'token')
  // `net user NAME X`, `net use Z: \\\\host\\share X`.
  if (program === 'net' && words[index + 1] === 'user' && !/^[/*]/.test(words[index + 3] ?? '/')) add(index + 3, 0, 'password')
  if (program === 'net' && words[index + 1] === 'use')
    add(
      words.findIndex((one, at) => at > index + 2 && !/^[/\\*]|:$/.test(one)),
      0,
      'password',
    )
}

/** Words that make the one after their name a secret, or the one that follows them. */
function positional(words: readonly string[], add: Add): void {
  const reads = words.some(readsSecret) || putsSecret(words)
  words.forEach((word, index) => {
    // `aws configure set aws_secret_access_key X`, `npm config set //registry/:_authToken X`.
    if (/^(?:set|config|setx|setenv|ENV)$/.test(word)) {
      // `set -gx NAME X`
      const at = word === 'set' && /^-[gUxl]{1,3}$/.test(words[index + 1] ?? '') ? index + 2 : index + 1
      const name = words[at] ?? ''
      if (isSecretName(name.slice(name.lastIndexOf(':') + 1)) && !name.includes('=') && !isFlag(words[at + 1]))
        add(at + 1, 0, 'value of a setting')
    }
    // `fly secrets set NAME=X`, whatever the name is.
    if (word === 'set' && /^secrets?$/.test(words[index - 1] ?? ''))
      for (let at = index + 1; at < words.length; at++)
        if (/^[A-Za-z_]\w*=/.test(words[at] as string)) add(at, (words[at] as string).indexOf('=') + 1, 'value of a setting')
    if (reads && word.startsWith('<<<')) add(word === '<<<' ? index + 1 : index, word === '<<<' ? 0 : 3, 'password')
  })
}

/** `echo X | docker login --password-stdin`: what is handed to such a command is a secret. */
export function isHandedSecret(words: readonly string[], next: readonly string[] | undefined): boolean {
  const program = programOf(words[0] ?? '')
  if (program !== 'echo' && program !== 'printf') return false
  if (!next) return false
  if (putsSecret(next)) return true
  return next.some(readsSecret) || /^(?:chpasswd|passwd)$/.test(programOf(next.find((word) => word !== 'sudo') ?? ''))
}

/** `wrangler secret put NAME`: the secret is read. */
function putsSecret(words: readonly string[]): boolean {
  return words.some((word, at) => /^secrets?$/.test(word) && /^(?:put|set|create)$/.test(words[at + 1] ?? ''))
}

function readsSecret(word: string): boolean {
  return /^--?(?:\w+-)*(?:password|token|secret|pass|pw|passphrase|key)-(?:stdin|fd)$|^--with-token$|^-S$/.test(word)
}

function isSecretFlag(word: string): boolean {
  return /^[-/]/.test(word) && isSecretName(word.replace(/^(?:--?|\/)/, ''))
}

function isFlag(word: string | undefined): boolean {
  return word === undefined || /^--?[A-Za-z][\w-]*(?:=|$)/.test(word)
}

function programOf(word: string): string {
  const name = word.slice(Math.max(word.lastIndexOf('/'), word.lastIndexOf('\\')) + 1)
  return name.replace(/\.(?:exe|cmd|bat|sh)$/i, '')
}
