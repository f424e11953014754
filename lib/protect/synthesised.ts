import { type CfnResource, Stack } from 'aws-cdk-lib'

/**
 * A resource's properties as they will be in its template, with the changes of aspects and overrides: for checks after
 * all aspects.
 */
export function synthesised(resource: CfnResource): Readonly<Record<string, unknown>> {
  const fragment = (resource as unknown as { _toCloudFormation(): object })._toCloudFormation()
  const { Resources = {} } = Stack.of(resource).resolve(fragment) as {
    readonly Resources?: Readonly<Record<string, { readonly Properties?: Readonly<Record<string, unknown>> }>>
  }
  return Object.values(Resources)[0]?.Properties ?? {}
}
