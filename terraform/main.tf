# A limiter for any number of APIs: two tables, the function that decides, its role and its log. It is what the
# construct RateLimiter makes; a test compares them. The modules rest-api and http-api put it in front of an API.

locals {
  environment = {
    for name, value in {
      SLUICE_STATE_TABLE            = aws_dynamodb_table.state.name
      SLUICE_CONFIG_TABLE           = aws_dynamodb_table.config.name
      SLUICE_FAILURE_MODE           = var.failure_mode
      SLUICE_AUTHENTICATION         = var.authentication
      SLUICE_DEADLINE_MS            = var.decision_deadline_ms
      SLUICE_CONFIG_TTL_MS          = var.config_ttl_ms
      SLUICE_IPV6_PREFIX            = var.ipv6_prefix
      SLUICE_DENIALS                = var.denials == "backend-429" ? "backend" : null
      SLUICE_UPSTREAM               = var.upstream == null ? null : var.upstream.function_arn
      SLUICE_UPSTREAM_DEADLINE_MS   = var.upstream == null ? null : var.upstream.deadline_ms
      SLUICE_UPSTREAM_TTL_MS        = var.upstream == null ? null : var.upstream.cache_ttl_ms
      SLUICE_UPSTREAM_CACHE_HEADERS = try(join(",", var.upstream.cache_headers), null)
      SLUICE_LOG_LEVEL              = var.log_level
      SLUICE_LOG_CALLERS            = var.log_callers
      SLUICE_METRICS_FLUSH_MS       = var.metrics_interval_ms
      SLUICE_METRICS_NAMESPACE      = var.metrics_namespace
      SLUICE_METRICS_BY_API         = var.metrics_by_api
    } : name => tostring(value) if value != null
  }
}

# An item for each subject. What is in it is worthless a day later.
resource "aws_dynamodb_table" "state" {
  name         = "${var.name}-state"
  billing_mode = "PAY_PER_REQUEST"
  hash_key     = "pk"
  tags         = var.tags

  attribute {
    name = "pk"
    type = "S"
  }

  ttl {
    attribute_name = "exp"
    enabled        = true
  }

  point_in_time_recovery {
    enabled = var.state_point_in_time_recovery
  }

  dynamic "on_demand_throughput" {
    for_each = var.state_max_write_request_units == null ? [] : [var.state_max_write_request_units]

    content {
      max_write_request_units = on_demand_throughput.value
    }
  }

  dynamic "server_side_encryption" {
    for_each = var.kms_key_arn == null ? [] : [var.kms_key_arn]

    content {
      enabled     = true
      kms_key_arn = server_side_encryption.value
    }
  }
}

# Tiers, routes, clients, blocks: what operators edit.
resource "aws_dynamodb_table" "config" {
  name                        = "${var.name}-config"
  billing_mode                = "PAY_PER_REQUEST"
  hash_key                    = "pk"
  range_key                   = "sk"
  deletion_protection_enabled = var.deletion_protection
  tags                        = var.tags

  attribute {
    name = "pk"
    type = "S"
  }

  attribute {
    name = "sk"
    type = "S"
  }

  # only records of the audit trail have it
  ttl {
    attribute_name = "exp"
    enabled        = true
  }

  point_in_time_recovery {
    enabled = var.config_point_in_time_recovery
  }

  dynamic "server_side_encryption" {
    for_each = var.kms_key_arn == null ? [] : [var.kms_key_arn]

    content {
      enabled     = true
      kms_key_arn = server_side_encryption.value
    }
  }
}

resource "aws_cloudwatch_log_group" "authorizer" {
  name              = "/aws/lambda/${var.name}"
  retention_in_days = var.log_retention_days
  tags              = var.tags
}

resource "aws_lambda_function" "authorizer" {
  function_name                  = var.name
  description                    = "Sluice: rate-limits requests of API Gateway"
  filename                       = var.filename
  source_code_hash               = var.source_code_hash == null ? filebase64sha256(var.filename) : var.source_code_hash
  handler                        = "index.handler"
  runtime                        = var.runtime
  architectures                  = [var.architecture]
  role                           = aws_iam_role.authorizer.arn
  memory_size                    = var.memory_size
  timeout                        = var.timeout
  reserved_concurrent_executions = var.reserved_concurrent_executions
  tags                           = var.tags

  environment {
    variables = local.environment
  }

  logging_config {
    log_format = "Text"
    log_group  = aws_cloudwatch_log_group.authorizer.name
  }

  dynamic "vpc_config" {
    for_each = var.vpc == null ? [] : [var.vpc]

    content {
      subnet_ids         = vpc_config.value.subnet_ids
      security_group_ids = vpc_config.value.security_group_ids
    }
  }

  # The first request must not come before the function may touch its tables.
  depends_on = [aws_iam_role_policy.authorizer, aws_iam_role_policy_attachment.vpc]
}
