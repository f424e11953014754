# A REST API and an HTTP API, limited by one Sluice. See docs/how-to/deploy-with-terraform.md.
#   npm install sluice && terraform init && terraform apply
#   npx sluice tiers apply tiers.yaml --table "$(terraform output -raw config_table)"

terraform {
  required_version = ">= 1.5"

  required_providers {
    aws = {
      source  = "hashicorp/aws"
      version = ">= 5.100"
    }
  }
}

provider "aws" {}

variable "runtime" {
  description = "Of both functions. Providers of 2025 do not all know nodejs24.x: nodejs22.x with those."
  type        = string
  default     = "nodejs24.x"
}

module "sluice" {
  source   = "./node_modules/sluice/terraform"
  filename = local.authorizer_zip
  runtime  = var.runtime
}

# The REST API: its methods name the authorizer, and what the module makes is in the stage's next deployment.

module "sluice_rest" {
  source      = "./node_modules/sluice/terraform/rest-api"
  limiter     = module.sluice.limiter
  rest_api_id = aws_api_gateway_rest_api.orders.id
}

resource "aws_api_gateway_rest_api" "orders" {
  name = "orders"
}

resource "aws_api_gateway_resource" "path" {
  for_each = toset(["orders", "health"])

  rest_api_id = aws_api_gateway_rest_api.orders.id
  parent_id   = aws_api_gateway_rest_api.orders.root_resource_id
  path_part   = each.key
}

resource "aws_api_gateway_method" "orders" {
  rest_api_id   = aws_api_gateway_rest_api.orders.id
  resource_id   = aws_api_gateway_resource.path["orders"].id
  http_method   = "GET"
  authorization = "CUSTOM"
  authorizer_id = module.sluice_rest.authorizer_id
}

resource "aws_api_gateway_method" "health" { # not limited
  rest_api_id   = aws_api_gateway_rest_api.orders.id
  resource_id   = aws_api_gateway_resource.path["health"].id
  http_method   = "GET"
  authorization = "NONE"
}

resource "aws_api_gateway_integration" "backend" {
  for_each = { orders = aws_api_gateway_method.orders, health = aws_api_gateway_method.health }

  rest_api_id             = aws_api_gateway_rest_api.orders.id
  resource_id             = each.value.resource_id
  http_method             = each.value.http_method
  type                    = "AWS_PROXY"
  integration_http_method = "POST"
  uri                     = aws_lambda_function.backend.invoke_arn
}

resource "aws_api_gateway_deployment" "orders" {
  rest_api_id = aws_api_gateway_rest_api.orders.id

  triggers = {
    redeployment = sha256(jsonencode([
      module.sluice_rest.redeployment,
      # what is written here, and not all that a refresh finds: the next plan would deploy again
      [for method in [aws_api_gateway_method.orders, aws_api_gateway_method.health] : [method.id, method.authorization]],
      [for backend in aws_api_gateway_integration.backend : [backend.id, backend.uri]],
    ]))
  }

  lifecycle {
    create_before_destroy = true
  }
}

resource "aws_api_gateway_stage" "prod" {
  rest_api_id   = aws_api_gateway_rest_api.orders.id
  deployment_id = aws_api_gateway_deployment.orders.id
  stage_name    = "prod"
}

# The HTTP API: its routes name the authorizer, and its integration adds the headers of the decision. A route that is
# not limited needs an integration of its own.

module "sluice_http" {
  source  = "./node_modules/sluice/terraform/http-api"
  limiter = module.sluice.limiter
  api_id  = aws_apigatewayv2_api.items.id
}

resource "aws_apigatewayv2_api" "items" {
  name          = "items"
  protocol_type = "HTTP"
}

resource "aws_apigatewayv2_integration" "limited" {
  api_id                 = aws_apigatewayv2_api.items.id
  integration_type       = "AWS_PROXY"
  integration_uri        = aws_lambda_function.backend.invoke_arn
  payload_format_version = "2.0"

  dynamic "response_parameters" {
    for_each = toset(["200", "201", "204", "404"])

    content {
      status_code = response_parameters.key
      mappings    = module.sluice_http.response_mappings
    }
  }
}

resource "aws_apigatewayv2_integration" "open" {
  api_id                 = aws_apigatewayv2_api.items.id
  integration_type       = "AWS_PROXY"
  integration_uri        = aws_lambda_function.backend.invoke_arn
  payload_format_version = "2.0"
}

resource "aws_apigatewayv2_route" "items" {
  api_id             = aws_apigatewayv2_api.items.id
  route_key          = "GET /items"
  target             = "integrations/${aws_apigatewayv2_integration.limited.id}"
  authorization_type = "CUSTOM"
  authorizer_id      = module.sluice_http.authorizer_id
}

resource "aws_apigatewayv2_route" "health" { # not limited
  api_id    = aws_apigatewayv2_api.items.id
  route_key = "GET /health"
  target    = "integrations/${aws_apigatewayv2_integration.open.id}"
}

resource "aws_apigatewayv2_stage" "default" {
  api_id      = aws_apigatewayv2_api.items.id
  name        = "$default"
  auto_deploy = true
}

# The backend of both.

resource "aws_lambda_function" "backend" {
  function_name    = "orders-backend"
  filename         = local.backend_zip
  source_code_hash = filebase64sha256(local.backend_zip)
  handler          = "backend.handler"
  runtime          = var.runtime
  architectures    = ["arm64"]
  role             = aws_iam_role.backend.arn
}

resource "aws_iam_role" "backend" {
  assume_role_policy = jsonencode({
    Version   = "2012-10-17"
    Statement = [{ Effect = "Allow", Action = "sts:AssumeRole", Principal = { Service = "lambda.amazonaws.com" } }]
  })
}

resource "aws_iam_role_policy_attachment" "backend" {
  role       = aws_iam_role.backend.name
  policy_arn = "arn:aws:iam::aws:policy/service-role/AWSLambdaBasicExecutionRole"
}

resource "aws_lambda_permission" "backend" {
  for_each = {
    orders = aws_api_gateway_rest_api.orders.execution_arn
    items  = aws_apigatewayv2_api.items.execution_arn
  }

  statement_id  = each.key
  action        = "lambda:InvokeFunction"
  function_name = aws_lambda_function.backend.function_name
  principal     = "apigateway.amazonaws.com"
  source_arn    = "${each.value}/*"
}

output "config_table" {
  value = module.sluice.config_table
}

output "state_table" {
  value = module.sluice.state_table
}

output "orders_url" {
  value = aws_api_gateway_stage.prod.invoke_url
}

output "items_url" {
  value = aws_apigatewayv2_stage.default.invoke_url
}
