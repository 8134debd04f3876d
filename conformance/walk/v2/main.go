// Walks the server with go-tfe v2.
package main

import (
	_ "github.com/hashicorp/go-tfe/v2"
)

func main() {}
