/** DynamoDB's limits, by its documentation and by DynamoDB Local. */
export const DYNAMODB = { bytes: 4096, operators: 300, itemBytes: 409_600 }

/**
 * What DynamoDB counts as operators and functions, read off the text: every comparison, conjunction, negation and
 * function, and in updates every `+` and `-`. It parses the text and does not know how the expression was made.
 */
export function operatorsIn(expression: string, kind: 'condition' | 'update'): number {
  const words = expression.match(/:\w+|\w+|<>|<=|>=|[=<>+-]/g) ?? []
  const isFunction = (word: string) =>
    /^(attribute_(not_)?exists|attribute_type|begins_with|contains|size|if_not_exists|list_append)$/.test(word)
  const isOperator = (word: string) =>
    kind === 'condition' ? /^(AND|OR|NOT|BETWEEN|IN|<>|<=|>=|[=<>])$/.test(word) : word === '+' || word === '-'
  return words.filter((word) => isFunction(word) || isOperator(word)).length
}
