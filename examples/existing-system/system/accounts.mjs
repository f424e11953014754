import { CfnOutput, Stack } from 'aws-cdk-lib'
import { UserPool } from 'aws-cdk-lib/aws-cognito'

/** Who may buy tickets. */
export class AccountsStack extends Stack {
  constructor(scope, id) {
    super(scope, id)
    this.users = new UserPool(this, 'Users')
    this.web = this.users.addClient('Web', { authFlows: { userPassword: true } })
    new CfnOutput(this, 'UserPoolId', { value: this.users.userPoolId })
    new CfnOutput(this, 'ClientId', { value: this.web.userPoolClientId })
  }
}
