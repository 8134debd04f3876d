# The source address is one of our own: it is found in a local mirror only, so that init reaches no registry.
terraform {
  required_providers {
    tfe = {
      source = "bailiwick.test/conformance/tfe"
    }
  }
}

# Address and token come from TFE_HOSTNAME and TFE_TOKEN.
provider "tfe" {
  organization = var.organization
}
