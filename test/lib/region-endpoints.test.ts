import { DynamoDBClient } from '@aws-sdk/client-dynamodb'
import { defaultEndpointResolver } from '../../lib/authorizer-bundle/region-endpoints'

const credentials = { accessKeyId: 'a', secretAccessKey: 's' }

/** Where the SDK itself would send a request of a Region. */
const sdkEndpoint = (region: string) =>
  new DynamoDBClient({ region, credentials }).config.endpointProvider({ Region: region })

test.each(
  'us-east-1 us-west-2 eu-central-1 ap-southeast-7 me-central-1 mx-central-1 cn-north-1 cn-northwest-1 us-gov-west-1 us-gov-east-1 us-iso-east-1 us-isob-east-1 us-isof-south-1 eu-isoe-west-1 eusc-de-east-1'.split(
    ' ',
  ),
)('the bundle calls DynamoDB of %s where the SDK would', (region) => {
  expect(defaultEndpointResolver({ Region: region }).url.href).toBe(sdkEndpoint(region).url.href)
})

test('the bundle calls a configured endpoint, whatever the Region', () => {
  expect(
    defaultEndpointResolver({ Region: 'eu-west-1', Endpoint: 'http://localhost:8000/', UseFIPS: true }).url.href,
  ).toBe('http://localhost:8000/')
})

test.each([{ UseFIPS: true }, { UseDualStack: true }])(
  'the bundle refuses an unknown endpoint setting: %j',
  (wanted) => {
    expect(() => defaultEndpointResolver({ Region: 'us-east-1', ...wanted })).toThrow(/set SLUICE_DYNAMODB_ENDPOINT/)
  },
)
