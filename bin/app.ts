import { App, Validations } from 'aws-cdk-lib'
import { AwsSolutionsChecks } from 'cdk-nag'
import { SluiceStack } from '../lib/sluice-stack'
import { stackOptionsFrom } from '../lib/stack-options'

const app = new App()
Validations.of(app).addPlugins(new AwsSolutionsChecks(app))
new SluiceStack(app, 'Sluice', stackOptionsFrom(app.node))
