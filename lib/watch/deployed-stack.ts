import { Stack } from 'aws-cdk-lib'
import type { IConstruct } from 'constructs'

/** The stack that is deployed by its name: for a nested stack, the outermost. */
export function deployedStackOf(construct: IConstruct): Stack {
  const stack = Stack.of(construct)
  return stack.nestedStackParent ? deployedStackOf(stack.nestedStackParent) : stack
}
