# null leaves a setting to the function, whose defaults are in docs/deploy.md.

variable "filename" {
  description = "A zip file with the content of dist/authorizer of the npm package sluice."
  type        = string
}

variable "source_code_hash" {
  description = "Base64 of the SHA-256 of that file. By default it is computed; needed if another resource makes the file."
  type        = string
  default     = null
}

variable "name" {
  description = "The name of the function, and the prefix of the names of the tables, the role and the log."
  type        = string
  default     = "sluice"

  validation {
    condition     = can(regex("^[a-zA-Z0-9_-]{1,57}$", var.name))
    error_message = "name must have 1 to 57 letters, digits, _ or -."
  }
}

variable "tags" {
  description = "Tags of every resource that supports them."
  type        = map(string)
  default     = {}
}

variable "runtime" {
  description = "Node.js 20 or newer. The tests run on 24, which providers of 2025 do not all know: nodejs22.x with those."
  type        = string
  default     = "nodejs24.x"
}

variable "architecture" {
  description = "arm64 or x86_64."
  type        = string
  default     = "arm64"

  validation {
    condition     = contains(["arm64", "x86_64"], var.architecture)
    error_message = "architecture must be arm64 or x86_64."
  }
}

variable "memory_size" {
  description = "MiB, which also sets the CPU share: 1769 is one full CPU."
  type        = number
  default     = 1769
}

variable "timeout" {
  description = "Seconds. API Gateway waits ten at most."
  type        = number
  default     = 10
}

variable "reserved_concurrent_executions" {
  description = "Instances reserved for the authorizer, which is also its maximum: requests per second at the peak x 0.3, at least 20. Without, other functions of the account can use up what it needs, and every request is a 500."
  type        = number
  default     = null
}

variable "vpc" {
  description = "Where the function runs, if in a VPC: it needs an endpoint for DynamoDB there."
  type        = object({ subnet_ids = list(string), security_group_ids = list(string) })
  default     = null
}

variable "kms_key_arn" {
  description = "Encrypts both tables. null: a key that DynamoDB owns."
  type        = string
  default     = null
}

variable "deletion_protection" {
  description = "Whether the config table cannot be deleted."
  type        = bool
  default     = true
}

variable "state_point_in_time_recovery" {
  description = "Whether the state table can be recovered. Its data is worthless a day later."
  type        = bool
  default     = false
}

variable "config_point_in_time_recovery" {
  description = "Whether the config table, which operators edit, can be recovered."
  type        = bool
  default     = true
}

variable "state_max_write_request_units" {
  description = "A ceiling to what the state table may cost, in write units a second. Past it the failure mode decides."
  type        = number
  default     = null
}

variable "log_retention_days" {
  description = "How long CloudWatch keeps the log, in days."
  type        = number
  default     = 30
}

variable "failure_mode" {
  description = "The failure mode while DynamoDB is unavailable: local, allow or deny."
  type        = string
  default     = null

  validation {
    condition     = var.failure_mode == null ? true : contains(["local", "allow", "deny"], var.failure_mode)
    error_message = "failure_mode must be local, allow or deny."
  }
}

variable "authentication" {
  description = "config: the config table decides which callers must show credentials; none: no caller must."
  type        = string
  default     = null

  validation {
    condition     = var.authentication == null ? true : contains(["config", "none"], var.authentication)
    error_message = "authentication must be config or none."
  }
}

variable "decision_deadline_ms" {
  description = "Time limit of one decision; after it the failure mode decides."
  type        = number
  default     = null

  validation {
    condition     = var.decision_deadline_ms == null ? true : var.decision_deadline_ms >= 20 && var.decision_deadline_ms <= 9000 && floor(var.decision_deadline_ms) == var.decision_deadline_ms
    error_message = "decision_deadline_ms must be an integer from 20 to 9000."
  }
}

variable "config_ttl_ms" {
  description = "How long an instance caches tiers and clients."
  type        = number
  default     = null

  validation {
    condition     = var.config_ttl_ms == null ? true : var.config_ttl_ms >= 1 && var.config_ttl_ms <= 86400000 && floor(var.config_ttl_ms) == var.config_ttl_ms
    error_message = "config_ttl_ms must be an integer from 1 to 86400000."
  }
}

variable "ipv6_prefix" {
  description = "Bits of an IPv6 address that identify one caller."
  type        = number
  default     = null

  validation {
    condition     = var.ipv6_prefix == null ? true : var.ipv6_prefix >= 1 && var.ipv6_prefix <= 128 && floor(var.ipv6_prefix) == var.ipv6_prefix
    error_message = "ipv6_prefix must be an integer from 1 to 128."
  }
}

variable "denials" {
  description = "How a request over the limit is answered on HTTP APIs: gateway-403, or backend-429 by withRateLimit of sluice/backend around every handler."
  type        = string
  default     = "gateway-403"

  validation {
    condition     = contains(["gateway-403", "backend-429"], var.denials)
    error_message = "denials must be gateway-403 or backend-429."
  }
}

variable "upstream" {
  description = "The authorizer that the API had before, which is called first."
  type = object({
    function_arn  = string
    deadline_ms   = optional(number)
    cache_ttl_ms  = optional(number)
    cache_headers = optional(list(string))
  })
  default = null

  validation {
    condition     = try(var.upstream.deadline_ms, null) == null ? true : var.upstream.deadline_ms >= 20 && var.upstream.deadline_ms <= 9000
    error_message = "upstream.deadline_ms must be an integer from 20 to 9000."
  }

  validation {
    condition     = try(var.upstream.cache_ttl_ms, null) == null ? true : var.upstream.cache_ttl_ms >= 0 && var.upstream.cache_ttl_ms <= 3600000
    error_message = "upstream.cache_ttl_ms must be an integer from 0 to 3600000."
  }

  validation {
    condition     = coalesce(try(var.upstream.cache_ttl_ms, null), 0) == 0 ? true : try(length(var.upstream.cache_headers), 0) > 0
    error_message = "upstream.cache_headers must name the headers by which answers differ where upstream.cache_ttl_ms is not 0."
  }
}

variable "log_level" {
  description = "The lowest level that is logged: debug, info, warn or error."
  type        = string
  default     = null

  validation {
    condition     = var.log_level == null ? true : contains(["debug", "info", "warn", "error"], var.log_level)
    error_message = "log_level must be debug, info, warn or error."
  }
}

variable "log_callers" {
  description = "How the log names denied callers: hashed or clear."
  type        = string
  default     = null

  validation {
    condition     = var.log_callers == null ? true : contains(["hashed", "clear"], var.log_callers)
    error_message = "log_callers must be hashed or clear."
  }
}

variable "metrics_interval_ms" {
  description = "The shortest time between two writes of an instance's metrics."
  type        = number
  default     = null

  validation {
    condition     = var.metrics_interval_ms == null ? true : var.metrics_interval_ms >= 0 && var.metrics_interval_ms <= 3600000 && floor(var.metrics_interval_ms) == var.metrics_interval_ms
    error_message = "metrics_interval_ms must be an integer from 0 to 3600000."
  }
}

variable "metrics_namespace" {
  description = "The CloudWatch namespace of the metrics."
  type        = string
  default     = null
}

variable "metrics_by_api" {
  description = "Whether requests are counted by API, too."
  type        = bool
  default     = null
}
