// What of other people's work is in the bundles, with the words its licences ask to be passed on.
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

/** The folder of the package that a module of a bundle belongs to; nothing for our own. */
function packageOf(id) {
  const at = id.lastIndexOf('/node_modules/')
  if (at < 0) return undefined
  const [scope, name] = id.slice(at + '/node_modules/'.length).split('/')
  return join(id.slice(0, at), 'node_modules', scope.startsWith('@') ? `${scope}/${name}` : scope)
}

/** The text of THIRD-PARTY-NOTICES.txt for these modules. Throws where a licence is not one that a bundle may be made of. */
export function noticesFor(modules) {
  const folders = [...new Set(modules.flatMap((id) => packageOf(id.replace(/^\0/, '').replace(/\?.*$/, '')) ?? []))].sort()
  const wordsIn = (folder, pattern) =>
    readdirSync(folder)
      .filter((name) => pattern.test(name))
      .sort()
      .map((name) => readFileSync(join(folder, name), 'utf8').trim())
  const packages = folders
    .filter((folder) => existsSync(join(folder, 'package.json')))
    .map((folder) => {
      const { name, version, license, author } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))
      if (!/MIT|ISC|Apache-2\.0|BSD|BlueOak/.test(String(license))) throw new Error(`${name} has the licence ${license}`)
      const by = typeof author === 'object' ? author?.name : author
      return { name, version, license, by, words: wordsIn(folder, /^(?:licen[cs]e|notice|copying)(?:\.|$)/i) }
    })
  // Some packages leave the text out; that of the Apache licence is the same in all.
  const apache = packages.flatMap(({ words }) => words).find((text) => /Apache License\s+Version 2\.0/.test(text))
  const sections = packages.map(({ name, version, license, by, words }) => {
    const own = words.length > 0 ? words : license === 'Apache-2.0' && apache ? [apache] : [`Licence: ${license}.`]
    return [`${name} ${version} (${license})${by ? `, ${by}` : ''}`, ...own].join('\n\n')
  })
  return `Handrail is bundled with parts of the packages below. Each stands under its own licence.\n\n${sections.join(`\n\n${'-'.repeat(80)}\n\n`)}\n`
}
