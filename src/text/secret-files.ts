import { foldName } from './fold-name.ts'

/** Files that hold credentials, by name. `*` stands for any part of one name; a pattern of two names means the second inside the first. */
export interface SecretRow {
  /** What they are, as a refusal says it. */
  says: string
  files: readonly string[]
}

/** Out of reach of every tool, program, preview and search, at any depth. A person can let one through for a session. */
export const deniedSecrets: readonly SecretRow[] = [
  { says: 'values of an environment, which often are keys', files: ['.env', '.env.*', '.env-*', '.env_*', '*.env', '.envrc'] },
  { says: 'settings of a package registry with its token', files: ['.npmrc', '.pypirc'] },
  { says: 'logins for other machines', files: ['.netrc', '_netrc', '.git-credentials'] },
  { says: 'a private key or certificate', files: ['*.pem', '*.key'] },
  { says: 'a private key for SSH', files: ['id_rsa*', 'id_dsa*', 'id_ecdsa*', 'id_ed25519*'] },
  { says: 'keys of a cloud, a cluster or a machine', files: ['.aws', '.ssh', '.kube', '.docker/config.json'] },
  { says: 'a safe of passwords', files: ['*.kdbx'] },
  { says: 'a repository of Fossil with its logins', files: ['*.fossil'] },
  {
    says: 'the key of a service account',
    files: ['*service-account*.json', '*service_account*.json', '*serviceaccount*.json'],
  },
]

/** May hold credentials and may be anything: said where a person looks, in the way of nobody. Games have odd file names. */
export const markedSecrets: readonly SecretRow[] = [
  {
    says: 'may hold secrets of an application',
    files: [
      '.dev.vars',
      'local.settings.json',
      'secrets.yml',
      'secrets.yaml',
      'secrets.json',
      'secrets.toml',
      'appsettings.*.json',
      'master.key',
      'credentials*.json',
      'client_secret*.json',
      'auth.json',
      'oauth_creds.json',
      '.credentials.json',
      '*.har',
    ],
  },
  {
    says: 'may hold keys',
    files: [
      '*.p12',
      '*.pfx',
      '*.p8',
      '*.jks',
      '*.keystore',
      '*.ppk',
      '*.asc',
      '*.gpg',
      '*.ovpn',
      '*.keychain-db',
      'key.properties',
    ],
  },
  {
    says: 'may hold keys of a cloud or of infrastructure',
    files: [
      '*kubeconfig*',
      '*.tfstate*',
      '*.tfvars',
      'credentials.tfrc.json',
      '.vault-token',
      '.vault_pass*',
      '.azure',
      '.azure/*',
      'gcloud/*',
    ],
  },
  {
    says: 'may hold the token of a package registry',
    files: [
      '.yarnrc.yml',
      'pip.conf',
      'nuget.config',
      '.cargo/credentials*',
      '.m2/settings.xml',
      'gradle.properties',
      'gh/hosts.yml',
    ],
  },
  {
    says: 'may hold passwords or private data',
    files: [
      '.pgpass',
      '.my.cnf',
      '*.sql',
      '*.dump',
      '*_history',
      '.htpasswd',
      'wp-config.php',
      'database.yml',
      'Cookies',
      'Login Data',
    ],
  },
]

/**
 * What toolchains and their neighbours keep beside themselves. Where a folder outside of the project is shown to programs it is
 * hidden as what is denied is: nobody there needs it to work.
 */
const toolSecrets: readonly SecretRow[] = [
  {
    says: 'the token of a package registry',
    files: [
      '.cargo/credentials*',
      'cargo/credentials*',
      'etc/npmrc',
      '.yarnrc',
      '.yarnrc.yml',
      'pip.conf',
      'nuget.config',
      '.m2/settings*.xml',
      '.gradle/gradle.properties',
      '.gem/credentials',
      '.bundle/config',
      'composer/auth.json',
      '.composer/auth.json',
    ],
  },
  {
    says: 'a sign-in',
    files: [
      'gh/hosts.yml',
      '.config/gcloud',
      '.azure',
      '.oci',
      '.gnupg',
      '.password-store',
      '.vault-token',
      'credentials.tfrc.json',
      '.pgpass',
      '.my.cnf',
      '.htpasswd',
      '.credentials.json',
      'oauth_creds.json',
      '.codex/auth.json',
      'Cookies',
      'Login Data',
      '*_history',
    ],
  },
]

/** A pattern of an environment for readers, and the public half of a key. */
const harmless = /^\.env[._-](?:.*[._-])?(?:example|sample|template)$|^id_.*\.pub$/s
/** What editors and people add to the name of a copy. */
const copies = /(?:~|\.(?:bak|backup|old|orig|save|sav|swp|swo|tmp|copy))+$/s

const denied = compileRows(deniedSecrets)
const marked = compileRows(markedSecrets)
const ofTools = compileRows(toolSecrets)

/** What the last name of a path holds by the list of what is denied; nothing where it is not on it. */
export function secretAt(names: readonly string[]): string | undefined {
  const name = foldName(names.at(-1) ?? '').replace(copies, '')
  const says = denied(name, names)
  return says !== undefined && harmless.test(name) ? undefined : says
}

/** The names that would be denied in a folder for its own name. */
export function secretsIn(names: readonly string[]): string[] {
  const folder = foldName(names.at(-1) ?? '')
  return deniedSecrets.flatMap(({ files }) =>
    files.flatMap((file) => (file.startsWith(`${folder}/`) ? [file.slice(folder.length + 1)] : [])),
  )
}

/** The same by the list of what toolchains keep beside themselves. */
export function secretOfToolAt(names: readonly string[]): string | undefined {
  return ofTools(foldName(names.at(-1) ?? '').replace(copies, ''), names)
}

/** The same for any name on the way. */
export function secretOn(names: readonly string[]): string | undefined {
  for (let length = 1; length <= names.length; length++) {
    const says = secretAt(names.slice(0, length))
    if (says !== undefined) return says
  }
  return undefined
}

/** What a file may hold that is marked only. */
export function mayBeSecret(names: readonly string[]): string | undefined {
  const name = foldName(names.at(-1) ?? '')
  return /\.(example|sample|template|dist)$/.test(name) ? undefined : marked(name, names)
}

/** The beginnings that Windows makes short names of, and which are no short names themselves. */
export const secretStems: readonly string[] = deniedSecrets.flatMap(({ files }) =>
  files.flatMap((file) => (file.startsWith('*') ? [] : [file.split('/')[0]?.replace(/\*.*$/, '') ?? ''])),
)

function compileRows(rows: readonly SecretRow[]): (name: string, names: readonly string[]) => string | undefined {
  const single = rows.map(({ says, files }) => ({ says, fits: oneOf(files.filter((file) => !file.includes('/'))) }))
  const any = new RegExp(single.map(({ fits }) => `(?:${fits.source})`).join('|'), 's')
  const pairs = rows.flatMap(({ says, files }) =>
    files.flatMap((file) => {
      const [folder, name] = file.split('/')
      return name === undefined ? [] : [{ says, folder: foldName(folder as string), fits: oneOf([name]) }]
    }),
  )
  return (name, names) => {
    if (any.test(name)) return single.find(({ fits }) => fits.test(name))?.says
    if (names.length < 2) return undefined
    return pairs.find(({ folder, fits }) => fits.test(name) && foldName(names.at(-2) as string) === folder)?.says
  }
}

function oneOf(files: readonly string[]): RegExp {
  if (files.length === 0) return /(?!)/
  const each = files.map((file) =>
    file
      .toLowerCase()
      .replace(/[.+^${}()|[\]\\]/g, '\\$&')
      .replaceAll('*', '.*'),
  )
  return new RegExp(`^(?:${each.join('|')})$`, 's')
}
