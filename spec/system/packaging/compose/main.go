// Loads a Compose file as `docker compose config` does, with the library of Docker Compose, and prints it as JSON.
package main

import (
	"context"
	"log"
	"os"

	"github.com/compose-spec/compose-go/v2/cli"
)

func main() {
	options, err := cli.NewProjectOptions([]string{os.Args[1]}, cli.WithOsEnv, cli.WithName("rx-statestore"))
	if err != nil {
		log.Fatal(err)
	}
	project, err := cli.ProjectFromOptions(context.Background(), options)
	if err != nil {
		log.Fatal(err)
	}
	json, err := project.MarshalJSON()
	if err != nil {
		log.Fatal(err)
	}
	if _, err := os.Stdout.Write(json); err != nil {
		log.Fatal(err)
	}
}
