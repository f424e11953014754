import { Stack, Validations } from 'aws-cdk-lib'
import type { Construct } from 'constructs'

/**
 * Acknowledges for cdk-nag why a policy has wildcards in these resources, with CDKs that have acknowledged findings.
 */
export function acknowledgeWildcards(scope: Construct, resources: readonly string[], reason: string): void {
  for (const resource of resources.filter((one) => one.includes('*')))
    Validations?.of(scope).acknowledge({
      id: `AwsSolutions::AwsSolutions-IAM5[Resource::${textOf(Stack.of(scope).resolve(resource))}]`,
      reason,
    })
}

/** As cdk-nag writes it: `<LimiterAuthorizerHandlerB9B45F76.Arn>:*`, `arn:<AWS::Partition>:apigateway:…`. */
function textOf(resolved: unknown): string {
  if (typeof resolved === 'string') return resolved
  const {
    Ref,
    'Fn::GetAtt': attribute,
    'Fn::Join': join,
  } = resolved as {
    readonly Ref?: string
    readonly 'Fn::GetAtt'?: readonly string[]
    readonly 'Fn::Join'?: readonly [string, readonly unknown[]]
  }
  if (join) return join[1].map(textOf).join(join[0])
  return `<${attribute?.join('.') ?? Ref}>`
}
