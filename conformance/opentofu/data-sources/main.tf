# Every data source says what it has to find; a condition that does not hold fails the run.

data "tfe_organization" "this" {
  name = var.organization

  lifecycle {
    postcondition {
      condition     = self.default_project_id == var.default_project_id && startswith(self.external_id, "org-")
      error_message = "The organization has another default project, or no external id."
    }
  }
}

data "tfe_organizations" "all" {
  lifecycle {
    postcondition {
      condition     = contains(self.names, var.organization)
      error_message = "The organization is not in the list."
    }
  }
}

data "tfe_organization_membership" "by_email" {
  organization = var.organization
  email        = var.invited.email

  lifecycle {
    postcondition {
      condition     = self.id == var.invited.id
      error_message = "Another membership was found by its e-mail."
    }
  }
}

data "tfe_organization_membership" "by_username" {
  organization = var.organization
  username     = var.active.username

  lifecycle {
    postcondition {
      condition     = self.id == var.active.id && self.user_id == var.active.user_id
      error_message = "Another membership was found by its user name."
    }
  }
}

data "tfe_organization_membership" "by_id" {
  organization               = var.organization
  organization_membership_id = var.active.id

  lifecycle {
    postcondition {
      condition     = self.email == var.active.email && self.username == var.active.username
      error_message = "The membership has another e-mail or user name."
    }
  }
}

data "tfe_organization_members" "this" {
  organization = var.organization

  lifecycle {
    postcondition {
      condition     = contains(self.members[*].organization_membership_id, var.active.id)
      error_message = "The active member is not among the members."
    }
    postcondition {
      condition     = self.members_waiting[*].organization_membership_id == tolist([var.invited.id])
      error_message = "The invited member is not the only one that is waited for."
    }
  }
}

data "tfe_current_user" "this" {
  lifecycle {
    postcondition {
      condition     = self.username != "" && self.email != "" && !self.is_service_account
      error_message = "The current user has no name, no e-mail, or is a service account."
    }
  }
}

data "tfe_team" "each" {
  for_each     = var.teams
  organization = var.organization
  name         = each.key

  lifecycle {
    postcondition {
      condition     = self.id == each.value
      error_message = "Another team was found by its name."
    }
  }
}

data "tfe_teams" "all" {
  organization = var.organization

  lifecycle {
    postcondition {
      condition     = toset(self.names) == toset(concat(keys(var.teams), ["owners"]))
      error_message = "The teams are not those that were made, and the owners."
    }
    postcondition {
      condition     = alltrue([for name, id in var.teams : self.ids[name] == id])
      error_message = "A team has another id."
    }
  }
}

data "tfe_project" "this" {
  organization = var.organization
  name         = var.project.name

  lifecycle {
    postcondition {
      condition     = self.id == var.project.id && self.description == var.project.description
      error_message = "The project has another id or description."
    }
    postcondition {
      condition     = contains(self.workspace_ids, var.workspace.id) && contains(self.workspace_names, var.workspace.name)
      error_message = "The workspace is not in the project."
    }
    postcondition {
      condition     = self.effective_tags == var.project.tags
      error_message = "The project has other tags."
    }
  }
}

data "tfe_projects" "all" {
  organization = var.organization

  lifecycle {
    postcondition {
      condition     = toset(self.projects[*].id) == toset([var.project.id, var.default_project_id])
      error_message = "The projects are not the one that was made and the default one."
    }
  }
}

data "tfe_workspace" "this" {
  organization = var.organization
  name         = var.workspace.name

  lifecycle {
    postcondition {
      condition     = self.id == var.workspace.id && self.project_id == var.project.id && !self.locked
      error_message = "The workspace has another id or project, or is locked."
    }
    postcondition {
      condition     = self.effective_tags == merge(var.project.tags, var.workspace.tags)
      error_message = "The effective tags are not those of the project and of the workspace."
    }
    postcondition {
      condition     = self.permissions["can-update"] && self.permissions["can-destroy"]
      error_message = "An owner may not update or delete the workspace."
    }
  }
}

data "tfe_workspace_ids" "all" {
  organization = var.organization
  names        = ["*"]

  lifecycle {
    postcondition {
      condition = self.ids == tomap({
        (var.workspace.name)       = var.workspace.id
        (var.plain_workspace.name) = var.plain_workspace.id
      })
      error_message = "The workspaces are not those that were made."
    }
  }
}

data "tfe_workspace_ids" "by_tag" {
  organization = var.organization

  tag_filters {
    include = var.workspace.tags
  }

  lifecycle {
    postcondition {
      condition     = self.ids == tomap({ (var.workspace.name) = var.workspace.id })
      error_message = "The workspace was not found by its tags, or another one was."
    }
  }
}

data "tfe_team_project_access" "each" {
  for_each   = var.project_grants
  project_id = var.project.id
  team_id    = each.key

  lifecycle {
    postcondition {
      condition     = self.id == each.value.id && self.access == each.value.access
      error_message = "The grant on the project has another id or level."
    }
    postcondition {
      condition     = length(self.project_access) == 1 && length(self.workspace_access) == 1
      error_message = "The grant on the project does not tell its permissions."
    }
  }
}

data "tfe_team_access" "each" {
  for_each     = var.workspace_grants
  workspace_id = var.workspace.id
  team_id      = each.key

  lifecycle {
    postcondition {
      condition     = self.id == each.value.id && self.access == each.value.access
      error_message = "The grant on the workspace has another id or level."
    }
    postcondition {
      condition     = length(self.permissions) == 1
      error_message = "The grant on the workspace does not tell its permissions."
    }
  }
}
