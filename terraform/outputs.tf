output "limiter" {
  description = "The input limiter of the modules rest-api and http-api."
  value = {
    function_arn = aws_lambda_function.authorizer.arn
    invoke_arn   = aws_lambda_function.authorizer.invoke_arn
  }
}

output "function_arn" {
  description = "For authorizers made in other ways, and for sluice attach."
  value       = aws_lambda_function.authorizer.arn
}

output "config_table" {
  description = "For the command line: SLUICE_CONFIG_TABLE, or --table."
  value       = aws_dynamodb_table.config.name
}

output "state_table" {
  description = "For the command line: SLUICE_STATE_TABLE, or --state-table."
  value       = aws_dynamodb_table.state.name
}

output "log_group" {
  description = "Where the function logs."
  value       = aws_cloudwatch_log_group.authorizer.name
}
