import { readFileSync } from 'node:fs'
import { Stack } from 'aws-cdk-lib'
import type { CfnRestApi, SpecRestApi } from 'aws-cdk-lib/aws-apigateway'
import type { IConstruct } from 'constructs'
import { parse } from 'yaml'
import { ConfigError, invalidValue, Mistake } from '../../limiter/errors'

/**
 * The document of an API as the app has it: inline, or in the file of an asset, JSON or YAML.
 *
 * @param fragment what to put into a document that is elsewhere.
 * @throws ConfigError for a document in a bucket, and a file that is neither JSON nor YAML.
 */
export function definitionOf(api: SpecRestApi, fragment: () => string): unknown {
  const { body, bodyS3Location } = api.node.defaultChild as CfnRestApi
  if (!bodyS3Location) return body
  const file = assetFile(api, bodyS3Location)
  if (file === undefined)
    throw invalidValue(
      `protect() needs a document that the synth can read, inline or from a local file, got one in a bucket (${api.node.path}): ` +
        unreadableHelp(fragment()),
    )
  try {
    return parse(readFileSync(file, 'utf8'), { merge: true, logLevel: 'error' })
  } catch (error) {
    const reason = (error as Error).message.split('\n')[0]
    throw new ConfigError([
      new Mistake('invalid_file', `the document of ${api.node.path} must be JSON or YAML: ${reason} (${file})`),
    ])
  }
}

/** What to do about a document that the synth cannot read. */
export const unreadableHelp = (fragment: string): string =>
  'leave protect() out, put this into the document, and let the API call the function, ' +
  `see "OpenAPI, SAM and the Serverless Framework" in docs/deploy.md\n${fragment}`

/** The file of the asset at a place in S3; undefined if no asset of the app is there. */
function assetFile(api: SpecRestApi, location: unknown): string | undefined {
  const { key } = Stack.of(api).resolve(location) as { readonly key?: unknown }
  const isThere = (node: IConstruct) => {
    const { s3ObjectKey } = node as IConstruct & { readonly s3ObjectKey?: string }
    return s3ObjectKey !== undefined && key !== undefined && sameValue(api, s3ObjectKey, key)
  }
  const staged = api.node.root.node.findAll().find(isThere)?.node.tryFindChild('Stage')
  return (staged as { readonly absoluteStagedPath?: string } | undefined)?.absoluteStagedPath
}

const sameValue = (api: SpecRestApi, one: unknown, other: unknown) =>
  JSON.stringify(Stack.of(api).resolve(one)) === JSON.stringify(other)
