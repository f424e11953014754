# The functions as zip files: the authorizer as the npm package has it, and the sample backend.

data "archive_file" "authorizer" {
  type        = "zip"
  source_dir  = "${path.root}/node_modules/sluice/dist/authorizer"
  output_path = "${path.root}/.terraform/authorizer.zip"
}

data "archive_file" "backend" {
  type        = "zip"
  source_file = "${path.root}/backend.mjs"
  output_path = "${path.root}/.terraform/backend.zip"
}

locals {
  authorizer_zip = data.archive_file.authorizer.output_path
  backend_zip    = data.archive_file.backend.output_path
}
