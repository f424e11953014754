import { Annotations, CfnResource } from 'aws-cdk-lib'
import { CfnVPC, CfnVPCEndpoint, type IVpc, type SubnetSelection } from 'aws-cdk-lib/aws-ec2'
import type { Construct } from 'constructs'
import { isResource } from './protect/is-resource'
import { synthesised } from './protect/synthesised'

/**
 * Warns of a VPC of the app that has no endpoint for DynamoDB: without a NAT gateway no decision reaches the table, and
 * with one each costs its price. Endpoints of an imported VPC cannot be checked.
 */
export function warnOfMissingEndpoint(scope: Construct, vpc: IVpc | undefined): void {
  if (!vpc || !isResource(vpc.node.defaultChild, CfnVPC.CFN_RESOURCE_TYPE_NAME)) return
  const isEndpoint = (node: unknown) =>
    CfnResource.isCfnResource(node as CfnResource) &&
    isResource(node, CfnVPCEndpoint.CFN_RESOURCE_TYPE_NAME) &&
    (node as CfnVPCEndpoint).vpcId === vpc.vpcId &&
    JSON.stringify(synthesised(node as CfnVPCEndpoint).ServiceName ?? '').includes('dynamodb')
  if (vpc.node.root.node.findAll().some(isEndpoint)) return
  Annotations.of(scope).addWarningV2(
    'sluice:vpc-endpoint',
    `vpc has no endpoint for DynamoDB (${vpc.node.path}): the authorizer reaches its tables through a NAT gateway, at its price, or not at all. ` +
      `Add vpc.addGatewayEndpoint('DynamoDb', { service: GatewayVpcEndpointAwsService.DYNAMODB })`,
  )
}

/** Where functions run. */
interface FunctionPlace {
  readonly vpc?: IVpc
  readonly vpcSubnets?: SubnetSelection
}

/** Warns of checks of a deployment that call AWS from subnets without a route out of their VPC. */
export function warnOfUnreachableChecks(
  scope: Construct,
  { vpc, vpcSubnets }: FunctionPlace,
  { ofTables, ofCallers }: { readonly ofTables: boolean; readonly ofCallers: boolean },
): void {
  if (!vpc) return
  const isolated = new Set(vpc.isolatedSubnets)
  if (!vpc.selectSubnets(vpcSubnets).subnets.every((subnet) => isolated.has(subnet))) return
  if (ofTables)
    Annotations.of(scope).addWarningV2(
      'sluice:check-network',
      `vpc has no way out of its subnets (${vpc.node.path}): a deployment asks CloudFormation whether it leaves a config table behind, and where it cannot, it fails. ` +
        "Add an interface endpoint for CloudFormation, or set configTableLoss: 'accept'",
    )
  if (!ofCallers) return
  Annotations.of(scope).addWarningV2(
    'sluice:guard-network',
    `vpc has no way out of its subnets (${vpc.node.path}): with invokeRole the deletion guard asks API Gateway who calls the limiter, and where it cannot, ` +
      'the stack is neither deleted nor rolled back after a failed first deployment. Give it a way to API Gateway’s control plane, or set deletionGuard: false',
  )
}
