import type typescript from 'typescript'

/**
 * Options that do not take `undefined`: optional fields of what a program passes to functions, constructors and methods
 * that these files export. With `exactOptionalPropertyTypes`, a program cannot pass a value there that may be absent.
 *
 * @param isOwn whether a file is of the package, and not of a library.
 */
export function optionsWithoutUndefined(
  ts: typeof typescript,
  program: typescript.Program,
  files: readonly string[],
  isOwn: (file: string) => boolean,
): typescript.PropertySignature[] {
  const checker = program.getTypeChecker()
  const found = new Set<typescript.PropertySignature>()
  const passed = new Set<typescript.Type>()
  const returned = new Set<typescript.Type>()

  /** What a program passes. */
  function visitPassed(type: typescript.Type): void {
    if (passed.has(type)) return
    passed.add(type)
    for (const part of partsOf(type)) visitPassed(part)
    for (const property of ownPropertiesOf(type)) {
      const declaration = property.declarations?.[0]
      if (declaration && ts.isPropertySignature(declaration)) {
        if (declaration.questionToken && !takesUndefined(declaration.type)) found.add(declaration)
        visitPassed(checker.getTypeOfSymbol(property))
      }
    }
  }

  /** What a program gets: its methods are called. */
  function visitReturned(type: typescript.Type): void {
    if (returned.has(type)) return
    returned.add(type)
    for (const part of partsOf(type)) visitReturned(part)
    for (const property of ownPropertiesOf(type)) visitSignatures(checker.getTypeOfSymbol(property))
  }

  function visitSignatures(type: typescript.Type): void {
    for (const signature of [...type.getCallSignatures(), ...type.getConstructSignatures()]) {
      for (const parameter of signature.getParameters()) visitPassed(checker.getTypeOfSymbol(parameter))
      visitReturned(signature.getReturnType())
    }
  }

  const partsOf = (type: typescript.Type): readonly typescript.Type[] => [
    ...(type.isUnionOrIntersection() ? type.types : []),
    ...(type.flags & ts.TypeFlags.Object ? checker.getTypeArguments(type as typescript.TypeReference) : []),
    ...(type.isTypeParameter() ? [type.getConstraint() ?? []].flat() : []),
  ]
  const ownPropertiesOf = (type: typescript.Type): readonly typescript.Symbol[] =>
    type.flags & ts.TypeFlags.Object
      ? type
          .getProperties()
          .filter(({ declarations = [] }) => declarations.some((one) => isOwn(one.getSourceFile().fileName)))
      : []

  const takesUndefined = (type: typescript.TypeNode | undefined): boolean =>
    type === undefined ||
    type.kind === ts.SyntaxKind.UndefinedKeyword ||
    type.kind === ts.SyntaxKind.UnknownKeyword ||
    (ts.isUnionTypeNode(type) && type.types.some(takesUndefined))

  for (const file of files) {
    const module = checker.getSymbolAtLocation(program.getSourceFile(file)!)!
    for (const symbol of checker.getExportsOfModule(module)) visitSignatures(checker.getTypeOfSymbol(symbol))
  }
  return [...found]
}
