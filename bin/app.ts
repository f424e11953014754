import { App, Validations } from 'aws-cdk-lib'
import { AwsSolutionsChecks } from 'cdk-nag'
import { SluiceStack } from '../lib/sluice-stack'

const app = new App()
Validations.of(app).addPlugins(new AwsSolutionsChecks(app))
new SluiceStack(app, 'Sluice')
