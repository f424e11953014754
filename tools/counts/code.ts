import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import ts from 'typescript'
import { importsOf } from './imports'

/** Files below a folder whose paths match, as paths from there; not those of packages and of builds. */
export function filesIn(folder: string, pattern: RegExp): string[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .map((path) => path.replaceAll('\\', '/'))
    .filter((path) => pattern.test(path) && !/(^|\/)(node_modules|dist)\//.test(path))
    .sort()
}

/** Every line, blank ones and comments too. */
export const linesOf = (text: string): number => text.match(/[^\n]*\n|[^\n]+$/g)?.length ?? 0

/** What stands between white space and has a letter or a digit. */
export const wordsIn = (text: string): number => text.split(/\s+/).filter((word) => /[\p{L}\p{N}]/u.test(word)).length

/** How many nodes of a file are what is looked for. */
function countNodes(path: string, text: string, isFound: (node: ts.Node) => boolean): number {
  let found = 0
  const visit = (node: ts.Node): void => {
    if (isFound(node)) found++
    node.forEachChild(visit)
  }
  visit(ts.createSourceFile(path, text, ts.ScriptTarget.ES2023, true))
  return found
}

/** Functions, methods and constructors with a body that take more than so many parameters. */
export const functionsAbove = (parameters: number, path: string, text: string): number =>
  countNodes(
    path,
    text,
    (node) =>
      ts.isFunctionLike(node) && 'body' in node && node.body !== undefined && node.parameters.length > parameters,
  )

/** Loops that wait in their body for a call that has a `deadline`: each may send what it sends again. */
export const loopsUnderDeadline = (path: string, text: string): number =>
  countNodes(path, text, (node) => ts.isIterationStatement(node, false) && waitsUnderDeadline(node.statement))

function waitsUnderDeadline(node: ts.Node): boolean {
  if (ts.isFunctionLike(node) || ts.isIterationStatement(node, false)) return false
  return (
    (ts.isAwaitExpression(node) && hasDeadline(node.expression)) ||
    node.forEachChild((child) => waitsUnderDeadline(child) || undefined) === true
  )
}

/** Whether a call is passed a deadline, or is one of its own methods. */
function hasDeadline(node: ts.Node): boolean {
  if (ts.isFunctionLike(node)) return false
  if (ts.isCallExpression(node)) {
    const owner = ts.isPropertyAccessExpression(node.expression) ? [node.expression.expression] : []
    if ([...owner, ...node.arguments].some((one) => ts.isIdentifier(one) && one.text === 'deadline')) return true
  }
  return node.forEachChild((child) => hasDeadline(child) || undefined) === true
}

/** Lines that begin a call of `it` or `test`, so that a table of cases counts once. */
export const testsIn = (text: string): number =>
  text.match(/^ *(it|test)(\.(only|skip|concurrent|failing|each))*[(<`]/gm)?.length ?? 0

/** The files of other rooms that the files of a room import, types alone too: each as often as it is imported. */
export function importedFrom(root: string, room: string, others: readonly string[]): string[] {
  return filesIn(join(root, room), /\.ts$/).flatMap((path) => {
    const file = join(root, room, path)
    return importsOf(file)
      .filter(({ specifier }) => specifier.startsWith('.'))
      .map(({ specifier }) => relative(root, join(dirname(file), specifier)).replaceAll('\\', '/'))
      .filter((imported) => others.some((other) => imported === other || imported.startsWith(`${other}/`)))
  })
}

export const textOf = (...path: string[]): string => readFileSync(join(...path), 'utf8')
