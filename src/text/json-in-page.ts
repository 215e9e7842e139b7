/** JSON in a page: the same value for whoever parses it, and nothing in it that ends the element it stands in. */
export const jsonInPage = (value: unknown): string =>
  JSON.stringify(value).replaceAll('<', '\\u003c').replaceAll('\u2028', '\\u2028').replaceAll('\u2029', '\\u2029')
