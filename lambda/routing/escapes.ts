/** Whether a path has something to decode. */
export const hasEscape = (path: string): boolean => /%[0-9a-f]{2}/i.test(path)

/**
 * Decodes escapes that a path needs, such as `%20` and `%C3%A9`, since they are not another spelling of it. A slash
 * stays encoded, because encoded it separates no segments, and so do `\`, `?` and `#`, and a `%` that would begin an
 * escape.
 */
export const decodeNeeded = (path: string): string =>
  unescaped(path, (character, written, after) => {
    if (character === '/') return '%2F'
    return /[\w.~!$&'()*+,;=:@\\?#-]/.test(character) || (character === '%' && /[0-9a-f]{2}/i.test(after))
      ? written
      : character
  })

/** Decodes as a backend does that splits at slashes first. */
export const decodeSegments = (path: string): string =>
  unescaped(path, (character) => (character === '/' ? '%2F' : character))

/** Decodes as a backend does that splits at slashes afterwards. */
export const decodeWhole = (path: string): string => unescaped(path, (character) => character)

/** @param after the two characters behind it, or fewer at the end. */
type Unescape = (character: string, written: string, after: string) => string

/** Decodes once: the result is not decoded again. Bytes of invalid UTF-8 stay as they are. */
function unescaped(path: string, one: Unescape): string {
  if (!path.includes('%')) return path
  return path.replace(/%([0-7][0-9a-f])|(?:%[89a-f][0-9a-f])+/gi, (written, ascii: string | undefined, at: number) => {
    if (ascii === undefined) return decodedOr(written)
    return one(String.fromCharCode(Number.parseInt(ascii, 16)), written, path.slice(at + 3, at + 5))
  })
}

/** Invalid UTF-8 stays encoded, in one spelling. */
function decodedOr(written: string): string {
  try {
    return decodeURIComponent(written)
  } catch {
    return written.toUpperCase()
  }
}

/** A pattern's literal in the form in which paths are compared with it: escapes are decoded, except that of a slash. */
export const literalOf = (name: string): string => decodeSegments(name)
