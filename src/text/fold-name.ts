/** One spelling for all spellings a file system may take for the same name: letter case, Unicode form, invisible characters, trailing dots, streams. */
export function foldName(name: string): string {
  const plain = /^[\x21-\x7e]*$/.test(name)
    ? name
    : name
        .normalize('NFKC')
        .replace(/\p{Default_Ignorable_Code_Point}/gu, '')
        .normalize('NFC')
  return plain
    .toLowerCase()
    .replace(/:.*$/s, '')
    .replace(/[. ]+$/, '')
}

/** The same for a whole path. */
export function foldPath(path: string): string {
  return path.split('/').map(foldName).join('/')
}
