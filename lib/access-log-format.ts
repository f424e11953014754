import { AccessLogFormat } from 'aws-cdk-lib/aws-apigateway'
import { ACCESS_LOG_LINE } from '../provisioning/access-log'

/**
 * The format of an access log that `sluice simulate` replays: a JSON object in one line, with the subject that the
 * authorizer counted, its tier, and the time to the millisecond. No field has an API key, a token or a header.
 *
 * For the `accessLogFormat` of a stage of a `RestApi`, and for `accessLogSettings.format` of an `HttpStage`.
 */
export const accessLogFormat: AccessLogFormat = AccessLogFormat.custom(ACCESS_LOG_LINE)
