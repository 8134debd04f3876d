variable "organization" {
  description = "Name of the organization to create."
  type        = string
}

variable "username" {
  description = "A user that exists on the server."
  type        = string
}

variable "email" {
  description = "Address of that user."
  type        = string
}

variable "invited_email" {
  description = "Address of somebody who has no account."
  type        = string
}

variable "revised" {
  description = "Whether every resource that can be updated has its second set of values."
  type        = bool
  default     = false
}

variable "project_level" {
  description = "Level of the grant on the project that goes from level to level."
  type        = string
}

variable "project_access" {
  description = "Permissions on the project, given only with the level custom."
  type        = map(string)
  default     = null
}

variable "project_workspace_access" {
  description = "Permissions on the workspaces of the project, given only with the level custom."
  type = object({
    runs             = optional(string)
    sentinel_mocks   = optional(string)
    state_versions   = optional(string)
    variables        = optional(string)
    create           = optional(bool)
    locking          = optional(bool)
    delete           = optional(bool)
    move             = optional(bool)
    run_tasks        = optional(bool)
    policy_overrides = optional(bool)
  })
  default = null
}

variable "workspace_level" {
  description = "Level of the grant on the workspace that goes from level to level; null with permissions of its own."
  type        = string
  default     = null
}

variable "workspace_permissions" {
  description = "Permissions on the workspace, given instead of a level."
  type = object({
    runs              = string
    variables         = string
    state_versions    = string
    sentinel_mocks    = string
    workspace_locking = bool
    run_tasks         = bool
  })
  default = null
}
