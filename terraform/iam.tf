# The function may change single items of the state table, read the config table, keep copies of what was last valid
# there, write its log, call the upstream authorizer if there is one, and nothing else.

locals {
  partition = split(":", aws_dynamodb_table.state.arn)[1]

  statements = concat(
    [
      {
        Effect   = "Allow"
        Action   = ["logs:CreateLogStream", "logs:PutLogEvents"]
        Resource = "${aws_cloudwatch_log_group.authorizer.arn}:*"
      },
      {
        Effect   = "Allow"
        Action   = ["dynamodb:UpdateItem", "dynamodb:GetItem"]
        Resource = aws_dynamodb_table.state.arn
      },
      {
        Effect   = "Allow"
        Action   = ["dynamodb:GetItem", "dynamodb:BatchGetItem", "dynamodb:Query"]
        Resource = aws_dynamodb_table.config.arn
      },
    ],
    [
      {
        Effect   = "Allow"
        Action   = ["dynamodb:UpdateItem", "dynamodb:DeleteItem"]
        Resource = aws_dynamodb_table.config.arn
        Condition = {
          "ForAllValues:StringEquals" = { "dynamodb:LeadingKeys" = ["last-valid"] }
          Null                        = { "dynamodb:LeadingKeys" = "false" } # ForAllValues holds where there is no key, too
        }
      },
    ],
    [
      for arn in compact([var.kms_key_arn]) : {
        Effect   = "Allow"
        Action   = ["kms:Decrypt", "kms:Encrypt", "kms:ReEncrypt*", "kms:GenerateDataKey*"]
        Resource = arn
      }
    ],
    [
      for upstream in var.upstream == null ? [] : [var.upstream] : {
        Effect   = "Allow"
        Action   = ["lambda:InvokeFunction"]
        Resource = upstream.function_arn
      }
    ],
  )
}

resource "aws_iam_role" "authorizer" {
  name_prefix = substr("${var.name}-", 0, 38)
  tags        = var.tags

  assume_role_policy = jsonencode({
    Version   = "2012-10-17"
    Statement = [{ Effect = "Allow", Action = "sts:AssumeRole", Principal = { Service = "lambda.amazonaws.com" } }]
  })
}

resource "aws_iam_role_policy" "authorizer" {
  name   = "authorizer"
  role   = aws_iam_role.authorizer.id
  policy = jsonencode({ Version = "2012-10-17", Statement = local.statements })
}

resource "aws_iam_role_policy_attachment" "vpc" {
  count = var.vpc == null ? 0 : 1

  role       = aws_iam_role.authorizer.name
  policy_arn = "arn:${local.partition}:iam::aws:policy/service-role/AWSLambdaVPCAccessExecutionRole"
}
