variable "organization" {
  description = "Name of the organization that the other configuration made."
  type        = string
}

variable "default_project_id" { type = string }
variable "project" { type = object({ id = string, name = string, description = string, tags = map(string) }) }
variable "workspace" { type = object({ id = string, name = string, tags = map(string) }) }
variable "plain_workspace" { type = object({ id = string, name = string }) }
variable "active" { type = object({ id = string, user_id = string, username = string, email = string }) }
variable "invited" { type = object({ id = string, email = string }) }

variable "teams" {
  description = "Id of each team by its name."
  type        = map(string)
}

variable "project_grants" {
  description = "Id and level of each grant on the project, by the id of its team."
  type        = map(object({ id = string, access = string }))
}

variable "workspace_grants" {
  description = "Id and level of each grant on the workspace, by the id of its team."
  type        = map(object({ id = string, access = string }))
}
