import type { Parse, ToRequest } from './to-request'

const LINE = /^\s*<{1,2}request[\s>]/
/** An element with nothing but text; the page on WebSocket APIs doubles the brackets. */
const ELEMENT = /<{1,2}([A-Za-z][\w.-]*)>{1,2}([^<]*)<{1,2}\/\1>{1,2}/g

/** Whether a line looks like what API Gateway calls XML. */
export const isXml = (text: string): boolean => LINE.test(text)

/**
 * Reads a line of XML: an element for each field. API Gateway escapes nothing, so a line that has a name twice is
 * refused.
 */
export function xmlLine(toRequest: ToRequest): Parse {
  return (text) => {
    if (!isXml(text)) return 'it is no <request> of XML'
    const fields = new Map<string, string>()
    for (const [, name = '', value = ''] of text.matchAll(ELEMENT)) {
      if (fields.has(name)) return `it has ${JSON.stringify(name.slice(0, 40))} twice`
      fields.set(name, value)
    }
    return toRequest((name) => fields.get(name))
  }
}
