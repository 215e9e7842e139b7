import { createHash } from 'node:crypto'
import { readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { noBrowser } from '../support/chromium.ts'
import { openReader, type Reader } from '../support/read-page.ts'
import { isSoak } from '../support/soak.ts'
import { repository } from '../support/world.ts'

/** Documents of others, what they are in, the beginning of the digest of their text without ids, and some of what they say. */
const documents: Record<string, [language: string, digest: string, ...facts: string[]]> = {
  'apache-da-index.html': [
    'da',
    '6974c21acca6',
    '# Apache HTTP Server Version 2.4 Dokumentation',
    '- [Moduler](/mod/index.html)',
  ],
  'apache-de-mpm.html': [
    'de',
    'af4d3eed6a24',
    '# Multi-Processing-Module (MPMs)',
    '|Netware|[mpm_netware](/mod/mpm_netware.html)',
  ],
  'apache-en-htdigest.html': [
    'en',
    '6555cbbd63fd',
    '# htdigest - manage user files for digest authentication',
    ': The realm name to which the user name belongs.',
  ],
  'apache-es-mpm.html': ['es', '2c195a868deb', 'La extensión del diseño modular', '|Windows|[mpm_winnt](/mod/mpm_winnt.html)'],
  'apache-fr-other.html': ['fr', '9cfea01a722a', '# Autres programmes'],
  'apache-ja-fd-limits.html': [
    'ja',
    'cd08df70f189',
    '# ファイル記述子の限界',
    '1. 利用しているシステムで `setrlimit()` システムコールが提供されていない。',
  ],
  'apache-ko-apachectl.html': ['ko', '9b98e08af7ca', '# apache2ctl - 아파치 웹서버 조절 인터페이스', '성공시 종료코드 0을'],
  'apache-pt-index.html': [
    'pt-br',
    '15d8956df633',
    '# Documentação do Servidor HTTP Apache Versão 2.4',
    '- [Filtros](/filter.html)',
  ],
  'apache-ru-index.html': [
    'ru',
    '467d578991b6',
    '# Apache HTTP Server версия 2.4 Документация',
    '- [Компиляция и установка](/install.html)',
  ],
  'apache-tr-other.html': ['tr', '641ba81e5ec2', '# Diğer Programlar', 'Mevcut Diller: '],
  'apache-zh-mpm.html': ['zh-cn', '1f8b42b88409', '# 多处理模块(MPM)', '|OS/2|[mpmt_os2](/mod/mpmt_os2.html)'],
  'gimp-fa-copy.html': ['', 'ee8a373a23ce', 'through Edit → Copy', '![قبلی]'],
  'gimp-fa-grid.html': ['', '463ef5ea831c', 'شكل 17.375.', 'Spacing\n: Sets the distance between grid lines.'],
  'node-en-synopsis.html': ['en', '1c07dcef2274', '- [Async hooks](/async_hooks.html)', '```'],
  'postgres-en-datatype-boolean.html': [
    '',
    'da9c80c61927',
    '|`boolean`|1 byte|state of true or false|',
    '```\nCREATE TABLE test1 (a boolean, b text);',
  ],
  'postgres-en-datatype-money.html': [
    '',
    'b290de149a2a',
    '|Name|Storage Size|Description|Range|',
    'Floating point numbers should not be used to handle money',
  ],
  'postgres-en-functions-enum.html': [
    '',
    '473f26c83a97',
    "CREATE TYPE rainbow AS ENUM ('red', 'orange', 'yellow', 'green', 'blue', 'purple');",
  ],
  'postgres-en-view-pg-tables.html': [
    '',
    '83f7deefdca1',
    'Table 54.30. `pg_tables` Columns',
    'True if table has (or recently had) any indexes',
  ],
  'sqlite-en-about.html': ['', '393845af43b8', '(2^48 bytes)', '- [Full-featured SQL](/fullsql.html)'],
  'sqlite-en-lang_reindex.html': ['', '2c2e6920932e', '- [Download](/download.html)'],
  'sqlite-en-quickstart.html': ['', '369a1710fbf5', '## Create A New Database', 'sqlite3 db [lindex $argv 0]'],
}

const pinnedWith = '150.'

let reader: Reader
beforeAll(async () => {
  reader = await openReader()
})
afterAll(async () => reader[Symbol.asyncDispose]())

const folder = join(repository, 'test', 'pages')

/** Every word that the driver's snapshot for agents has: not its own syntax, nor addresses. */
function wordsIn(snapshot: string): Set<string> {
  const words = snapshot
    .replace(/^\s*- \/url:.*$/gm, '')
    // What old tables have for people who hear pages: nobody sees it.
    .replace(/^(\s*- '?table) "[^"]*"/gm, '$1')
    .replace(/\[[a-z]+(=[^\]]*)?\]/g, '')
    .replace(/^(\s*- )'?[a-z]+/gm, '$1')
  return new Set(words.match(/[\p{L}\p{N}]{2,}/gu))
}

describe.skipIf(noBrowser !== undefined)('documents nobody here wrote', () => {
  test('are all here', () => {
    expect(readdirSync(folder).filter((name) => name.endsWith('.html'))).toEqual(Object.keys(documents))
    expect(Object.keys(documents).length).toBeGreaterThan(19)
  })

  // Every third in `npm test`.
  const some = Object.entries(documents).filter((_, at) => isSoak || at % 3 === 0)
  for (const [name, [language, digest, ...facts]] of some)
    test(`${name} is read whole, in at most 0.6 of what the driver's own snapshot takes`, async () => {
      const reading = await reader.read(readFileSync(join(folder, name)), {
        type: 'text/html',
        maxChars: 1_000_000,
        linkIds: true,
      })
      const { page } = await reader.visit()
      // It is what Playwright's MCP server answers.
      const snapshot = await page.ariaSnapshot({ mode: 'ai' })
      const text = reading.markdown.replace(/⟦a[0-9a-z]{4}(-\d+)?⟧/g, '').replace(/⟦[a-z][0-9a-z]{4}(-\d+)?/g, '⟦')
      for (const fact of facts) expect(text).toContain(fact)
      const said = reading.markdown + JSON.stringify(reading.elements)
      expect([...wordsIn(snapshot)].filter((word) => !said.includes(word))).toEqual([])
      expect(reading.markdown.length / snapshot.length).toBeLessThanOrEqual(0.6)
      expect(reading.language ?? '').toBe(language)
      // To the letter where the browser is the one they were pinned with: another one may lay a page out otherwise.
      const browser = page.context().browser()?.version() ?? ''
      const found = createHash('sha256').update(text).digest('hex').slice(0, 12)
      if (browser.startsWith(pinnedWith)) expect(found).toBe(digest)
    })
})
