terraform {
  required_providers {
    tfe = {
      source = "hashicorp/tfe"
    }
  }
}

# Address and token come from TFE_HOSTNAME and TFE_TOKEN.
provider "tfe" {
  organization = var.organization
}
