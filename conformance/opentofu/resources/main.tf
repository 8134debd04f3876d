locals {
  suffix = var.revised ? "-revised" : ""
}

resource "tfe_organization" "this" {
  name                          = var.organization
  email                         = var.revised ? "revised@example.com" : "first@example.com"
  collaborator_auth_policy      = "password"
  session_timeout_minutes       = var.revised ? 120 : 60
  session_remember_minutes      = 1440
  cost_estimation_enabled       = var.revised
  allow_force_delete_workspaces = var.revised
}

# People.

resource "tfe_organization_membership" "active" {
  organization = tfe_organization.this.name
  email        = var.email
}

resource "tfe_organization_membership" "invited" {
  organization = tfe_organization.this.name
  email        = var.invited_email
}

# Teams: one for each level, one that is changed, one with every permission on the organization, and one for each way to fill it.

resource "tfe_team" "level" {
  for_each     = toset(["read", "plan", "write", "maintain", "admin", "custom"])
  organization = tfe_organization.this.name
  name         = "level-${each.key}"
}

resource "tfe_team" "changing" {
  organization                  = tfe_organization.this.name
  name                          = "changing${local.suffix}"
  visibility                    = var.revised ? "organization" : "secret"
  sso_team_id                   = var.revised ? "sso-revised" : "sso-first"
  allow_member_token_management = !var.revised

  organization_access {
    manage_workspaces = true
    manage_projects   = var.revised
    read_workspaces   = var.revised
    manage_policies   = !var.revised
  }
}

resource "tfe_team" "everything" {
  organization = tfe_organization.this.name
  name         = "everything"
  visibility   = "organization"

  organization_access {
    access_secret_teams        = true
    manage_agent_pools         = true
    manage_membership          = true
    manage_modules             = true
    manage_organization_access = true
    manage_policies            = true
    manage_policy_overrides    = true
    manage_projects            = true
    manage_providers           = true
    manage_run_tasks           = true
    manage_teams               = true
    manage_vcs_settings        = true
    manage_workspaces          = true
    read_projects              = true
    read_workspaces            = true
  }
}

resource "tfe_team" "filled" {
  for_each     = toset(["member", "members", "organization-member", "organization-members"])
  organization = tfe_organization.this.name
  name         = "filled-by-${each.key}"
}

resource "tfe_team_member" "this" {
  team_id    = tfe_team.filled["member"].id
  username   = var.username
  depends_on = [tfe_organization_membership.active]
}

resource "tfe_team_members" "this" {
  team_id    = tfe_team.filled["members"].id
  usernames  = [var.username]
  depends_on = [tfe_organization_membership.active]
}

resource "tfe_team_organization_member" "this" {
  team_id                    = tfe_team.filled["organization-member"].id
  organization_membership_id = tfe_organization_membership.invited.id
}

resource "tfe_team_organization_members" "this" {
  team_id = tfe_team.filled["organization-members"].id
  organization_membership_ids = var.revised ? [tfe_organization_membership.invited.id] : [
    tfe_organization_membership.active.id,
    tfe_organization_membership.invited.id,
  ]
}

# Tokens of every kind that the provider knows.

resource "tfe_organization_token" "this" {
  organization = tfe_organization.this.name
  expired_at   = "2051-04-11T23:15:59Z"
}

resource "tfe_audit_trail_token" "this" {
  organization = tfe_organization.this.name
}

resource "tfe_team_token" "single" {
  team_id = tfe_team.changing.id
}

resource "tfe_team_token" "described" {
  team_id     = tfe_team.changing.id
  description = "for the pipeline"
  expired_at  = "2051-04-11T23:15:59Z"
}

# A project with two workspaces.

resource "tfe_project" "this" {
  organization                   = tfe_organization.this.name
  name                           = "project${local.suffix}"
  description                    = var.revised ? "Revised" : "First"
  auto_destroy_activity_duration = var.revised ? "14d" : null

  tags = var.revised ? { stage = "second", owner = "platform" } : { stage = "first" }
}

resource "tfe_workspace" "full" {
  organization                  = tfe_organization.this.name
  project_id                    = tfe_project.this.id
  name                          = "full${local.suffix}"
  description                   = var.revised ? "Revised" : "First"
  allow_destroy_plan            = !var.revised
  auto_apply                    = var.revised
  auto_apply_run_trigger        = var.revised
  file_triggers_enabled         = false
  queue_all_runs                = !var.revised
  speculative_enabled           = !var.revised
  structured_run_output_enabled = !var.revised
  source_name                   = "conformance"
  source_url                    = "https://example.com/conformance"
  working_directory             = var.revised ? "live" : "staging"
  trigger_prefixes              = var.revised ? ["modules", "shared"] : ["modules"]

  tags = var.revised ? { tier = "second" } : { tier = "first" }
}

resource "tfe_workspace" "plain" {
  organization = tfe_organization.this.name
  name         = "plain"
  project_id   = var.revised ? tfe_project.this.id : tfe_organization.this.default_project_id
}

# Grants on the workspace: one at each level, one custom, one that goes from level to level.

resource "tfe_team_access" "level" {
  for_each     = toset(["read", "plan", "write", "admin"])
  team_id      = tfe_team.level[each.key].id
  workspace_id = tfe_workspace.full.id
  access       = each.key
}

resource "tfe_team_access" "custom" {
  team_id      = tfe_team.level["custom"].id
  workspace_id = tfe_workspace.full.id

  permissions {
    runs              = "plan"
    variables         = "write"
    state_versions    = "read-outputs"
    sentinel_mocks    = "read"
    workspace_locking = true
    run_tasks         = false
  }
}

resource "tfe_team_access" "changing" {
  team_id      = tfe_team.changing.id
  workspace_id = tfe_workspace.full.id
  access       = var.workspace_permissions == null ? var.workspace_level : null

  dynamic "permissions" {
    for_each = var.workspace_permissions[*]
    content {
      runs              = permissions.value.runs
      variables         = permissions.value.variables
      state_versions    = permissions.value.state_versions
      sentinel_mocks    = permissions.value.sentinel_mocks
      workspace_locking = permissions.value.workspace_locking
      run_tasks         = permissions.value.run_tasks
    }
  }
}

# Grants on the project, the same way.

resource "tfe_team_project_access" "level" {
  for_each   = toset(["read", "write", "maintain", "admin"])
  team_id    = tfe_team.level[each.key].id
  project_id = tfe_project.this.id
  access     = each.key
}

resource "tfe_team_project_access" "custom" {
  team_id    = tfe_team.level["custom"].id
  project_id = tfe_project.this.id
  access     = "custom"

  project_access {
    settings = "update"
    teams    = "read"
  }

  workspace_access {
    runs           = "plan"
    sentinel_mocks = "read"
    state_versions = "read-outputs"
    variables      = "write"
    create         = true
    locking        = true
    delete         = false
    move           = false
    run_tasks      = false
  }
}

resource "tfe_team_project_access" "defaults" {
  team_id    = tfe_team.level["plan"].id
  project_id = tfe_project.this.id
  access     = "custom"
}

resource "tfe_team_project_access" "changing" {
  team_id    = tfe_team.changing.id
  project_id = tfe_project.this.id
  access     = var.project_level

  dynamic "project_access" {
    for_each = var.project_access[*]
    content {
      settings      = lookup(project_access.value, "settings", null)
      teams         = lookup(project_access.value, "teams", null)
      variable_sets = lookup(project_access.value, "variable_sets", null)
    }
  }

  dynamic "workspace_access" {
    for_each = var.project_workspace_access[*]
    content {
      runs             = workspace_access.value.runs
      sentinel_mocks   = workspace_access.value.sentinel_mocks
      state_versions   = workspace_access.value.state_versions
      variables        = workspace_access.value.variables
      create           = workspace_access.value.create
      locking          = workspace_access.value.locking
      delete           = workspace_access.value.delete
      move             = workspace_access.value.move
      run_tasks        = workspace_access.value.run_tasks
      policy_overrides = workspace_access.value.policy_overrides
    }
  }
}
