import { Stack } from 'aws-cdk-lib'
import type { IConstruct } from 'constructs'

/**
 * The largest template, in bytes. "1 MB" is decimal: CloudFormation's own error says 1000000.
 *
 * @see https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/cloudformation-limits.html
 */
const MAX_TEMPLATE_BYTES = 1_000_000

/** Why the template of an API's stack is too large with the API's document, at the end of the synth. */
export function tooLargeFor(api: IConstruct, document: unknown): string[] {
  const stack = Stack.of(api)
  const { _suppressTemplateIndentation: isCompact } = stack as unknown as {
    readonly _suppressTemplateIndentation?: boolean
  }
  const template = (stack as unknown as { _toCloudFormation(): object })._toCloudFormation()
  const bytes = sizeOf(template, isCompact ?? false)
  if (bytes <= MAX_TEMPLATE_BYTES) return []
  const hint = sizeOf(template, true) <= MAX_TEMPLATE_BYTES ? ': set suppressTemplateIndentation of the stack' : ''
  return [
    `the template of ${stack.node.path} must have at most ${MAX_TEMPLATE_BYTES} bytes, got ${bytes} with the document of ` +
      `${api.node.path}, which takes ${sizeOf(document, isCompact ?? false)} in it${hint || OTHERWISE}`,
  ]
}

const OTHERWISE =
  ': take descriptions and examples out of the document, move the API into a stack of its own, or leave the document in S3 ' +
  'and name the authorizer there, see docs/deploy.md'

/** As the CDK writes it. */
const sizeOf = (value: unknown, isCompact: boolean): number =>
  Buffer.byteLength(JSON.stringify(value, undefined, isCompact ? undefined : 1))
