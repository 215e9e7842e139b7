/**
 * The MCP SDK makes a schema of every type of the specification when it is loaded, those of OAuth among them, and lists them all for whoever
 * wants to check one by name. Nobody here does, and it is a sixth of a start: without the list, and told that making a schema does nothing
 * else, the bundler leaves out what is not used. What is used is made as before.
 */
export const leanSdk = {
  name: 'lean-sdk',
  transform: {
    filter: { id: [/@modelcontextprotocol[\\/](?:core|server)[\\/]dist[\\/]/, /[\\/]src[\\/]/] },
    handler(code, id) {
      if (!id.includes('@modelcontextprotocol')) {
        if (/\b(?:isSpecType|specTypeSchemas)\b/.test(code))
          throw new Error(`${id} checks a type of the SDK by name: that list is left out here`)
        return
      }
      let lean = code
      for (const statement of this.parse(code).body.toReversed())
        for (const { start, end, text } of changesTo(statement, code)) lean = `${lean.slice(0, start)}${text}${lean.slice(end)}`
      return { code: lean, map: null }
    },
  },
  generateBundle(_, bundle) {
    // An SDK that is built otherwise would be as slow as before without a word.
    for (const { fileName, code } of Object.values(bundle))
      if (code?.includes('code_challenge_methods_supported'))
        throw new Error(`${fileName} holds schemas of OAuth again: scripts/lean-sdk.mjs no longer fits the SDK`)
  },
}

function changesTo(statement, code) {
  const { type, start, end } = statement
  if (type === 'ForOfStatement' && /\bregister\(/.test(code.slice(start, end))) return [{ start, end, text: '' }]
  if (type !== 'VariableDeclaration') return []
  return statement.declarations
    .toReversed()
    .flatMap(({ init }) =>
      init?.type === 'CallExpression'
        ? [{ start: init.start, end: init.end, text: `/* @__PURE__ */ (() => ${code.slice(init.start, init.end)})()` }]
        : [],
    )
}
