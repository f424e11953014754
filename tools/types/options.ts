import type typescript from 'typescript'

/**
 * The options of what these files export: optional fields of what a program passes to their functions, constructors and
 * methods.
 *
 * @param isOwn whether a file is of the package, and not of a library.
 */
export function optionsOfExports(
  ts: typeof typescript,
  program: typescript.Program,
  files: readonly string[],
  isOwn: (file: string) => boolean,
): typescript.PropertySignature[] {
  const checker = program.getTypeChecker()
  const found = new Set<typescript.PropertySignature>()
  const seen = new Set<typescript.Type>()

  function visitPassed(type: typescript.Type): void {
    if (seen.has(type)) return
    seen.add(type)
    for (const part of partsOf(type)) visitPassed(part)
    for (const property of ownPropertiesOf(type)) {
      const [declaration] = property.declarations!
      if (!ts.isPropertySignature(declaration!)) continue
      if (declaration.questionToken) found.add(declaration)
      visitPassed(checker.getTypeOfSymbol(property))
    }
  }

  function visitCalled(type: typescript.Type): void {
    for (const signature of [...type.getCallSignatures(), ...type.getConstructSignatures()])
      for (const parameter of signature.getParameters()) visitPassed(checker.getTypeOfSymbol(parameter))
  }

  const partsOf = (type: typescript.Type): readonly typescript.Type[] => [
    ...(type.isUnionOrIntersection() ? type.types : []),
    ...(type.flags & ts.TypeFlags.Object ? checker.getTypeArguments(type as typescript.TypeReference) : []),
    ...[(type.isTypeParameter() && type.getConstraint()) || []].flat(),
  ]
  const ownPropertiesOf = (type: typescript.Type): readonly typescript.Symbol[] =>
    type.flags & ts.TypeFlags.Object
      ? type.getProperties().filter(({ declarations: [one] = [] }) => one && isOwn(one.getSourceFile().fileName))
      : []

  for (const file of files) {
    const exported = checker.getExportsOfModule(checker.getSymbolAtLocation(program.getSourceFile(file)!)!)
    for (const symbol of exported) {
      visitCalled(checker.getTypeOfSymbol(symbol))
      for (const property of ownPropertiesOf(checker.getDeclaredTypeOfSymbol(symbol)))
        if (property.flags & ts.SymbolFlags.Method) visitCalled(checker.getTypeOfSymbol(property))
    }
  }
  return [...found]
}

/** Whether a program with `exactOptionalPropertyTypes` can pass a value there that may be absent. */
export function takesUndefined(ts: typeof typescript, { type }: { readonly type?: typescript.TypeNode }): boolean {
  const { UndefinedKeyword, UnknownKeyword } = ts.SyntaxKind
  return (
    type === undefined ||
    [UndefinedKeyword, UnknownKeyword].some((kind) => type.kind === kind) ||
    (ts.isUnionTypeNode(type) && type.types.some((one) => takesUndefined(ts, { type: one })))
  )
}
