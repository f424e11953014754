// The system as it was: npx cdk deploy --all --app 'node before.mjs'
import { App } from 'aws-cdk-lib'
import { system } from './system/index.mjs'

system(new App())
