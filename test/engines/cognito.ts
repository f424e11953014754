/** An ID token of a new user of a pool, by an app client that takes passwords. No SDK for Cognito is installed. */
export async function signIn(
  endpoint: string,
  { UserPoolId, ClientId }: { readonly UserPoolId: string; readonly ClientId: string },
): Promise<string> {
  const call = async (operation: string, input: object) => {
    const response = await fetch(endpoint, {
      method: 'POST',
      headers: {
        'content-type': 'application/x-amz-json-1.1',
        'x-amz-target': `AWSCognitoIdentityProviderService.${operation}`,
      },
      body: JSON.stringify(input),
    })
    const answer = await response.text()
    if (!response.ok) throw new Error(`${operation}: ${answer}`)
    return JSON.parse(answer)
  }
  const [Username, Password] = ['someone', 'Aa1!aaaaaaaa']
  await call('AdminCreateUser', { UserPoolId, Username })
  await call('AdminSetUserPassword', { UserPoolId, Username, Password, Permanent: true })
  const signedIn = await call('InitiateAuth', {
    ClientId,
    AuthFlow: 'USER_PASSWORD_AUTH',
    AuthParameters: { USERNAME: Username, PASSWORD: Password },
  })
  return signedIn.AuthenticationResult.IdToken
}
