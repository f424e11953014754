// Tells you of customers who near a limit, before they are cut off:
// npm install sluice aws-cdk-lib constructs aws-cdk@2, and npx cdk deploy --app 'node app.mjs'
import { App, CfnOutput, Stack } from 'aws-cdk-lib'
import { LambdaIntegration, RestApi } from 'aws-cdk-lib/aws-apigateway'
import { SnsTopic, SqsQueue } from 'aws-cdk-lib/aws-events-targets'
import { Code, Function as LambdaFunction, Runtime } from 'aws-cdk-lib/aws-lambda'
import { Topic } from 'aws-cdk-lib/aws-sns'
import { Queue } from 'aws-cdk-lib/aws-sqs'
import { RateLimiter } from 'sluice'

const stack = new Stack(new App(), 'Shop')
const backend = new LambdaFunction(stack, 'Backend', {
  runtime: Runtime.NODEJS_24_X,
  handler: 'index.handler',
  code: Code.fromInline(`exports.handler = async () => ({ statusCode: 200, body: 'hello' })`),
})
const api = new RestApi(stack, 'Api')
api.root.addMethod('GET', new LambdaIntegration(backend))

const limiter = new RateLimiter(stack, 'Limiter', { tiersFile: 'tiers.yaml' })
limiter.protect(api)

// A person reads the topic's mails; a program, such as one of a CRM, takes the queue's messages.
const account = new Topic(stack, 'AccountManagers')
const events = new Queue(stack, 'Events')
limiter.addNearingRule({ targets: [new SnsTopic(account), new SqsQueue(events)] })
new CfnOutput(stack, 'EventsUrl', { value: events.queueUrl })
