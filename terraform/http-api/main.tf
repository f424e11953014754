# The limiter in front of an existing HTTP API: an authorizer that caches nothing, and its permission. The API's
# routes name the authorizer, and its integrations the headers of allowed responses.

variable "limiter" {
  description = "The output limiter of the module above this one."
  type        = object({ function_arn = string, invoke_arn = string })
}

variable "api_id" {
  description = "The API, of the limiter's account and Region."
  type        = string
}

variable "name" {
  description = "The authorizer's name, unique in its API."
  type        = string
  default     = "sluice"
}

locals {
  # arn:aws:lambda:eu-west-1:123456789012:function:sluice
  arn = split(":", var.limiter.function_arn)
}

resource "aws_apigatewayv2_authorizer" "sluice" {
  api_id          = var.api_id
  name            = var.name
  authorizer_type = "REQUEST"
  authorizer_uri  = var.limiter.invoke_arn

  authorizer_payload_format_version = "2.0"
  enable_simple_responses           = true
  authorizer_result_ttl_in_seconds  = 0  # a cached decision is not counted
  identity_sources                  = [] # a request without one would get a 401 without a call
}

resource "aws_lambda_permission" "sluice" {
  action        = "lambda:InvokeFunction"
  function_name = var.limiter.function_arn
  principal     = "apigateway.amazonaws.com"
  source_arn    = "arn:${local.arn[1]}:execute-api:${local.arn[3]}:${local.arn[4]}:${var.api_id}/authorizers/${aws_apigatewayv2_authorizer.sluice.id}"
}

output "authorizer_id" {
  description = "For authorizer_id of routes, beside authorization_type = \"CUSTOM\"."
  value       = aws_apigatewayv2_authorizer.sluice.id

  # Routes that name it are not made before the function may be called: until then each request is a 500.
  depends_on = [aws_lambda_permission.sluice]
}

output "response_mappings" {
  description = "For mappings of response_parameters of an integration, one block for each status: the decision's headers. Not for an integration that routes without the authorizer also use."
  value = {
    "overwrite:header.X-RateLimit-Limit"     = "$context.authorizer.limit"
    "overwrite:header.X-RateLimit-Remaining" = "$context.authorizer.remaining"
    "overwrite:header.X-RateLimit-Reset"     = "$context.authorizer.reset"
    "overwrite:header.RateLimit"             = "$context.authorizer.rateLimit"
    "overwrite:header.RateLimit-Policy"      = "$context.authorizer.rateLimitPolicy"
  }
}
