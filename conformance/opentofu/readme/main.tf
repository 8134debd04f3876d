terraform {
  required_providers {
    tfe = {
      source = "hashicorp/tfe"
    }
  }
}

# Where the server is and whose token it gets come from TFE_HOSTNAME and TFE_TOKEN.
provider "tfe" {
  organization = "example"
}

resource "tfe_organization" "example" {
  name  = "example"
  email = "ops@example.com"
}

resource "tfe_project" "production" {
  organization = tfe_organization.example.name
  name         = "production"
}

resource "tfe_team" "devs" {
  organization = tfe_organization.example.name
  name         = "devs"
}

resource "tfe_team_project_access" "devs_on_production" {
  team_id    = tfe_team.devs.id
  project_id = tfe_project.production.id
  access     = "write"
}
