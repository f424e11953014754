import { readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { Document, isCollection, isMap, isSeq, LineCounter, parseDocument, visit } from 'yaml'
import { checkTiersFile, type TiersFile } from '../../provisioning/tiers-file'
import { failureOf, UserError } from '../exit'
import { ConfigError } from '../facade/values'
import { withLines } from './yaml-lines'

/**
 * Reads and checks a tiers file, YAML or JSON.
 *
 * @throws UserError when it cannot be read or is no YAML, ConfigError with every mistake in it.
 */
export const readTiersFile = (path: string): TiersFile => parseTiers(textOf(path), path)

/**
 * The same of a text that was read already.
 *
 * @param path what to call it.
 */
export function parseTiers(text: string, path: string): TiersFile {
  const lineCounter = new LineCounter()
  const document = parseDocument(text, { prettyErrors: true, lineCounter })
  const [error] = document.errors
  if (error) throw new UserError(`${path}: ${error.message.split('\n')[0]}`)
  const file: unknown = contentOf(document, path)
  if (typeof file !== 'object' || file === null || Array.isArray(file))
    throw new UserError(`${path}: it must have a field "tiers" with tiers by name`)
  checkExported((file as { exported?: unknown }).exported, path)
  try {
    checkTiersFile(file, path)
  } catch (wrong) {
    throw wrong instanceof ConfigError ? withLines(wrong, document, lineCounter) : wrong
  }
  return file as TiersFile
}

/** A file as people would write it: a policy on each line. */
export function toYaml(file: TiersFile): string {
  const document = new Document(file)
  visit(document, {
    Pair(_, { key, value }) {
      if (!isCollection(value)) return undefined
      if (isSeq(value)) for (const one of value.items) if (isMap(one)) one.flow = true
      if ((key as { value?: unknown } | null)?.value === 'by' && isSeq(value)) value.flow = true
      return undefined
    },
  })
  return document.toString({ lineWidth: 0, flowCollectionPadding: true })
}

/**
 * Replaces `exported` in the file and nothing else, atomically.
 *
 * @returns why it failed; `undefined` if it succeeded or the file has no `exported`.
 */
export function stamp(path: string, exported: Readonly<Record<string, string>>): string | undefined {
  try {
    const text = textOf(path)
    const document = parseDocument(text)
    const node = document.get('exported', true)
    if (!isMap(node) || !node.range) return undefined
    const [from, to] = node.range
    const column = from - (text.lastIndexOf('\n', from - 1) + 1)
    const entries = Object.entries(exported).map(([sk, hash]) => `${JSON.stringify(sk)}: ${JSON.stringify(hash)}`)
    const fresh =
      node.flow || entries.length === 0 ? `{ ${entries.join(', ')} }` : entries.join(`\n${' '.repeat(column)}`)
    const next = text.slice(0, from) + fresh + text.slice(to)
    if (next !== text) replace(path, next)
    return undefined
  } catch (error) {
    return failureOf(error).message
  }
}

function replace(path: string, text: string): void {
  const beside = `${path}.${process.pid}.tmp`
  try {
    writeFileSync(beside, text, { mode: statSync(path).mode })
    renameSync(beside, path)
  } finally {
    rmSync(beside, { force: true })
  }
}

function textOf(path: string): string {
  try {
    return readFileSync(path === '-' ? 0 : path, 'utf8')
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    throw new UserError(code === 'ENOENT' ? `there is no file ${path}` : `${path} cannot be read: ${message}`)
  }
}

/** The parser rejects aliases that expand without end. */
function contentOf(document: ReturnType<typeof parseDocument>, path: string): unknown {
  try {
    return document.toJS()
  } catch (error) {
    throw new UserError(`${path}: ${(error as Error).message}`)
  }
}

function checkExported(exported: unknown, path: string): void {
  if (exported === undefined) return
  const isRight =
    typeof exported === 'object' &&
    exported !== null &&
    Object.values(exported).every((hash) => typeof hash === 'string')
  if (!isRight)
    throw new UserError(`${path}: exported must be as tiers export wrote it: it is how apply notices others’ edits`)
}
