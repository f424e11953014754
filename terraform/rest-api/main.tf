# The limiter in front of an existing REST API: an authorizer that caches nothing, its permission, and the 429 for
# denials. The API's methods name the authorizer, and a new deployment of its stage puts all of it into service.

variable "limiter" {
  description = "The output limiter of the module above this one."
  type        = object({ function_arn = string, invoke_arn = string })
}

variable "rest_api_id" {
  description = "The API, of the limiter's account and Region."
  type        = string
}

variable "name" {
  description = "The authorizer's name, unique in its API."
  type        = string
  default     = "sluice"
}

variable "gateway_response" {
  description = "Whether denials become a 429. An API has one ACCESS_DENIED response: false if it has its own, which then needs the output gateway_response."
  type        = bool
  default     = true
}

variable "response_parameters" {
  description = "More headers of the 429, such as those of CORS: { \"gatewayresponse.header.Access-Control-Allow-Origin\" = \"'*'\" }."
  type        = map(string)
  default     = {}
}

locals {
  # arn:aws:lambda:eu-west-1:123456789012:function:sluice
  arn = split(":", var.limiter.function_arn)

  gateway_response = {
    status_code = "429"

    response_parameters = {
      "gatewayresponse.header.Retry-After"           = "context.authorizer.retryAfter"
      "gatewayresponse.header.X-RateLimit-Limit"     = "context.authorizer.limit"
      "gatewayresponse.header.X-RateLimit-Remaining" = "context.authorizer.remaining"
      "gatewayresponse.header.X-RateLimit-Reset"     = "context.authorizer.reset"
      "gatewayresponse.header.X-RateLimit-Reason"    = "context.authorizer.reason"
      "gatewayresponse.header.RateLimit"             = "context.authorizer.rateLimit"
      "gatewayresponse.header.RateLimit-Policy"      = "context.authorizer.rateLimitPolicy"
    }

    response_templates = {
      "application/json" = "{\"type\":\"about:blank\",\"title\":\"Too Many Requests\",\"status\":429,\"detail\":\"$context.authorizer.detail\",\"reason\":\"$context.authorizer.reason\",\"policy\":\"$context.authorizer.policy\",\"limit\":\"$context.authorizer.limit\",\"remaining\":\"$context.authorizer.remaining\",\"retryAfter\":\"$context.authorizer.retryAfter\"}"
    }
  }
}

resource "aws_api_gateway_authorizer" "sluice" {
  rest_api_id    = var.rest_api_id
  name           = var.name
  type           = "REQUEST"
  authorizer_uri = var.limiter.invoke_arn

  authorizer_result_ttl_in_seconds = 0  # a cached decision is not counted
  identity_source                  = "" # a request without the header would get a 401 without a call; null is Authorization
}

resource "aws_lambda_permission" "sluice" {
  action        = "lambda:InvokeFunction"
  function_name = var.limiter.function_arn
  principal     = "apigateway.amazonaws.com"
  source_arn    = "arn:${local.arn[1]}:execute-api:${local.arn[3]}:${local.arn[4]}:${var.rest_api_id}/authorizers/${aws_api_gateway_authorizer.sluice.id}"
}

resource "aws_api_gateway_gateway_response" "too_many_requests" {
  count = var.gateway_response ? 1 : 0

  rest_api_id         = var.rest_api_id
  response_type       = "ACCESS_DENIED"
  status_code         = local.gateway_response.status_code
  response_parameters = merge(var.response_parameters, local.gateway_response.response_parameters)
  response_templates  = local.gateway_response.response_templates
}

output "authorizer_id" {
  description = "For authorizer_id of methods, beside authorization = \"CUSTOM\"."
  value       = aws_api_gateway_authorizer.sluice.id

  # Methods that name it are not made before the function may be called: until then each request is a 500.
  depends_on = [aws_lambda_permission.sluice]
}

output "gateway_response" {
  description = "The parts that make a denial a 429, for an ACCESS_DENIED response of your own."
  value       = local.gateway_response
}

output "redeployment" {
  description = "For triggers of aws_api_gateway_deployment: a value that changes whenever the stage must be deployed again."
  value = sha256(jsonencode([
    aws_api_gateway_authorizer.sluice.id,
    var.gateway_response ? [aws_api_gateway_gateway_response.too_many_requests[0].response_parameters, local.gateway_response] : null,
  ]))

  depends_on = [aws_lambda_permission.sluice]
}
