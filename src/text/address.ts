/** An address of the web on hosts that are allowed, without a name and password in it; anything else is none. */
export function isWebAddress(text: string, allows: (url: URL) => boolean): boolean {
  if (!URL.canParse(text)) return false
  const url = new URL(text)
  return /^https?:$/.test(url.protocol) && url.username === '' && url.password === '' && allows(url)
}
